package io.faultline.zoo.search;

import io.github.resilience4j.timelimiter.annotation.TimeLimiter;
import java.util.concurrent.CompletableFuture;
import org.springframework.context.annotation.Profile;
import org.springframework.stereotype.Component;
import org.springframework.stereotype.Service;
import org.springframework.web.context.request.RequestAttributes;
import org.springframework.web.context.request.RequestContextHolder;

/** The search with a time limiter instead of the breaker. */
@Service
@Profile("time-limiter")
class TimeLimitedSearch implements SearchService {

    private final Limited limited;

    TimeLimitedSearch(Limited limited) {
        this.limited = limited;
    }

    @Override
    public SearchAnswer search(String query) {
        return limited.search(query).join();
    }

    /** A bean of its own, since the limiter's aspect sees only calls from one bean to another, and wants a future. */
    @Component
    @Profile("time-limiter")
    static class Limited {

        private final PrimaryEngine primary;
        private final SecondarySource secondary;

        Limited(PrimaryEngine primary, SecondarySource secondary) {
            this.primary = primary;
            this.secondary = secondary;
        }

        @TimeLimiter(name = "primary", fallbackMethod = "secondary")
        public CompletableFuture<SearchAnswer> search(String query) {
            RequestAttributes incoming = RequestContextHolder.getRequestAttributes();
            return CompletableFuture.supplyAsync(() -> {
                RequestContextHolder.setRequestAttributes(incoming); // whose headers go on to the primary
                try {
                    return new SearchAnswer("primary", primary.search(query));
                } finally {
                    RequestContextHolder.resetRequestAttributes();
                }
            });
        }

        private CompletableFuture<SearchAnswer> secondary(String query, Throwable cause) {
            return CompletableFuture.completedFuture(new SearchAnswer("secondary", secondary.search(query)));
        }
    }
}
