package io.faultline.zoo.search;

import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import io.github.resilience4j.retry.annotation.Retry;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** The search with a retry around the breaker, which is the library's own order: each attempt asks the breaker. */
@Service
@Profile("retry-breaker")
class RetriedGuardedSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    RetriedGuardedSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    @Retry(name = "primary", fallbackMethod = "secondary")
    @CircuitBreaker(name = "primary")
    public SearchAnswer search(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query, Throwable cause) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
