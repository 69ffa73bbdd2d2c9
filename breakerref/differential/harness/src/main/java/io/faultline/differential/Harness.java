package io.faultline.differential;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import io.github.resilience4j.circuitbreaker.CircuitBreaker;
import io.github.resilience4j.circuitbreaker.IllegalStateTransitionException;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnFailureRateExceededEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnSlowCallRateExceededEvent;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnStateTransitionEvent;
import io.github.resilience4j.circuitbreaker.internal.CircuitBreakerStateMachine;
import io.github.resilience4j.circuitbreaker.internal.SchedulerFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Plays cases on the real breaker. A line of standard input is a case: its start in nanoseconds, its
 * configuration, and its operations. Each operation is answered by a line:
 *
 * <pre>result state failure-rate slow-rate buffered failed slow slow-failed not-permitted timer events</pre>
 *
 * with rates as the bits of a float, the earliest timer as its distance in nanoseconds, and events
 * separated by commas, each with its distance from the start of the operation if it has one. A line
 * with a dot ends the answers. Where the library throws what nothing can follow, they end early.
 */
public final class Harness {

    private static final Clock CLOCK = VirtualTime.clock();

    /** A hundred years, beyond which a timer is as good as never. */
    private static final long FAR = TimeUnit.DAYS.toNanos(36_500);

    private final VirtualTime.Timers timers = new VirtualTime.Timers();
    private final Words in;
    private final StringBuilder out;
    private final CircuitBreaker breaker;
    private final StringBuilder events = new StringBuilder();
    private long start; // of the operation
    private boolean thrown; // the library threw what it should not, and CLOSED is dead

    private Harness(Words in, StringBuilder out) {
        this.in = in;
        this.out = out;
        VirtualTime.set(in.number());
        breaker = new CircuitBreakerStateMachine("b", Settings.read(in, CLOCK), new SchedulerFactory(timers));
        breaker.getEventPublisher().onEvent(this::note);
    }

    public static void main(String[] args) throws IOException {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.US_ASCII), 1 << 16);
        StringBuilder out = new StringBuilder();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            new Harness(new Words(line), out).play();
            System.out.write(out.toString().getBytes(StandardCharsets.US_ASCII));
            out.setLength(0);
            if (!lines.ready()) {
                System.out.flush();
            }
        }
        System.out.flush();
    }

    private void play() {
        boolean on = true;
        while (on && in.more()) {
            on = answer();
            out.append('\n');
        }
        out.append(".\n");
    }

    /** Does an operation and says what can be seen then. False if nothing can follow. */
    private boolean answer() {
        events.setLength(0);
        start = VirtualTime.now();
        String broken = null;
        try {
            out.append(step());
        } catch (IllegalStateTransitionException | CallNotPermittedException e) {
            out.append('!').append(e.getClass().getSimpleName());
        } catch (IllegalArgumentException e) {
            thrown = true;
            out.append('!').append(e.getClass().getSimpleName());
        } catch (RuntimeException | StackOverflowError e) {
            broken = "-";
            out.append('!').append(e.getClass().getSimpleName());
        }
        timers.advance(VirtualTime.now());
        thrown &= breaker.getState() == CircuitBreaker.State.CLOSED; // Another state does not have it.
        out.append(' ').append(Settings.letter(breaker.getState())).append(' ');
        if (broken == null) {
            broken = metrics();
        }
        if (broken != null) {
            out.append(broken);
        }
        VirtualTime.Timer timer = timers.first();
        out.append(' ');
        if (timer == null) {
            out.append('-');
        } else if (timer.due - VirtualTime.now() > FAR) {
            out.append("far");
        } else {
            out.append(timer.due - VirtualTime.now());
        }
        out.append(' ').append(events);
        return broken == null;
    }

    /** Each number is read on its own, which matters where reading lets the window slide. */
    private String metrics() {
        int from = out.length();
        try {
            CircuitBreaker.Metrics m = breaker.getMetrics();
            out.append(bits(m.getFailureRate())).append(' ').append(bits(m.getSlowCallRate()));
            out.append(' ').append(m.getNumberOfBufferedCalls()).append(' ').append(m.getNumberOfFailedCalls());
            out.append(' ').append(m.getNumberOfSlowCalls()).append(' ').append(m.getNumberOfSlowFailedCalls());
            out.append(' ').append(m.getNumberOfNotPermittedCalls());
            return null;
        } catch (RuntimeException e) {
            out.setLength(from);
            return "!" + e.getClass().getSimpleName();
        }
    }

    private String step() {
        char what = in.letter();
        switch (what) {
            case 'a':
                return breaker.tryAcquirePermission() ? "t" : "f";
            case 'A':
                return acquire();
            case 's':
                breaker.onSuccess(in.number(), TimeUnit.NANOSECONDS);
                break;
            case 'e':
                char wrap = in.letter();
                Ending error = new Ending(in);
                breaker.onError(error.took, TimeUnit.NANOSECONDS, error.error(wrap));
                break;
            case 'v':
                Ending value = new Ending(in);
                breaker.onResult(value.took, TimeUnit.NANOSECONDS, value.value());
                break;
            case 'k':
                return call(new Ending(in), false);
            case 'K':
                return call(new Ending(in), true);
            case 'p':
                breaker.releasePermission();
                break;
            case '+':
                timers.advance(start + in.number());
                break;
            default:
                hand(what);
        }
        return "-";
    }

    /** Moves the breaker by hand. */
    private void hand(char what) {
        switch (what) {
            case 'C':
                breaker.transitionToClosedState();
                break;
            case 'O':
                breaker.transitionToOpenState();
                break;
            case 'H':
                breaker.transitionToHalfOpenState();
                break;
            case 'D':
                breaker.transitionToDisabledState();
                break;
            case 'M':
                breaker.transitionToMetricsOnlyState();
                break;
            case 'F':
                breaker.transitionToForcedOpenState();
                break;
            case 'w':
                breaker.transitionToOpenStateFor(Duration.ofNanos(in.number()));
                break;
            case 'u':
                breaker.transitionToOpenStateUntil(Settings.instant(in.number()));
                break;
            case 'R':
                breaker.reset();
                break;
            default:
                throw new IllegalStateException("there is no operation " + what);
        }
    }

    /** The permission that throws. After the one state in which it differs from the other, that one. */
    private String acquire() {
        if (thrown) {
            return breaker.tryAcquirePermission() ? "t" : "f";
        }
        try {
            breaker.acquirePermission();
            return "t";
        } catch (CallNotPermittedException e) {
            return "f";
        }
    }

    /** A call in the library's hands, which takes the time it says. */
    private String call(Ending ending, boolean fails) {
        if (thrown) {
            return acquire();
        }
        Throwable error = ending.error('-');
        try {
            breaker.executeCallable(() -> {
                timers.advance(start + ending.took);
                if (fails) {
                    throw (Exception) error;
                }
                return ending.value();
            });
        } catch (CallNotPermittedException e) {
            return "f";
        } catch (RuntimeException e) {
            throw e;
        } catch (Exception e) {
            if (e != error) {
                throw new IllegalStateException(e);
            }
        }
        return "t";
    }

    private void note(CircuitBreakerEvent e) {
        if (events.length() > 0) {
            events.append(',');
        }
        switch (e.getEventType()) {
            case FAILURE_RATE_EXCEEDED:
                events.append('F').append(bits(((CircuitBreakerOnFailureRateExceededEvent) e).getFailureRate()));
                break;
            case SLOW_CALL_RATE_EXCEEDED:
                events.append('L').append(bits(((CircuitBreakerOnSlowCallRateExceededEvent) e).getSlowCallRate()));
                break;
            case STATE_TRANSITION:
                CircuitBreaker.StateTransition to = ((CircuitBreakerOnStateTransitionEvent) e).getStateTransition();
                events.append('T').append(Settings.letter(to.getFromState())).append(Settings.letter(to.getToState()));
                break;
            default: // SUCCESS, ERROR, IGNORED_ERROR, NOT_PERMITTED, RESET
                events.append(e.getEventType().name().charAt(0));
        }
        if (VirtualTime.now() != start) {
            events.append('@').append(VirtualTime.now() - start);
        }
    }

    private static String bits(float f) {
        return Integer.toHexString(Float.floatToRawIntBits(f));
    }
}
