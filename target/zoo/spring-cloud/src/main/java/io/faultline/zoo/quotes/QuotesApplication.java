package io.faultline.zoo.quotes;

import java.net.http.HttpClient;
import java.time.Duration;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.cloud.client.circuitbreaker.CircuitBreakerFactory;
import org.springframework.context.annotation.Bean;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestHeader;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.client.RestClient;

/** A quote service that asks its dependency through Spring Cloud's CircuitBreaker. */
@SpringBootApplication
public class QuotesApplication {

    public static void main(String[] args) {
        // The JDK's client would otherwise send a request again by itself.
        System.setProperty("jdk.httpclient.redirects.retrylimit", "1");
        SpringApplication.run(QuotesApplication.class, args);
    }

    @Bean
    RestClient dependency(@Value("${DEPENDENCY_URL}") String url) {
        JdkClientHttpRequestFactory requests =
                new JdkClientHttpRequestFactory(HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build());
        requests.setReadTimeout(Duration.ofSeconds(10));
        return RestClient.builder().baseUrl(url).requestFactory(requests).build();
    }

    /** What a caller gets, and where from. */
    record Quote(String source) {}

    @RestController
    static class Quotes {

        private final RestClient dependency;
        private final CircuitBreakerFactory<?, ?> breakers;

        Quotes(RestClient dependency, CircuitBreakerFactory<?, ?> breakers) {
            this.dependency = dependency;
            this.breakers = breakers;
        }

        @GetMapping("/ready")
        void ready() {}

        @GetMapping("/quote")
        Quote quote(@RequestHeader(name = "traceparent", required = false) String trace,
                @RequestHeader(name = "x-request-id", required = false) String id) {
            return breakers.create("quotes").run(() -> {
                RestClient.RequestHeadersSpec<?> request = dependency.get().uri("/quote");
                if (trace != null) {
                    request.header("traceparent", trace);
                }
                if (id != null) {
                    request.header("x-request-id", id);
                }
                request.retrieve().toBodilessEntity();
                return new Quote("dependency");
            }, failure -> new Quote("fallback"));
        }
    }
}
