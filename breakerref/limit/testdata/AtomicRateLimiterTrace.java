import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.internal.AtomicRateLimiter;
import java.time.Duration;
import java.util.Random;

/**
 * Records what the real rate limiter does under a virtual clock, in random runs: one
 * JSON object a line with the configuration [limit, period, timeout] and the steps
 * [nanos, verb, argument, answer, cycle, permits, nanosToWait].
 *
 *   java -cp resilience4j-ratelimiter-2.4.0.jar:resilience4j-core-2.4.0.jar:slf4j-api.jar \
 *     AtomicRateLimiterTrace.java RUNS STEPS SEED | gzip -9n > atomic_rate_limiter-2.4.0.jsonl.gz
 */
public class AtomicRateLimiterTrace {
    static long clock;

    public static void main(String[] args) {
        int runs = Integer.parseInt(args[0]), steps = Integer.parseInt(args[1]);
        Random random = new Random(Long.parseLong(args[2]));
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < runs; i++) {
            run(out, random, steps);
            System.out.print(out);
            out.setLength(0);
        }
        System.out.flush();
    }

    static void run(StringBuilder out, Random random, int steps) {
        boolean wild = random.nextInt(10) == 0; // numbers that overflow, clocks that step far
        int limit = limit(random, wild);
        long period = wild && random.nextBoolean() ? 1 + (random.nextLong() >>> (1 + random.nextInt(40))) : pick(random, 1, 7, 1000, 1_000_000_000L, 1 + random.nextInt(2_000_000_000));
        long timeout = timeout(random, period, wild);
        RateLimiterConfig config = RateLimiterConfig.custom().limitForPeriod(limit)
            .limitRefreshPeriod(Duration.ofNanos(period)).timeoutDuration(Duration.ofNanos(timeout)).build();
        clock = 0;
        AtomicRateLimiter limiter = new AtomicRateLimiter("r", config, () -> clock);
        AtomicRateLimiter.AtomicRateLimiterMetrics metrics = limiter.getDetailedMetrics();
        out.append("{\"cfg\":[").append(limit).append(',').append(period).append(',').append(timeout).append("],\"ops\":[");
        for (int i = 0; i < steps; i++) {
            move(random, period, wild);
            String verb = "reserve";
            long argument = 1, answer = 0;
            switch (random.nextInt(20)) {
                case 0:
                    verb = "drain";
                    argument = 0;
                    limiter.drainPermissions();
                    break;
                case 1:
                    verb = "limit";
                    argument = limit(random, wild);
                    limiter.changeLimitForPeriod((int) argument);
                    break;
                case 2:
                    verb = "timeout";
                    argument = timeout(random, period, wild);
                    limiter.changeTimeoutDuration(Duration.ofNanos(argument));
                    break;
                default:
                    int permits = (int) pick(random, 1, 1, 1, 2, 0, 1 + random.nextInt(limit < 1000 ? 3 * limit : 1000), -1 - random.nextInt(3));
                    if (wild && random.nextInt(4) == 0) {
                        permits = random.nextInt();
                    }
                    argument = permits;
                    answer = limiter.reservePermission(permits);
            }
            out.append(i == 0 ? "" : ",").append('[').append(clock).append(",\"").append(verb).append("\",").append(argument)
                .append(',').append(answer).append(',').append(metrics.getCycle()).append(',')
                .append(metrics.getAvailablePermissions()).append(',').append(metrics.getNanosToWait()).append(']');
        }
        out.append("]}\n");
    }

    static int limit(Random random, boolean wild) {
        return wild && random.nextBoolean() ? 1 + (random.nextInt() >>> (1 + random.nextInt(20))) & 0x7fffffff | 1 : 1 + random.nextInt(10);
    }

    static long timeout(Random random, long period, boolean wild) {
        if (wild && random.nextBoolean()) {
            return random.nextLong() >>> (1 + random.nextInt(60));
        }
        return pick(random, 0, 0, Math.min(period, 1L << 50), (long) (Math.min(period, 1L << 50) * random.nextDouble() * 4), 5_000_000_000L);
    }

    static void move(Random random, long period, boolean wild) {
        long sane = Math.min(period, 1L << 50);
        long toBorder = period - Math.floorMod(clock, period);
        long step = pick(random, 0, 0, 0, 1, (long) (sane * random.nextDouble()), (long) (sane * random.nextDouble() * 6), toBorder, toBorder - 1);
        if (random.nextInt(30) == 0) {
            step = -(long) (sane * random.nextDouble() * 4);
        }
        if (wild && random.nextInt(10) == 0) {
            step = random.nextLong() >> (2 + random.nextInt(40));
        }
        long next = clock + step;
        if (((clock ^ next) & (step ^ next)) >= 0 && next != Long.MIN_VALUE && next != Long.MAX_VALUE) {
            clock = next;
        }
    }

    static long pick(Random random, long... values) {
        return values[random.nextInt(values.length)];
    }
}
