package io.faultline.zoo;

import java.util.concurrent.TimeUnit;
import rx.Scheduler;
import rx.Subscription;
import rx.functions.Action0;
import rx.schedulers.TestScheduler;
import rx.subscriptions.Subscriptions;

/** The time of the case being played: RxJava's scheduler of tests, and what stands in for System. */
public final class Time {
    private static long start;
    private static TestScheduler steps;
    private static boolean prompt;

    private Time() {}

    static void begin(long milliseconds) {
        start = milliseconds;
        prompt = false;
        steps = new TestScheduler();
    }

    /** From now on, what RxJava computes is done before whatever else its caller does, and not after it. */
    public static void hurry() {
        prompt = true;
    }

    /** Does what is due now. */
    public static void settle() {
        steps.triggerActions();
    }

    public static void pass(long milliseconds) {
        steps.advanceTimeBy(milliseconds, TimeUnit.MILLISECONDS);
    }

    /** As System.currentTimeMillis. Stepped has the library call it. */
    public static long currentTimeMillis() {
        return start + steps.now();
    }

    /** Where RxJava computes: on a thread that is always the faster one, or always the slower. */
    static Scheduler scheduler() {
        TestScheduler of = steps;
        return new Scheduler() {
            @Override
            public Worker createWorker() {
                return new Prompt(of.createWorker());
            }

            @Override
            public long now() {
                return of.now();
            }
        };
    }

    private static final class Prompt extends Scheduler.Worker {
        private final Scheduler.Worker later;

        Prompt(Scheduler.Worker later) {
            this.later = later;
        }

        @Override
        public Subscription schedule(Action0 action) {
            if (!prompt) return later.schedule(action);
            action.call();
            return Subscriptions.unsubscribed();
        }

        @Override
        public Subscription schedule(Action0 action, long delay, TimeUnit unit) {
            return delay > 0 ? later.schedule(action, delay, unit) : schedule(action);
        }

        @Override
        public long now() {
            return later.now();
        }

        @Override
        public void unsubscribe() {
            later.unsubscribe();
        }

        @Override
        public boolean isUnsubscribed() {
            return later.isUnsubscribed();
        }
    }
}
