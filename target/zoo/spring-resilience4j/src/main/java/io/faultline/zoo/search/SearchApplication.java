package io.faultline.zoo.search;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** A search that asks a primary engine behind a circuit breaker and has a secondary source to fall back to. */
@SpringBootApplication
public class SearchApplication {

    public static void main(String[] args) {
        PrimaryHttp.forbidSilentRetries();
        SpringApplication.run(SearchApplication.class, args);
    }
}
