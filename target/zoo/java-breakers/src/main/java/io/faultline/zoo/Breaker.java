package io.faultline.zoo;

import java.util.List;

/** A breaker of a library whose time is stepped and whose calls end when they are told to. */
public interface Breaker {
    /** What the library answers to calls, as it does. */
    interface Answers {
        void admitted(int call);

        void rejected(int call);

        /** The library shows what it never should. */
        void wrong(int call, String what);
    }

    void ask(int call);

    /** Ends an admitted call: success, failure or ignored. */
    void end(int call, String outcome);

    /** Lets milliseconds pass; timers fire, each at its instant. */
    void pass(long milliseconds);

    /** The state, seen without touching the breaker. */
    String state();

    /** The state in the library's own words, with whatever asking for it does. */
    String look();

    /** What the library shows of its counts. */
    List<Long> counts();

    void close();
}
