package io.faultline.zoo.effective;

import io.github.resilience4j.bulkhead.BulkheadRegistry;
import io.github.resilience4j.bulkhead.ThreadPoolBulkheadRegistry;
import io.github.resilience4j.circuitbreaker.CircuitBreakerRegistry;
import io.github.resilience4j.core.IntervalBiFunction;
import io.github.resilience4j.core.functions.Either;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import io.github.resilience4j.retry.RetryRegistry;
import io.github.resilience4j.springboot3.bulkhead.autoconfigure.BulkheadProperties;
import io.github.resilience4j.springboot3.bulkhead.autoconfigure.ThreadPoolBulkheadProperties;
import io.github.resilience4j.springboot3.circuitbreaker.autoconfigure.CircuitBreakerProperties;
import io.github.resilience4j.springboot3.ratelimiter.autoconfigure.RateLimiterProperties;
import io.github.resilience4j.springboot3.retry.autoconfigure.RetryProperties;
import io.github.resilience4j.springboot3.timelimiter.autoconfigure.TimeLimiterProperties;
import io.github.resilience4j.timelimiter.TimeLimiterRegistry;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeoutException;
import java.util.function.LongUnaryOperator;
import java.util.function.Predicate;
import org.springframework.context.ApplicationContext;

/** What the beans of a started application say of every instance, durations in nanoseconds. */
final class Answer {

    private static final int DRAWS = 40;

    private Answer() {
    }

    static void fill(Map<String, Object> answer, ApplicationContext context) {
        answer.put("circuitbreaker", breakers(context));
        answer.put("retry", retries(context));
        answer.put("bulkhead", bulkheads(context));
        answer.put("thread-pool-bulkhead", pools(context));
        answer.put("ratelimiter", rateLimiters(context));
        answer.put("timelimiter", timeLimiters(context));
        var orders = new LinkedHashMap<String, Integer>();
        orders.put("circuitbreaker", context.getBean(CircuitBreakerProperties.class).getCircuitBreakerAspectOrder());
        orders.put("retry", context.getBean(RetryProperties.class).getRetryAspectOrder());
        orders.put("bulkhead", context.getBean(BulkheadProperties.class).getBulkheadAspectOrder());
        orders.put("ratelimiter", context.getBean(RateLimiterProperties.class).getRateLimiterAspectOrder());
        orders.put("timelimiter", context.getBean(TimeLimiterProperties.class).getTimeLimiterAspectOrder());
        answer.put("orders", orders);
        answer.put("processors", Runtime.getRuntime().availableProcessors());
    }

    private static Map<String, Object> breakers(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(CircuitBreakerProperties.class);
        context.getBean(CircuitBreakerRegistry.class).getAllCircuitBreakers().forEach(breaker -> {
            var c = breaker.getCircuitBreakerConfig();
            var v = new LinkedHashMap<String, Object>();
            v.put("slidingWindowType", c.getSlidingWindowType());
            v.put("slidingWindowSize", c.getSlidingWindowSize());
            v.put("minimumNumberOfCalls", c.getMinimumNumberOfCalls());
            v.put("failureRateThreshold", c.getFailureRateThreshold());
            v.put("slowCallRateThreshold", c.getSlowCallRateThreshold());
            v.put("slowCallDurationThreshold", c.getSlowCallDurationThreshold().toNanos());
            v.put("permittedNumberOfCallsInHalfOpenState", c.getPermittedNumberOfCallsInHalfOpenState());
            v.put("automaticTransitionFromOpenToHalfOpenEnabled", c.isAutomaticTransitionFromOpenToHalfOpenEnabled());
            v.put("maxWaitDurationInHalfOpenState", c.getMaxWaitDurationInHalfOpenState().toNanos());
            v.put("transitionToStateAfterWaitDuration", c.getTransitionToStateAfterWaitDuration());
            v.put("initialState", c.getInitialState());
            v.put("writableStackTraceEnabled", c.isWritableStackTraceEnabled());
            v.put("records", tried(c.getRecordExceptionPredicate()));
            v.put("ignores", tried(c.getIgnoreExceptionPredicate()));
            v.put("waits", waits(attempt -> c.getWaitIntervalFunctionInOpenState().apply((int) attempt)));
            properties.findCircuitBreakerProperties(breaker.getName()).ifPresent(p -> {
                v.put("registerHealthIndicator", p.getRegisterHealthIndicator());
                v.put("allowHealthIndicatorToFail", p.getAllowHealthIndicatorToFail());
                v.put("ignoreClassBindingExceptions", p.getIgnoreClassBindingExceptions());
                v.put("eventConsumerBufferSize", p.getEventConsumerBufferSize());
            });
            all.put(breaker.getName(), v);
        });
        return all;
    }

    private static Map<String, Object> retries(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(RetryProperties.class);
        context.getBean(RetryRegistry.class).getAllRetries().forEach(retry -> {
            var c = retry.getRetryConfig();
            IntervalBiFunction<Object> interval = c.getIntervalBiFunction();
            var v = new LinkedHashMap<String, Object>();
            v.put("maxAttempts", c.getMaxAttempts());
            v.put("failAfterMaxAttempts", c.isFailAfterMaxAttempts());
            v.put("retries", tried(c.getExceptionPredicate()));
            v.put("waits", waits(attempt -> interval.apply((int) attempt, Either.left(new IOException()))));
            var p = properties.getBackendProperties(retry.getName());
            v.put("eventConsumerBufferSize", p == null ? null : p.getEventConsumerBufferSize());
            all.put(retry.getName(), v);
        });
        return all;
    }

    private static Map<String, Object> bulkheads(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(BulkheadProperties.class);
        context.getBean(BulkheadRegistry.class).getAllBulkheads().forEach(bulkhead -> {
            var c = bulkhead.getBulkheadConfig();
            var v = new LinkedHashMap<String, Object>();
            v.put("maxConcurrentCalls", c.getMaxConcurrentCalls());
            v.put("maxWaitDuration", c.getMaxWaitDuration().toNanos());
            v.put("writableStackTraceEnabled", c.isWritableStackTraceEnabled());
            var p = properties.getBackendProperties(bulkhead.getName());
            v.put("eventConsumerBufferSize", p == null ? null : p.getEventConsumerBufferSize());
            all.put(bulkhead.getName(), v);
        });
        return all;
    }

    private static Map<String, Object> pools(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(ThreadPoolBulkheadProperties.class);
        context.getBean(ThreadPoolBulkheadRegistry.class).getAllBulkheads().forEach(bulkhead -> {
            var c = bulkhead.getBulkheadConfig();
            var v = new LinkedHashMap<String, Object>();
            v.put("coreThreadPoolSize", c.getCoreThreadPoolSize());
            v.put("maxThreadPoolSize", c.getMaxThreadPoolSize());
            v.put("queueCapacity", c.getQueueCapacity());
            v.put("keepAliveDuration", c.getKeepAliveDuration().toNanos());
            v.put("writableStackTraceEnabled", c.isWritableStackTraceEnabled());
            var p = properties.getBackendProperties(bulkhead.getName());
            v.put("eventConsumerBufferSize", p == null ? null : p.getEventConsumerBufferSize());
            all.put(bulkhead.getName(), v);
        });
        return all;
    }

    private static Map<String, Object> rateLimiters(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(RateLimiterProperties.class);
        context.getBean(RateLimiterRegistry.class).getAllRateLimiters().forEach(limiter -> {
            var c = limiter.getRateLimiterConfig();
            var v = new LinkedHashMap<String, Object>();
            v.put("limitForPeriod", c.getLimitForPeriod());
            v.put("limitRefreshPeriod", c.getLimitRefreshPeriod().toNanos());
            v.put("timeoutDuration", c.getTimeoutDuration().toNanos());
            v.put("writableStackTraceEnabled", c.isWritableStackTraceEnabled());
            properties.findRateLimiterProperties(limiter.getName()).ifPresent(p -> {
                v.put("registerHealthIndicator", p.getRegisterHealthIndicator());
                v.put("allowHealthIndicatorToFail", p.getAllowHealthIndicatorToFail());
                v.put("subscribeForEvents", p.getSubscribeForEvents());
                v.put("eventConsumerBufferSize", p.getEventConsumerBufferSize());
            });
            all.put(limiter.getName(), v);
        });
        return all;
    }

    private static Map<String, Object> timeLimiters(ApplicationContext context) {
        var all = new TreeMap<String, Object>();
        var properties = context.getBean(TimeLimiterProperties.class);
        context.getBean(TimeLimiterRegistry.class).getAllTimeLimiters().forEach(limiter -> {
            var c = limiter.getTimeLimiterConfig();
            var v = new LinkedHashMap<String, Object>();
            v.put("timeoutDuration", c.getTimeoutDuration().toNanos());
            v.put("cancelRunningFuture", c.shouldCancelRunningFuture());
            var p = properties.getInstanceProperties(limiter.getName());
            v.put("eventConsumerBufferSize", p == null ? null : p.getEventConsumerBufferSize());
            all.put(limiter.getName(), v);
        });
        return all;
    }

    /** The least and the greatest of many waits after each of the first eight attempts, in milliseconds. */
    private static Object waits(LongUnaryOperator wait) {
        List<long[]> out = new ArrayList<>();
        try {
            for (int attempt = 1; attempt <= 8; attempt++) {
                long least = Long.MAX_VALUE;
                long most = Long.MIN_VALUE;
                for (int i = 0; i < DRAWS; i++) {
                    long w = wait.applyAsLong(attempt);
                    least = Math.min(least, w);
                    most = Math.max(most, w);
                }
                out.add(new long[] {least, most});
            }
        } catch (RuntimeException e) {
            return e.getMessage();
        }
        return out;
    }

    private static List<Boolean> tried(Predicate<Throwable> predicate) {
        return List.of(predicate.test(new IOException()), predicate.test(new FileNotFoundException()),
            predicate.test(new TimeoutException()), predicate.test(new IllegalStateException()));
    }
}
