import io.grpc.CallOptions;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.stub.ClientCalls;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.HttpURLConnection;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.HttpsURLConnection;
import okhttp3.OkHttpClient;
import okhttp3.Protocol;
import okhttp3.Request;
import okhttp3.RequestBody;
import org.apache.hc.client5.http.async.methods.SimpleHttpRequest;
import org.apache.hc.client5.http.async.methods.SimpleRequestBuilder;
import org.apache.hc.client5.http.classic.methods.HttpUriRequestBase;
import org.apache.hc.client5.http.config.ConnectionConfig;
import org.apache.hc.client5.http.config.RequestConfig;
import org.apache.hc.client5.http.impl.DefaultHttpRequestRetryStrategy;
import org.apache.hc.client5.http.impl.async.HttpAsyncClients;
import org.apache.hc.client5.http.impl.classic.HttpClients;
import org.apache.hc.client5.http.impl.io.PoolingHttpClientConnectionManagerBuilder;
import org.apache.hc.client5.http.ssl.ClientTlsStrategyBuilder;
import org.apache.hc.client5.http.ssl.DefaultClientTlsStrategy;
import org.apache.hc.core5.http.ContentType;
import org.apache.hc.core5.http.io.entity.ByteArrayEntity;
import org.apache.hc.core5.http.io.entity.EntityUtils;
import org.apache.hc.core5.reactor.IOReactorConfig;
import org.apache.hc.core5.util.TimeValue;
import org.apache.hc.core5.util.Timeout;

/** How each client is made and asked. All are as they come, but for the times that they wait. */
final class Asking {
    private Asking() {
    }

    /** A status of gRPC other than OK. */
    static final class Status extends Exception {
        private static final long serialVersionUID = 1;

        Status(String code) {
            super(code);
        }
    }

    static String said(int status, int bytes) {
        return status + ", " + bytes + " bytes";
    }

    static Clients.Client urlConnection(Clients.Case c) throws Exception {
        var sockets = c.tls().getSocketFactory();
        return () -> {
            HttpURLConnection connection = (HttpURLConnection) c.uri().toURL().openConnection();
            if (connection instanceof HttpsURLConnection secure) {
                secure.setSSLSocketFactory(sockets);
            }
            connection.setConnectTimeout(c.patience());
            connection.setReadTimeout(c.patience());
            if (c.posts()) {
                connection.setDoOutput(true);
                connection.getOutputStream().write(c.body());
            }
            int status = connection.getResponseCode();
            InputStream body = status < 400 ? connection.getInputStream() : connection.getErrorStream();
            return said(status, body.readAllBytes().length);
        };
    }

    static Clients.Client httpClient(Clients.Case c) throws Exception {
        var client = HttpClient.newBuilder().sslContext(c.tls()).connectTimeout(Duration.ofMillis(c.patience()))
            .version(c.h2() ? HttpClient.Version.HTTP_2 : HttpClient.Version.HTTP_1_1).build();
        var request = HttpRequest.newBuilder(c.uri()).timeout(Duration.ofMillis(c.patience()));
        if (c.posts()) {
            request.POST(HttpRequest.BodyPublishers.ofByteArray(c.body()));
        }
        return () -> {
            var answer = client.send(request.build(), HttpResponse.BodyHandlers.ofByteArray());
            return said(answer.statusCode(), answer.body().length);
        };
    }

    /** Resends as the default does, but does not wait a second before. */
    static DefaultHttpRequestRetryStrategy soon() {
        return new DefaultHttpRequestRetryStrategy(1, TimeValue.ofMilliseconds(10));
    }

    static Clients.Client apache(Clients.Case c) throws Exception {
        return c.h2() ? apacheH2(c) : apacheH1(c);
    }

    static Clients.Client apacheH1(Clients.Case c) throws Exception {
        Timeout patience = Timeout.ofMilliseconds(c.patience());
        var connections = PoolingHttpClientConnectionManagerBuilder.create().setTlsSocketStrategy(new DefaultClientTlsStrategy(c.tls()))
            .setDefaultConnectionConfig(ConnectionConfig.custom().setConnectTimeout(patience).setSocketTimeout(patience).build()).build();
        var client = HttpClients.custom().setConnectionManager(connections).setRetryStrategy(soon())
            .setDefaultRequestConfig(RequestConfig.custom().setResponseTimeout(patience).build()).build();
        return () -> {
            var request = new HttpUriRequestBase(c.posts() ? "POST" : "GET", c.uri());
            if (c.posts()) {
                request.setEntity(new ByteArrayEntity(c.body(), ContentType.TEXT_PLAIN));
            }
            return client.execute(request, answer -> {
                byte[] body = answer.getEntity() == null ? new byte[0] : EntityUtils.toByteArray(answer.getEntity());
                return said(answer.getCode(), body.length);
            });
        };
    }

    static Clients.Client apacheH2(Clients.Case c) throws Exception {
        Timeout patience = Timeout.ofMilliseconds(c.patience());
        var client = HttpAsyncClients.customHttp2().setRetryStrategy(soon())
            .setTlsStrategy(ClientTlsStrategyBuilder.create().setSslContext(c.tls()).buildAsync())
            .setIOReactorConfig(IOReactorConfig.custom().setSoTimeout(patience).setIoThreadCount(1).build())
            .setDefaultConnectionConfig(ConnectionConfig.custom().setConnectTimeout(patience).setSocketTimeout(patience).build())
            .setDefaultRequestConfig(RequestConfig.custom().setResponseTimeout(patience).build()).build();
        client.start();
        return () -> {
            SimpleHttpRequest request = SimpleRequestBuilder.create(c.posts() ? "POST" : "GET").setUri(c.uri()).build();
            if (c.posts()) {
                request.setBody(c.body(), ContentType.TEXT_PLAIN);
            }
            var answer = client.execute(request, null).get();
            return said(answer.getCode(), answer.getBodyBytes() == null ? 0 : answer.getBodyBytes().length);
        };
    }

    static Clients.Client okHttp(Clients.Case c) throws Exception {
        Duration patience = Duration.ofMillis(c.patience());
        var builder = new OkHttpClient.Builder().connectTimeout(patience).readTimeout(patience).writeTimeout(patience)
            .protocols(c.h2() ? List.of(Protocol.HTTP_2, Protocol.HTTP_1_1) : List.of(Protocol.HTTP_1_1));
        if (!c.ca().isEmpty()) {
            builder.sslSocketFactory(c.tls().getSocketFactory(), c.trusted());
        }
        OkHttpClient client = builder.build();
        var request = new Request.Builder().url(c.uri().toURL());
        if (c.posts()) {
            request.post(RequestBody.create(c.body()));
        }
        return () -> {
            try (var answer = client.newCall(request.build()).execute()) {
                return said(answer.code(), answer.body().bytes().length);
            }
        };
    }

    /** Takes bytes for messages. */
    static final class AsIs implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] message) {
            return new ByteArrayInputStream(message);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }

    static Clients.Client grpc(Clients.Case c) {
        var channel = NettyChannelBuilder.forAddress(c.uri().getHost(), c.uri().getPort()).usePlaintext().build();
        var method = MethodDescriptor.<byte[], byte[]>newBuilder(new AsIs(), new AsIs())
            .setType(MethodDescriptor.MethodType.UNARY).setFullMethodName("zoo.Prices/Ask").build();
        return () -> {
            try {
                var options = CallOptions.DEFAULT.withDeadlineAfter(c.patience(), TimeUnit.MILLISECONDS);
                return "OK, " + ClientCalls.blockingUnaryCall(channel, method, options, new byte[0]).length + " bytes";
            } catch (StatusRuntimeException e) {
                String code = e.getStatus().getCode().name();
                if (e.getStatus().getCode() == io.grpc.Status.Code.DEADLINE_EXCEEDED) {
                    throw new Clients.Late(code);
                }
                throw new Status(code);
            }
        };
    }
}
