import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.http.HttpClient;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

/** What the quote services share: GET /quote is answered from the dependency, or by the fallback. */
final class Quotes {

    /** The identity of an incoming request, which goes on verbatim. */
    private static final List<String> RELAYED = List.of("traceparent", "x-request-id");

    private Quotes() {}

    /** Asks the dependency; an exception is a failure, or a refusal. */
    interface Ask {
        void ask(String url, Map<String, String> headers) throws Exception;
    }

    static void serve(Ask dependency) throws IOException {
        // The JDK's server would otherwise wait for an acknowledgement before it sends the body.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        String url = System.getenv("DEPENDENCY_URL") + "/quote";
        int port = Integer.parseInt(System.getenv("PORT"));
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 128);
        server.setExecutor(Executors.newCachedThreadPool());
        server.createContext("/ready", exchange -> {
            exchange.sendResponseHeaders(200, -1);
            exchange.close();
        });
        server.createContext("/quote", exchange -> {
            Map<String, String> headers = new LinkedHashMap<>();
            for (String name : RELAYED) {
                String value = exchange.getRequestHeaders().getFirst(name);
                if (value != null) {
                    headers.put(name, value);
                }
            }
            String source = "dependency";
            try {
                dependency.ask(url, headers);
            } catch (Exception failure) {
                source = "fallback";
            }
            byte[] body = ("{\"source\":\"" + source + "\"}").getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
    }

    /** A client of the JDK that sends each request once, over HTTP/1.1. */
    static HttpClient client() {
        System.setProperty("jdk.httpclient.redirects.retrylimit", "1");
        return HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    }
}
