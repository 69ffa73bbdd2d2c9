package io.faultline.zoo.search;

import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/**
 * The same search with a deliberate defect: the fallback takes no Throwable, so Resilience4j 2.x does not match it,
 * logs "No fallback method match found" on every call and runs without a fallback.
 */
@Service
@Profile("fallback-signature")
class MismatchedFallbackSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    MismatchedFallbackSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    @CircuitBreaker(name = "primary", fallbackMethod = "secondary")
    public SearchAnswer search(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
