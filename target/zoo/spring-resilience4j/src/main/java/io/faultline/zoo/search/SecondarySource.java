package io.faultline.zoo.search;

import java.util.List;
import org.springframework.stereotype.Component;

/** The secondary source: a small catalogue in memory, which cannot fail. */
@Component
class SecondarySource {

    private static final List<Object> CATALOGUE = List.of("bulkhead", "circuit breaker", "rate limiter", "retry");

    /** Entries that contain the query, or the whole catalogue when none does: stale beats empty. */
    List<Object> search(String query) {
        List<Object> found = CATALOGUE.stream().filter(entry -> entry.toString().contains(query)).toList();
        return found.isEmpty() ? CATALOGUE : found;
    }
}
