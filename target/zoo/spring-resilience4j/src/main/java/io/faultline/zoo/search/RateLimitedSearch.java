package io.faultline.zoo.search;

import io.github.resilience4j.ratelimiter.annotation.RateLimiter;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** The search with a rate limiter instead of the breaker. */
@Service
@Profile("rate-limiter")
class RateLimitedSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    RateLimitedSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    @RateLimiter(name = "primary", fallbackMethod = "secondary")
    public SearchAnswer search(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query, Throwable cause) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
