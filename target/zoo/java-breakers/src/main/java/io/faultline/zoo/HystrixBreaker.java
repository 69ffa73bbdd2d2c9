package io.faultline.zoo;

import com.google.gson.JsonObject;
import com.netflix.hystrix.Hystrix;
import com.netflix.hystrix.HystrixCircuitBreaker;
import com.netflix.hystrix.HystrixCommandGroupKey;
import com.netflix.hystrix.HystrixCommandKey;
import com.netflix.hystrix.HystrixCommandProperties;
import com.netflix.hystrix.HystrixCommandProperties.ExecutionIsolationStrategy;
import com.netflix.hystrix.HystrixObservableCommand;
import com.netflix.hystrix.exception.HystrixBadRequestException;
import com.netflix.hystrix.exception.HystrixRuntimeException;
import com.netflix.hystrix.metric.consumer.CumulativeCommandEventCounterStream;
import com.netflix.hystrix.metric.consumer.HealthCountsStream;
import com.netflix.hystrix.metric.consumer.RollingCommandEventCounterStream;
import com.netflix.hystrix.metric.consumer.RollingCommandLatencyDistributionStream;
import com.netflix.hystrix.metric.consumer.RollingCommandMaxConcurrencyStream;
import com.netflix.hystrix.metric.consumer.RollingCommandUserLatencyDistributionStream;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import rx.Observable;
import rx.Subscription;
import rx.subjects.PublishSubject;

/**
 * Hystrix: whole commands, of which the circuit breaker decides. Stepped loads this class once for
 * each version.
 */
public final class HystrixBreaker implements Breaker {
    private static int made; // Metrics and breakers are kept by the command's key.

    private final HystrixObservableCommand.Setter setter;
    private final boolean cancels;
    private final Answers answers;
    private final Map<Integer, Running> running = new HashMap<>();
    private final Command watch;

    private record Running(PublishSubject<Boolean> end, Subscription caller) {}

    public HystrixBreaker(JsonObject options, Answers answers) {
        this.answers = answers;
        cancels = options.get("cancels").getAsBoolean();
        setter = HystrixObservableCommand.Setter
            .withGroupKey(HystrixCommandGroupKey.Factory.asKey("replay"))
            .andCommandKey(HystrixCommandKey.Factory.asKey("breaker" + made++))
            .andCommandPropertiesDefaults(HystrixCommandProperties.Setter()
                .withExecutionIsolationStrategy(ExecutionIsolationStrategy.SEMAPHORE)
                .withExecutionIsolationSemaphoreMaxConcurrentRequests(Integer.MAX_VALUE)
                .withExecutionTimeoutEnabled(false)
                .withFallbackEnabled(false)
                .withRequestCacheEnabled(false)
                .withRequestLogEnabled(false)
                .withMetricsRollingStatisticalWindowInMilliseconds(options.get("window").getAsInt())
                .withMetricsHealthSnapshotIntervalInMilliseconds(options.get("snapshot").getAsInt())
                .withCircuitBreakerRequestVolumeThreshold(options.get("volume").getAsInt())
                .withCircuitBreakerErrorThresholdPercentage(options.get("percentage").getAsInt())
                .withCircuitBreakerSleepWindowInMilliseconds(options.get("sleep").getAsInt()));
        if (options.get("prompt").getAsBoolean()) Time.hurry();
        watch = new Command(-1); // The health stream begins.
        Time.settle();
    }

    /** A call that ends as its subject does. */
    private final class Command extends HystrixObservableCommand<Boolean> {
        private final int call;
        private final PublishSubject<Boolean> end = PublishSubject.create();
        private boolean admitted;

        Command(int call) {
            super(setter);
            this.call = call;
        }

        @Override
        protected Observable<Boolean> construct() {
            admitted = true;
            answers.admitted(call);
            return end;
        }

        void failed(Throwable error) {
            if (!admitted && error instanceof HystrixRuntimeException e
                && e.getFailureType() == HystrixRuntimeException.FailureType.SHORTCIRCUIT) {
                answers.rejected(call);
            } else if (!admitted) {
                answers.wrong(call, error.toString());
            }
        }

        HystrixCircuitBreaker breaker() {
            return circuitBreaker;
        }
    }

    @Override
    public void ask(int call) {
        Command command = new Command(call);
        Subscription caller = command.toObservable().subscribe(value -> {}, command::failed);
        if (command.admitted) running.put(call, new Running(command.end, caller));
        Time.settle();
    }

    @Override
    public void end(int call, String outcome) {
        Running r = running.remove(call);
        switch (outcome) {
            case "success" -> {
                r.end.onNext(true);
                r.end.onCompleted();
            }
            case "failure" -> r.end.onError(new RuntimeException("failure"));
            case "ignored" -> {
                if (cancels) r.caller.unsubscribe();
                else r.end.onError(new HystrixBadRequestException("ignored"));
            }
            default -> throw new IllegalArgumentException("no call ends as " + outcome);
        }
        Time.settle();
    }

    @Override
    public void pass(long milliseconds) {
        Time.pass(milliseconds);
    }

    @Override
    public String state() {
        if (field("circuitOpen") instanceof AtomicBoolean open) return open.get() ? "OPEN" : "CLOSED";
        return ((AtomicReference<?>) field("status")).get().toString();
    }

    /** A private field of the breaker, or null: asking for its state may change it. */
    private Object field(String name) {
        try {
            for (Field f : watch.breaker().getClass().getDeclaredFields()) {
                if (f.getName().equals(name)) {
                    f.setAccessible(true);
                    return f.get(watch.breaker());
                }
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException("look into the breaker", e);
        }
        return null;
    }

    @Override
    public String look() {
        return watch.isCircuitBreakerOpen() ? "OPEN" : "CLOSED";
    }

    @Override
    public List<Long> counts() {
        return List.of();
    }

    @Override
    public void close() {
        // The library keeps streams by key for good, and histograms with them.
        if (field("activeSubscription") instanceof AtomicReference<?> r) ((Subscription) r.get()).unsubscribe();
        Hystrix.reset();
        HealthCountsStream.reset();
        RollingCommandEventCounterStream.reset();
        CumulativeCommandEventCounterStream.reset();
        RollingCommandLatencyDistributionStream.reset();
        RollingCommandUserLatencyDistributionStream.reset();
        RollingCommandMaxConcurrencyStream.reset();
    }
}
