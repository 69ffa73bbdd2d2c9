package io.faultline.differential;

import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;

/** How a call ends: with a value or an error, and what transitionOnResult is to say of it. */
final class Ending {

    final char kind; // of a value: g good, b bad, n null; of an error: r recorded, i ignored, u neither, n null
    final char verdict; // - nothing, o open, f open for wait, u open until now + wait
    final long took;
    final long wait;

    Ending(Words words) {
        kind = words.letter();
        verdict = words.letter();
        took = words.number();
        wait = words.comma() ? words.number() : 0;
    }

    Object value() {
        return kind == 'n' ? null : new Value(this);
    }

    /** The error, inside of another one that the library looks through if so told. */
    Throwable error(char wrap) {
        Throwable error = error();
        switch (wrap) {
            case 'c':
                return new CompletionException(error);
            case 'x':
                return new ExecutionException(error);
            default:
                return error;
        }
    }

    private Throwable error() {
        switch (kind) {
            case 'r':
                return new Recorded(this);
            case 'i':
                return new Ignored(this);
            case 'u':
                return new Failure(this);
            default:
                return null;
        }
    }

    /** A value of a call. */
    static final class Value {

        final Ending ending;

        Value(Ending ending) {
            this.ending = ending;
        }
    }

    /** An error of a call. It has no stack trace, which would cost more than all the rest. */
    static class Failure extends Exception {

        private static final long serialVersionUID = 1;

        final transient Ending ending;

        Failure(Ending ending) {
            super(null, null, false, false);
            this.ending = ending;
        }
    }

    static final class Recorded extends Failure {

        private static final long serialVersionUID = 1;

        Recorded(Ending ending) {
            super(ending);
        }
    }

    static final class Ignored extends Failure {

        private static final long serialVersionUID = 1;

        Ignored(Ending ending) {
            super(ending);
        }
    }
}
