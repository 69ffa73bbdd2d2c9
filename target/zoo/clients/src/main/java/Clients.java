import java.io.ByteArrayInputStream;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.logging.LogManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Asks with the clients of Java what a plan says, and tells what each made of it. See README.md. */
public class Clients {
    /** A client that did not come back after so many times its patience is left behind. */
    static final long GUARD = 6;
    /** So many cases a client is asked at a time. */
    static final int AT_ONCE = 2;

    /** One line of the plan. */
    record Case(String id, String client, boolean h2, int patience, String calls, byte[] body, String ca, URI uri) {
        static Case of(String line) {
            String[] cells = line.split("\t", -1);
            return new Case(cells[0], cells[1], cells[2].equals("h2"), Integer.parseInt(cells[3]), cells[4],
                "x".repeat(Integer.parseInt(cells[5])).getBytes(), cells[6], URI.create(cells[7]));
        }

        boolean posts() {
            return body.length > 0;
        }

        /** Trusts the CA of the case alone; null: it is asked without TLS. */
        TrustManagerFactory trust() throws Exception {
            if (ca.isEmpty()) {
                return null;
            }
            KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
            store.load(null, null);
            int n = 0;
            var pem = new ByteArrayInputStream(Files.readAllBytes(Path.of(ca)));
            for (Certificate c : CertificateFactory.getInstance("X.509").generateCertificates(pem)) {
                store.setCertificateEntry("ca-" + n++, c);
            }
            var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(store);
            return trust;
        }

        SSLContext tls() throws Exception {
            var trust = trust();
            if (trust == null) {
                return SSLContext.getDefault();
            }
            SSLContext tls = SSLContext.getInstance("TLS");
            tls.init(null, trust.getTrustManagers(), null);
            return tls;
        }

        X509TrustManager trusted() throws Exception {
            return (X509TrustManager) trust().getTrustManagers()[0];
        }
    }

    /** A client that was made for one case. It returns a status and a number of bytes. */
    interface Client {
        String ask() throws Throwable;
    }

    interface Maker {
        Client of(Case c) throws Exception;
    }

    /** A lost patience that has no exception of its own. */
    static final class Late extends Exception {
        private static final long serialVersionUID = 1;

        Late(String name) {
            super(name);
        }
    }

    static Maker maker(String client) {
        return switch (client) {
            case "java HttpURLConnection" -> Asking::urlConnection;
            case "java HttpClient" -> Asking::httpClient;
            case "java Apache HttpClient 5" -> Asking::apache;
            case "java OkHttp" -> Asking::okHttp;
            case "grpc-java" -> Asking::grpc;
            default -> null;
        };
    }

    public static void main(String[] args) throws Exception {
        LogManager.getLogManager().reset(); // What clients log is not what they say to a program.
        List<Case> plan = new ArrayList<>();
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            plan.add(Case.of(line));
        }
        ask(plan.stream().filter(c -> c.patience > 1000).toList()); // They warm the clients up.
        System.out.println("ready");
        System.in.read();
        ask(plan.stream().filter(c -> c.patience <= 1000).toList());
        System.exit(0); // Clients that wait without an end have threads.
    }

    /** Asks all clients, side by side. */
    static void ask(List<Case> plan) throws InterruptedException {
        List<Thread> turns = new ArrayList<>();
        for (String name : plan.stream().map(Case::client).filter(n -> maker(n) != null).distinct().toList()) {
            var cases = new ConcurrentLinkedQueue<>(plan.stream().filter(c -> c.client.equals(name)).toList());
            for (int n = 0; n < AT_ONCE; n++) {
                Thread turn = new Thread(() -> {
                    for (Case c = cases.poll(); c != null; c = cases.poll()) {
                        tell(c);
                    }
                });
                turn.start();
                turns.add(turn);
            }
        }
        for (Thread turn : turns) {
            turn.join();
        }
    }

    static void tell(Case c) {
        String said = told(c);
        System.out.println(c.id + "\t" + said); // One write a line.
    }

    /** Asks in a thread of its own: a client that does not come back is left behind. */
    static String told(Case c) {
        var task = new FutureTask<String>(() -> {
            long began = System.nanoTime();
            try {
                Client client = maker(c.client).of(c);
                if (!c.calls.equals("1")) {
                    client.ask();
                }
                began = System.nanoTime();
                return "answer\t" + (c.calls.equals("1+2") ? both(client) : client.ask());
            } catch (Late e) {
                return "timeout\t" + e.getMessage();
            } catch (Throwable e) {
                return called(e, TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began) >= c.patience);
            }
        });
        Thread asking = new Thread(task);
        asking.setDaemon(true);
        asking.start();
        try {
            return task.get(GUARD * c.patience, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            return "none\t";
        } catch (InterruptedException | ExecutionException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Asks twice at once, and returns what the first was told. */
    static String both(Client client) throws Throwable {
        var first = new FutureTask<String>(() -> {
            try {
                return client.ask();
            } catch (Exception e) {
                throw e;
            } catch (Throwable e) {
                throw new IllegalStateException(e);
            }
        });
        Thread asking = new Thread(first);
        asking.setDaemon(true);
        asking.start();
        client.ask();
        return first.get();
    }

    /** The name that a program sees. Some clients have no name for a lost patience. */
    static String called(Throwable e, boolean waited) {
        if ((e instanceof CompletionException || e instanceof ExecutionException) && e.getCause() != null) {
            e = e.getCause();
        }
        String name = e.getClass().getSimpleName();
        boolean late = waited || name.contains("Timeout") || e instanceof java.io.InterruptedIOException;
        return (late ? "timeout\t" : "error\t") + (e instanceof Asking.Status ? e.getMessage() : name);
    }
}
