package io.faultline.differential;

/** Reads a line of words and numbers, none of which is quoted. */
final class Words {

    private final String line;
    private int at;

    Words(String line) {
        this.line = line;
    }

    boolean more() {
        skip();
        return at < line.length();
    }

    /** The next character, whatever follows it. */
    char letter() {
        skip();
        if (at >= line.length()) {
            throw new IllegalStateException("the line ends early: " + line);
        }
        return line.charAt(at++);
    }

    /** The next whole number. */
    long number() {
        skip();
        int from = at;
        boolean negative = at < line.length() && line.charAt(at) == '-';
        if (negative) {
            at++;
        }
        long n = 0;
        while (at < line.length() && line.charAt(at) >= '0' && line.charAt(at) <= '9') {
            n = n * 10 + (line.charAt(at++) - '0');
        }
        if (at == from) {
            throw new IllegalStateException("no number at " + from + " of " + line);
        }
        return negative ? -n : n;
    }

    /** A number after a comma, if there is one right here. */
    boolean comma() {
        boolean here = at < line.length() && line.charAt(at) == ',';
        if (here) {
            at++;
        }
        return here;
    }

    private void skip() {
        while (at < line.length() && line.charAt(at) == ' ') {
            at++;
        }
    }
}
