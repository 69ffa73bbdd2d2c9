package io.faultline.zoo.quotes;

import io.github.resilience4j.circuitbreaker.CircuitBreakerConfig;
import io.github.resilience4j.circuitbreaker.event.CircuitBreakerOnStateTransitionEvent;
import io.github.resilience4j.timelimiter.TimeLimiterConfig;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import org.springframework.cloud.circuitbreaker.resilience4j.Resilience4JCircuitBreakerFactory;
import org.springframework.cloud.client.circuitbreaker.Customizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/** The breaker with numbers of its own; without this profile it is what Spring Cloud makes of nothing. */
@Configuration(proxyBeanMethods = false)
@Profile("quick")
class BreakerOfQuotes {

    @Bean
    Customizer<Resilience4JCircuitBreakerFactory> numbers() {
        return factory -> {
            factory.configure(builder -> builder
                    .circuitBreakerConfig(CircuitBreakerConfig.custom()
                            .slidingWindowSize(10)
                            .minimumNumberOfCalls(10)
                            .waitDurationInOpenState(Duration.ofMillis(600))
                            .permittedNumberOfCallsInHalfOpenState(3)
                            .build())
                    .timeLimiterConfig(TimeLimiterConfig.custom().timeoutDuration(Duration.ofSeconds(3)).build()), "quotes");
            factory.addCircuitBreakerCustomizer(
                    breaker -> breaker.getEventPublisher().onStateTransition(BreakerOfQuotes::tell), "quotes");
        };
    }

    /** Writes a change of the breaker's state down, with its instant. */
    private static void tell(CircuitBreakerOnStateTransitionEvent event) {
        String file = System.getenv("STATE_LOG");
        if (file == null) {
            return;
        }
        String line = event.getCreationTime().toOffsetDateTime() + " " + event.getStateTransition().getToState() + "\n";
        try {
            Files.writeString(Path.of(file), line, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (IOException e) {
            System.err.println("quotes: " + e);
        }
    }
}
