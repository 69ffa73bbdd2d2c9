package io.faultline.zoo.effective;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.github.resilience4j.springboot3.bulkhead.autoconfigure.BulkheadAutoConfiguration;
import io.github.resilience4j.springboot3.circuitbreaker.autoconfigure.CircuitBreakerAutoConfiguration;
import io.github.resilience4j.springboot3.ratelimiter.autoconfigure.RateLimiterAutoConfiguration;
import io.github.resilience4j.springboot3.retry.autoconfigure.RetryAutoConfiguration;
import io.github.resilience4j.springboot3.timelimiter.autoconfigure.TimeLimiterAutoConfiguration;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.springframework.boot.Banner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.ImportAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.StandardEnvironment;
import org.springframework.core.env.SystemEnvironmentPropertySource;

/**
 * Starts a Spring Boot application for each file that standard input names, with the real
 * auto-configuration, and prints what it is configured to as one line of JSON each:
 * {"file": ..., "profiles": [...], "env": {...}} gives what {@link Answer} has, or an error.
 */
public class Effective {

    /** The modules alone: everything else would only cost time. */
    @Configuration(proxyBeanMethods = false)
    @ImportAutoConfiguration({CircuitBreakerAutoConfiguration.class, RetryAutoConfiguration.class,
        BulkheadAutoConfiguration.class, RateLimiterAutoConfiguration.class, TimeLimiterAutoConfiguration.class})
    static class Modules {
    }

    public static void main(String[] args) throws Exception {
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err);
        var json = new ObjectMapper();
        for (String line; (line = in.readLine()) != null; ) {
            out.println(json.writeValueAsString(answer(json.readTree(line))));
        }
    }

    private static Map<String, Object> answer(JsonNode question) {
        var answer = new LinkedHashMap<String, Object>();
        answer.put("file", question.get("file").asText());
        try (var context = start(question)) {
            Answer.fill(answer, context);
        } catch (Throwable t) { // A cycle of configs is a StackOverflowError.
            answer.clear();
            answer.put("file", question.get("file").asText());
            answer.put("error", causes(t));
        }
        return answer;
    }

    private static ConfigurableApplicationContext start(JsonNode question) {
        Map<String, Object> env = new LinkedHashMap<>();
        question.path("env").fields().forEachRemaining(e -> env.put(e.getKey(), e.getValue().asText()));
        var environment = new StandardEnvironment();
        environment.getPropertySources().replace(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME,
            new SystemEnvironmentPropertySource(StandardEnvironment.SYSTEM_ENVIRONMENT_PROPERTY_SOURCE_NAME, env));
        List<String> args = new ArrayList<>();
        args.add("--spring.config.location=file:" + question.get("file").asText());
        List<String> profiles = new ArrayList<>();
        question.path("profiles").forEach(p -> profiles.add(p.asText()));
        if (!profiles.isEmpty()) {
            args.add("--spring.profiles.active=" + String.join(",", profiles));
        }
        var app = new SpringApplication(Modules.class);
        app.setEnvironment(environment);
        app.setWebApplicationType(WebApplicationType.NONE);
        app.setBannerMode(Banner.Mode.OFF);
        app.setLogStartupInfo(false);
        app.setRegisterShutdownHook(false);
        return app.run(args.toArray(String[]::new));
    }

    private static String causes(Throwable t) {
        var text = new StringBuilder();
        for (int i = 0; t != null && i < 12; t = t.getCause(), i++) {
            String message = String.valueOf(t.getMessage());
            text.append(i == 0 ? "" : " <- ").append(t.getClass().getSimpleName()).append(": ")
                .append(message, 0, Math.min(200, message.length()));
        }
        return text.toString();
    }
}
