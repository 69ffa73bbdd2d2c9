package io.faultline.differential;

import io.github.resilience4j.circuitbreaker.CircuitBreaker.State;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowSynchronizationStrategy;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.SlidingWindowType;
import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig.TransitionCheckResult;
import io.github.resilience4j.core.IntervalFunction;
import io.github.resilience4j.core.functions.Either;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** Reads the configuration that a case begins with. Every property has its own setter, as in YAML. */
final class Settings {

    private Settings() {
    }

    static CircuitBreakerConfig read(Words in, Clock clock) {
        CircuitBreakerConfig.Builder b = CircuitBreakerConfig.custom()
            .clock(clock)
            .currentTimestampFunction(any -> VirtualTime.now(), TimeUnit.NANOSECONDS)
            .slidingWindowType(in.letter() == 'T' ? SlidingWindowType.TIME_BASED : SlidingWindowType.COUNT_BASED)
            .slidingWindowSynchronizationStrategy(yes(in)
                ? SlidingWindowSynchronizationStrategy.LOCK_FREE : SlidingWindowSynchronizationStrategy.SYNCHRONIZED)
            .slidingWindowSize((int) in.number())
            .minimumNumberOfCalls((int) in.number())
            .failureRateThreshold(Float.intBitsToFloat((int) in.number()))
            .slowCallRateThreshold(Float.intBitsToFloat((int) in.number()))
            .slowCallDurationThreshold(Duration.ofNanos(in.number()));
        waits(in, b);
        b.automaticTransitionFromOpenToHalfOpenEnabled(yes(in))
            .permittedNumberOfCallsInHalfOpenState((int) in.number())
            .maxWaitDurationInHalfOpenState(Duration.ofNanos(in.number()))
            .transitionToStateAfterWaitDuration(yes(in) ? State.CLOSED : State.OPEN)
            .initialState(state(in.letter()));
        errors(in, b);
        if (yes(in)) {
            b.recordResult(v -> ((Ending.Value) v).ending.kind == 'b');
        }
        if (yes(in)) {
            b.transitionOnResult(Settings::verdict);
        }
        b.ignoreExceptionsPrecedenceEnabled(yes(in));
        return b.build();
    }

    private static void waits(Words in, CircuitBreakerConfig.Builder b) {
        switch (in.letter()) {
            case 'f':
                b.waitDurationInOpenState(Duration.ofNanos(in.number()));
                break;
            case 'e':
                Duration first = Duration.ofNanos(in.number());
                double by = Double.longBitsToDouble(in.number());
                Duration most = Duration.ofNanos(in.number());
                b.waitIntervalFunctionInOpenState(most.isZero()
                    ? IntervalFunction.ofExponentialBackoff(first, by)
                    : IntervalFunction.ofExponentialBackoff(first, by, most));
                break;
            default:
                List<Long> table = new ArrayList<>();
                do {
                    table.add(TimeUnit.NANOSECONDS.toMillis(in.number()));
                } while (in.comma());
                b.waitIntervalFunctionInOpenState(
                    opening -> table.get(Math.min(Math.max(opening, 1), table.size()) - 1));
        }
    }

    @SuppressWarnings("unchecked")
    private static void errors(Words in, CircuitBreakerConfig.Builder b) {
        switch (in.letter()) {
            case 'c':
                b.recordExceptions(Ending.Recorded.class);
                break;
            case 'p':
                b.recordException(Ending.Recorded.class::isInstance);
                break;
            default:
        }
        switch (in.letter()) {
            case 'c':
                b.ignoreExceptions(Ending.Ignored.class);
                break;
            case 'p':
                b.ignoreException(Ending.Ignored.class::isInstance);
                break;
            default:
        }
    }

    private static TransitionCheckResult verdict(Either<Object, Throwable> of) {
        Ending ending;
        if (of.isLeft()) {
            ending = ((Ending.Value) of.getLeft()).ending;
        } else if (of.get() instanceof Ending.Failure) {
            ending = ((Ending.Failure) of.get()).ending;
        } else {
            return TransitionCheckResult.noTransition();
        }
        switch (ending.verdict) {
            case 'o':
                return TransitionCheckResult.transitionToOpen();
            case 'f':
                return TransitionCheckResult.transitionToOpenAndWaitFor(Duration.ofNanos(ending.wait));
            case 'u':
                return TransitionCheckResult.transitionToOpenAndWaitUntil(instant(ending.wait));
            default:
                return TransitionCheckResult.noTransition();
        }
    }

    /** The instant that is so many nanoseconds away. */
    static Instant instant(long away) {
        return VirtualTime.clock().instant().plusNanos(away);
    }

    static boolean yes(Words in) {
        return in.number() == 1;
    }

    static State state(char letter) {
        for (State s : State.values()) {
            if (letter(s) == letter) {
                return s;
            }
        }
        throw new IllegalStateException("there is no state " + letter);
    }

    /** The first letter of a state, which no other one has. */
    static char letter(State s) {
        return s.name().charAt(0);
    }
}
