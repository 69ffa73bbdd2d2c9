package io.faultline.zoo.search;

import java.net.http.HttpClient;
import org.springframework.boot.http.client.ClientHttpRequestFactoryBuilder;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The HTTP client below the injected RestClient.Builder: JDK, HTTP/1.1, one request on the wire per call. */
@Configuration(proxyBeanMethods = false)
class PrimaryHttp {

    /**
     * Takes from the JDK client its licence to send a GET again by itself, which it does when a kept-alive connection
     * is reset or closed before the first byte of an answer: the breaker would count one call and the primary two.
     * The client reads the property once, when its classes are loaded, so this has to come before the context starts.
     */
    static void forbidSilentRetries() {
        System.setProperty("jdk.httpclient.redirects.retrylimit", "1");
    }

    /** Timeouts and redirects come from spring.http.client.*; only the version has no property. */
    @Bean
    ClientHttpRequestFactoryBuilder<?> primaryRequestFactory() {
        return ClientHttpRequestFactoryBuilder.jdk()
                .withHttpClientCustomizer(client -> client.version(HttpClient.Version.HTTP_1_1));
    }
}
