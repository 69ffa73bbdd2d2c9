package io.faultline.differential;

import java.time.Clock;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.PriorityQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The one time of the harness, in nanoseconds since the epoch, for all that the library reads: its
 * wall clock, its monotonic clock and its timers. It moves only when a case says so, also backwards.
 * The harness has one thread.
 */
public final class VirtualTime {

    private static long now;

    private VirtualTime() {
    }

    public static long now() {
        return now;
    }

    static void set(long instant) {
        now = instant;
    }

    static Clock clock() {
        return new Clock() {
            @Override
            public Instant instant() {
                return Instant.ofEpochSecond(Math.floorDiv(now, 1_000_000_000L), Math.floorMod(now, 1_000_000_000L));
            }

            @Override
            public ZoneId getZone() {
                return ZoneOffset.UTC;
            }

            @Override
            public Clock withZone(ZoneId zone) {
                return this;
            }
        };
    }

    /** Timers that fire when the virtual time reaches them. No thread is ever started. */
    static final class Timers extends ScheduledThreadPoolExecutor {

        private final PriorityQueue<Timer> set = new PriorityQueue<>();
        private long count;

        Timers() {
            super(0);
        }

        @Override
        public ScheduledFuture<?> schedule(Runnable task, long delay, TimeUnit unit) {
            Timer timer = new Timer(task, plus(now, unit.toNanos(delay)), count++);
            set.add(timer);
            return timer;
        }

        /** Fires what is due by an instant, in order and each at its own instant, and goes there. */
        void advance(long to) {
            for (Timer next = first(); next != null && next.due <= to; next = first()) {
                set.remove();
                now = Math.max(now, next.due);
                next.run();
            }
            now = to;
        }

        /** The earliest timer that was not cancelled, or null. */
        Timer first() {
            while (!set.isEmpty() && set.peek().cancelled) {
                set.remove();
            }
            return set.peek();
        }

        private static long plus(long a, long b) {
            long sum = a + b;
            boolean overflow = ((a ^ sum) & (b ^ sum)) < 0;
            return overflow ? (a < 0 ? Long.MIN_VALUE : Long.MAX_VALUE) : sum;
        }
    }

    static final class Timer implements ScheduledFuture<Object> {

        final long due;
        private final Runnable task;
        private final long number;
        private boolean cancelled;
        private boolean done;

        Timer(Runnable task, long due, long number) {
            this.task = task;
            this.due = due;
            this.number = number;
        }

        /** An executor keeps what a task throws to itself. So is an illegal transition here. */
        void run() {
            try {
                task.run();
            } catch (RuntimeException | StackOverflowError swallowed) {
                // Nobody asks the future for it.
            }
            done = true;
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - now, TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed other) {
            Timer o = (Timer) other;
            return due != o.due ? Long.compare(due, o.due) : Long.compare(number, o.number);
        }

        @Override
        public boolean cancel(boolean mayInterruptIfRunning) {
            boolean pending = !done && !cancelled;
            cancelled = true;
            return pending;
        }

        @Override
        public boolean isCancelled() {
            return cancelled;
        }

        @Override
        public boolean isDone() {
            return done || cancelled;
        }

        @Override
        public Object get() {
            throw new UnsupportedOperationException();
        }

        @Override
        public Object get(long timeout, TimeUnit unit) {
            throw new UnsupportedOperationException();
        }
    }
}
