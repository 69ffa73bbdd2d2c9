package io.faultline.zoo;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.google.gson.annotations.SerializedName;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import rx.plugins.RxJavaHooks;

/**
 * Replays on the breakers themselves what a model says of them. Cases come on the standard input,
 * one JSON object a line, as replay_play_test.go of breakerref/model writes them. After each
 * operation the library has to look as the model did. The report goes to the standard output, the
 * first differences to the standard error. Exit code: 1 if there was a difference, or nothing to
 * replay.
 */
public final class Replay {
    private static final int TOLD = 3; // differences told of each library

    record Case(String library, JsonObject options, long start, List<Operation> operations) {}

    record Operation(@SerializedName("do") String what, long of, View model) {
        @Override
        public String toString() {
            return what + " " + of;
        }
    }

    /** What both a model and a library can show. */
    record View(List<String> answers, List<Long> waiting, String state, List<Long> counts) {}

    /** What became of the cases of a library. */
    private static final class Report {
        private long operations, cases, differences;
    }

    private final Gson gson = new Gson();
    private final Map<String, Report> reports = new TreeMap<>();
    private final Map<String, ClassLoader> loaders = new HashMap<>();

    private Replay() {}

    public static void main(String[] arguments) throws Exception {
        RxJavaHooks.setOnComputationScheduler(real -> Time.scheduler());
        Replay replay = new Replay();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            replay.play(replay.gson.fromJson(line, Case.class));
        }
        System.exit(replay.conclude() ? 0 : 1);
    }

    private Breaker make(Case c, Breaker.Answers answers) throws Exception {
        Time.begin(c.start());
        return switch (c.library()) {
            case "smallrye" -> new SmallRyeBreaker(c.options(), answers);
            case "hystrix-1.5.18", "hystrix-1.5.12" -> (Breaker) loader(c.library())
                .loadClass(HystrixBreaker.class.getName())
                .getConstructor(JsonObject.class, Breaker.Answers.class).newInstance(c.options(), answers);
            default -> throw new IllegalArgumentException("no library is called " + c.library());
        };
    }

    private ClassLoader loader(String library) throws Exception {
        ClassLoader loader = loaders.get(library);
        if (loader == null) {
            loader = new Stepped(here().resolveSibling("hystrix").resolve(library.replace("hystrix-", "hystrix-core-") + ".jar"));
            loaders.put(library, loader);
        }
        return loader;
    }

    private static Path here() throws URISyntaxException {
        return Path.of(Replay.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    }

    /** Replays a case up to the first difference. */
    private void play(Case c) throws Exception {
        Report report = reports.computeIfAbsent(c.library(), library -> new Report());
        report.cases++;
        TreeSet<String> answers = new TreeSet<>();
        Breaker breaker = make(c, new Breaker.Answers() {
            @Override
            public void admitted(int call) {
                answers.add(call + " admitted");
            }

            @Override
            public void rejected(int call) {
                answers.add(call + " rejected");
            }

            @Override
            public void wrong(int call, String what) {
                answers.add(call + " " + what);
            }
        });
        try {
            for (int i = 0; i < c.operations().size(); i++) {
                Operation op = c.operations().get(i);
                answers.clear();
                act(breaker, op, answers);
                View seen = new View(new ArrayList<>(answers), List.of(), breaker.state(), breaker.counts());
                report.operations++;
                if (seen.equals(op.model())) continue;
                if (++report.differences <= TOLD) tell(c, i, seen);
                return;
            }
        } finally {
            breaker.close();
        }
    }

    private static void act(Breaker breaker, Operation op, TreeSet<String> answers) {
        switch (op.what()) {
            case "ask" -> breaker.ask((int) op.of());
            case "look" -> answers.add("0 " + breaker.look());
            case "wait" -> breaker.pass(op.of());
            default -> breaker.end((int) op.of(), op.what());
        }
    }

    /** Tells a difference, and all that led to it. */
    private void tell(Case c, int at, View seen) {
        System.err.println(c.library() + " " + c.options()
            + "\n  operation " + at + " of: " + c.operations().subList(0, at + 1)
            + "\n  model:   " + gson.toJson(c.operations().get(at).model())
            + "\n  library: " + gson.toJson(seen));
    }

    /** Prints the report and says whether there was something to replay and no difference. */
    private boolean conclude() {
        boolean right = !reports.isEmpty();
        for (Map.Entry<String, Report> e : reports.entrySet()) {
            Report r = e.getValue();
            System.out.println(e.getKey() + ": replayed " + r.operations + " operations of " + r.cases + " cases, " + r.differences + " differences");
            right &= r.operations > 0 && r.differences == 0;
        }
        return right;
    }
}
