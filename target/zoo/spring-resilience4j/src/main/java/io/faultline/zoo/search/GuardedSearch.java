package io.faultline.zoo.search;

import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** The search as it should be: primary behind the breaker, secondary on any failure and while the breaker is open. */
@Service
@Profile("!fallback-signature & !bypass & !retry & !retry-breaker & !bulkhead & !rate-limiter & !time-limiter")
class GuardedSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    GuardedSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    @CircuitBreaker(name = "primary", fallbackMethod = "secondary")
    public SearchAnswer search(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query, Throwable cause) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
