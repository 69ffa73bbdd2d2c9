package io.faultline.zoo.search;

import io.github.resilience4j.circuitbreaker.annotation.CircuitBreaker;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/**
 * The same search with a deliberate defect: the guarded method is called from within its own bean, so the call does not
 * pass through the proxy that Spring put in front of the bean, and neither breaker nor fallback is ever asked.
 */
@Service
@Profile("bypass")
class BypassedSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    BypassedSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    public SearchAnswer search(String query) {
        return guarded(query.strip());
    }

    @CircuitBreaker(name = "primary", fallbackMethod = "secondary")
    public SearchAnswer guarded(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query, Throwable cause) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
