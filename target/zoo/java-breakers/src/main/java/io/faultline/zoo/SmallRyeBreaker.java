package io.faultline.zoo;

import com.google.gson.JsonObject;
import io.smallrye.faulttolerance.core.Completer;
import io.smallrye.faulttolerance.core.FaultToleranceContext;
import io.smallrye.faulttolerance.core.Future;
import io.smallrye.faulttolerance.core.circuit.breaker.CircuitBreaker;
import io.smallrye.faulttolerance.core.stopwatch.RunningStopwatch;
import io.smallrye.faulttolerance.core.timer.Timer;
import io.smallrye.faulttolerance.core.timer.TimerTask;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.eclipse.microprofile.faulttolerance.exceptions.CircuitBreakerOpenException;

/** SmallRye Fault Tolerance, with a stopwatch and a timer that are stepped. */
final class SmallRyeBreaker implements Breaker {
    private static final class Ignored extends Exception {
        private static final long serialVersionUID = 1;
    }

    private final Answers answers;
    private final Alarms alarms;
    private final Map<Integer, Completer<Boolean>> running = new HashMap<>();
    private final CircuitBreaker<Boolean> breaker;

    SmallRyeBreaker(JsonObject options, Answers answers) {
        this.answers = answers;
        alarms = new Alarms(options.get("timer").getAsBoolean());
        breaker = new CircuitBreaker<>(FaultToleranceContext::call, "replay", Ignored.class::isInstance,
            options.get("delay").getAsLong(), options.get("requestVolumeThreshold").getAsInt(),
            options.get("failureRatio").getAsDouble(), options.get("successThreshold").getAsInt(),
            alarms::startWatch, alarms);
    }

    /** Time, and the tasks that are due at one. */
    private static final class Alarms implements Timer {
        private final TreeMap<Long, List<Runnable>> tasks = new TreeMap<>();
        private final boolean wakes;
        private long now;

        /** One that never wakes is a timer whose thread is late: the breaker has to do without. */
        Alarms(boolean wakes) {
            this.wakes = wakes;
        }

        RunningStopwatch startWatch() {
            long begun = now;
            return () -> now - begun;
        }

        void pass(long milliseconds) {
            long until = now + milliseconds;
            while (wakes && !tasks.isEmpty() && tasks.firstKey() <= until) {
                var due = tasks.pollFirstEntry();
                now = due.getKey();
                due.getValue().forEach(Runnable::run);
            }
            now = until;
        }

        @Override
        public TimerTask schedule(long delay, Runnable task) {
            tasks.merge(now + delay, List.of(task), (a, b) -> Stream.concat(a.stream(), b.stream()).toList());
            return new TimerTask() {
                @Override
                public boolean isDone() {
                    throw new UnsupportedOperationException();
                }

                @Override
                public boolean cancel() {
                    throw new UnsupportedOperationException();
                }
            };
        }

        @Override
        public TimerTask schedule(long delay, Runnable task, Executor executor) {
            throw new UnsupportedOperationException();
        }

        @Override
        public int getId() {
            return 0;
        }

        @Override
        public int countScheduledTasks() {
            return tasks.size();
        }

        @Override
        public void shutdown() {}
    }

    @Override
    public void ask(int call) {
        Completer<Boolean> end = Completer.create();
        FaultToleranceContext<Boolean> context = new FaultToleranceContext<>(() -> {
            running.put(call, end);
            answers.admitted(call);
            return end.future();
        }, true);
        Future<Boolean> result = breaker.apply(context);
        result.then((value, error) -> {
            if (running.containsKey(call)) answers.wrong(call, "ends before it is told to");
            else if (error instanceof CircuitBreakerOpenException) answers.rejected(call);
        });
    }

    @Override
    public void end(int call, String outcome) {
        Completer<Boolean> end = running.remove(call);
        switch (outcome) {
            case "success" -> end.complete(true);
            case "failure" -> end.completeWithError(new RuntimeException("failure"));
            case "ignored" -> end.completeWithError(new Ignored());
            default -> throw new IllegalArgumentException("no call ends as " + outcome);
        }
    }

    @Override
    public void pass(long milliseconds) {
        alarms.pass(milliseconds);
    }

    @Override
    public String state() {
        return switch (breaker.currentState()) {
            case CircuitBreaker.STATE_CLOSED -> "CLOSED";
            case CircuitBreaker.STATE_OPEN -> "OPEN";
            case CircuitBreaker.STATE_HALF_OPEN -> "HALF_OPEN";
            default -> "none";
        };
    }

    @Override
    public String look() {
        return state();
    }

    @Override
    public List<Long> counts() {
        return List.of();
    }

    @Override
    public void close() {}
}
