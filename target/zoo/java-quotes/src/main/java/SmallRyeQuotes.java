import io.smallrye.faulttolerance.api.CircuitBreakerState;
import io.smallrye.faulttolerance.api.TypedGuard;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.Map;

/** A quote service behind a circuit breaker of SmallRye Fault Tolerance. */
final class SmallRyeQuotes {

    private static final HttpClient HTTP = Quotes.client();

    private SmallRyeQuotes() {}

    public static void main(String[] args) throws IOException {
        TypedGuard<Integer> guard = TypedGuard.create(Integer.class)
                .withCircuitBreaker()
                .requestVolumeThreshold(10)
                .failureRatio(0.5)
                .delay(600, ChronoUnit.MILLIS)
                .successThreshold(3)
                .onStateChange(SmallRyeQuotes::tell)
                .done()
                .build();
        Quotes.serve((url, headers) -> guard.call(() -> ask(url, headers)));
    }

    private static Integer ask(String url, Map<String, String> headers) throws Exception {
        HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(url)).timeout(Duration.ofSeconds(2));
        headers.forEach(request::setHeader);
        int status = HTTP.send(request.build(), HttpResponse.BodyHandlers.discarding()).statusCode();
        if (status != 200) {
            throw new IOException("the dependency answered " + status);
        }
        return status;
    }

    /** Writes a change of the breaker's state down, with its instant. */
    private static void tell(CircuitBreakerState state) {
        String file = System.getenv("STATE_LOG");
        if (file == null) {
            return;
        }
        try {
            Files.writeString(Path.of(file), Instant.now() + " " + state + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            System.err.println("quotes: " + e);
        }
    }
}
