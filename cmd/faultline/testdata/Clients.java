import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

/** Asks an address with the two clients of the JDK and tells what each made of it. */
public class Clients {
    public static void main(String[] args) {
        URI uri = URI.create(args[0]);
        tell("HttpURLConnection", () -> {
            HttpURLConnection c = (HttpURLConnection) uri.toURL().openConnection();
            return c.getResponseCode() + " " + new String(c.getInputStream().readAllBytes());
        });
        tell("HttpClient", () -> {
            var answer = HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
            return answer.statusCode() + " " + answer.body();
        });
    }

    interface Asking {
        String ask() throws Exception;
    }

    static void tell(String name, Asking asking) {
        try {
            System.out.println(name + ": answer " + asking.ask());
        } catch (Exception e) {
            System.out.println(name + ": error " + e);
        }
    }
}
