import java.io.IOException;
import org.apache.hc.client5.http.classic.methods.HttpGet;
import org.apache.hc.client5.http.impl.classic.CloseableHttpClient;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.core5.http.io.entity.EntityUtils;

/** A quote service whose client, Apache HttpClient as it comes, tries again by itself. */
final class HttpClientQuotes {

    private HttpClientQuotes() {}

    public static void main(String[] args) throws IOException {
        CloseableHttpClient http = HttpClients.createDefault();
        Quotes.serve((url, headers) -> {
            HttpGet request = new HttpGet(url);
            headers.forEach(request::setHeader);
            int status = http.execute(request, response -> {
                EntityUtils.consume(response.getEntity());
                return response.getCode();
            });
            if (status != 200) {
                throw new IOException("the dependency answered " + status);
            }
        });
    }
}
