package io.faultline.zoo.search;

import io.github.resilience4j.bulkhead.annotation.Bulkhead;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Service;

/** The search with a bulkhead instead of the breaker. */
@Service
@Profile("bulkhead")
class BulkheadSearch implements SearchService {

    private final PrimaryEngine primary;
    private final SecondarySource secondary;

    BulkheadSearch(PrimaryEngine primary, SecondarySource secondary) {
        this.primary = primary;
        this.secondary = secondary;
    }

    @Override
    @Bulkhead(name = "primary", fallbackMethod = "secondary")
    public SearchAnswer search(String query) {
        return new SearchAnswer("primary", primary.search(query));
    }

    private SearchAnswer secondary(String query, Throwable cause) {
        return new SearchAnswer("secondary", secondary.search(query));
    }
}
