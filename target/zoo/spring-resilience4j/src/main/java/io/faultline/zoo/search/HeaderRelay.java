package io.faultline.zoo.search;

import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.springframework.http.HttpRequest;
import org.springframework.http.client.ClientHttpRequestExecution;
import org.springframework.http.client.ClientHttpRequestInterceptor;
import org.springframework.http.client.ClientHttpResponse;
import org.springframework.stereotype.Component;
import org.springframework.web.context.request.RequestContextHolder;
import org.springframework.web.context.request.ServletRequestAttributes;

/** Copies the identity of the incoming request to the outgoing one verbatim, so that the two can be joined. */
@Component
class HeaderRelay implements ClientHttpRequestInterceptor {

    private static final List<String> RELAYED = List.of("traceparent", "x-request-id");

    @Override
    public ClientHttpResponse intercept(HttpRequest request, byte[] body, ClientHttpRequestExecution execution)
            throws IOException {
        // The breaker is synchronous, so the call to the primary runs on the thread of the incoming request.
        if (RequestContextHolder.getRequestAttributes() instanceof ServletRequestAttributes incoming) {
            for (String name : RELAYED) {
                List<String> values = Collections.list(incoming.getRequest().getHeaders(name));
                if (!values.isEmpty()) {
                    request.getHeaders().put(name, values);
                }
            }
        }
        return execution.execute(request, body);
    }
}
