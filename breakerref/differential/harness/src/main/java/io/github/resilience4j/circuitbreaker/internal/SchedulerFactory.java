package io.github.resilience4j.circuitbreaker.internal;

import java.util.concurrent.ScheduledExecutorService;

/**
 * Takes the place of the library's class of this name, which owns a thread for the timers of all
 * breakers. This one hands out the timers it was given.
 */
public class SchedulerFactory {

    private final ScheduledExecutorService timers;

    public SchedulerFactory(ScheduledExecutorService timers) {
        this.timers = timers;
    }

    public static SchedulerFactory getInstance() {
        throw new IllegalStateException("give the breaker its timers");
    }

    public ScheduledExecutorService getScheduler() {
        return timers;
    }
}
