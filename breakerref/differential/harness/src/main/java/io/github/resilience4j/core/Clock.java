package io.github.resilience4j.core;

import io.faultline.differential.VirtualTime;

/**
 * Takes the place of the library's interface of this name, by which its lock-free time window
 * reads the monotonic clock. Here that clock shows virtual time.
 */
public interface Clock {

    Clock SYSTEM = new Clock() {
        @Override
        public long wallTime() {
            return Math.floorDiv(VirtualTime.now(), 1_000_000L);
        }

        @Override
        public long monotonicTime() {
            return VirtualTime.now();
        }
    };

    long wallTime();

    long monotonicTime();
}
