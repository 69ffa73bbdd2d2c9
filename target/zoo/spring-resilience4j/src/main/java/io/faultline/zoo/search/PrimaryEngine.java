package io.faultline.zoo.search;

import java.util.List;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.cache.annotation.Cacheable;
import org.springframework.stereotype.Component;
import org.springframework.web.client.RestClient;
import org.springframework.web.client.RestClientException;

/** The primary engine: GET {primary.url}/search?q=.., answered by {"results": [..]} as application/json. */
@Component
class PrimaryEngine {

    private final RestClient http;

    PrimaryEngine(RestClient.Builder builder, HeaderRelay relay, @Value("${primary.url}") String url) {
        this.http = builder.baseUrl(url).requestInterceptor(relay).build();
    }

    /**
     * Asks the primary once. The annotation does nothing unless {@link PrimaryCache} switches it on.
     *
     * @throws RestClientException on status 4xx or 5xx, reset, early end, timeout, or an answer that holds no results
     */
    @Cacheable("primary")
    public List<Object> search(String query) {
        Answer answer = http.get().uri("/search?q={q}", query).retrieve().body(Answer.class);
        if (answer == null || answer.results() == null) {
            throw new RestClientException("primary answered without results");
        }
        return answer.results();
    }

    private record Answer(List<Object> results) {}
}
