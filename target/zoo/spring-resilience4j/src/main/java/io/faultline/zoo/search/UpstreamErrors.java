package io.faultline.zoo.search;

import io.github.resilience4j.circuitbreaker.CallNotPermittedException;
import org.springframework.http.HttpStatus;
import org.springframework.web.bind.annotation.ExceptionHandler;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestControllerAdvice;
import org.springframework.web.client.RestClientException;

/** Answers where no fallback did: 503 for a call the breaker refused, 502 for a primary that failed. */
@RestControllerAdvice
class UpstreamErrors {

    @ExceptionHandler
    @ResponseStatus(HttpStatus.SERVICE_UNAVAILABLE)
    Failure notPermitted(CallNotPermittedException refusal) {
        return new Failure("none", refusal.getMessage());
    }

    @ExceptionHandler
    @ResponseStatus(HttpStatus.BAD_GATEWAY)
    Failure primaryFailed(RestClientException failure) {
        return new Failure("none", failure.getMessage());
    }

    record Failure(String source, String error) {}
}
