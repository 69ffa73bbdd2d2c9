import java.net.HttpURLConnection;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.util.Timeout;

/** Asks each address with three clients, and tells what each made of it. */
public class Clients {
    static final int PATIENCE_MS = 1000;

    public static void main(String[] urls) throws Exception {
        try (var apache = HttpClients.custom().disableAutomaticRetries().setDefaultRequestConfig(
                RequestConfig.custom().setResponseTimeout(Timeout.ofMilliseconds(PATIENCE_MS)).build()).build()) {
            for (String url : urls) {
                URI uri = URI.create(url);
                tell(url, "java HttpURLConnection", () -> {
                    HttpURLConnection c = (HttpURLConnection) uri.toURL().openConnection();
                    c.setReadTimeout(PATIENCE_MS);
                    return c.getResponseCode() + ", " + c.getInputStream().readAllBytes().length + " bytes";
                });
                tell(url, "java HttpClient", () -> {
                    var client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
                    // Its timeout is of the head only, so the body has one of its own.
                    var answer = client.sendAsync(HttpRequest.newBuilder(uri).timeout(Duration.ofMillis(PATIENCE_MS)).build(),
                            HttpResponse.BodyHandlers.ofByteArray())
                        .orTimeout(PATIENCE_MS + 500, java.util.concurrent.TimeUnit.MILLISECONDS).join();
                    return answer.statusCode() + ", " + answer.body().length + " bytes";
                });
                tell(url, "java Apache HttpClient 5", () -> apache.execute(new HttpGet(uri), answer -> {
                    byte[] body = answer.getEntity() == null ? new byte[0] : EntityUtils.toByteArray(answer.getEntity());
                    return answer.getCode() + ", " + body.length + " bytes";
                }));
            }
        }
        System.exit(0); // Connections that hang have threads that wait.
    }

    interface Asking {
        String ask() throws Exception;
    }

    static void tell(String url, String name, Asking asking) {
        try {
            System.out.println(url + "\t" + name + "\tanswer " + asking.ask());
        } catch (Throwable e) {
            Throwable cause = e instanceof java.util.concurrent.CompletionException && e.getCause() != null ? e.getCause() : e;
            System.out.println(url + "\t" + name + "\terror " + cause.getClass().getSimpleName());
        }
    }
}
