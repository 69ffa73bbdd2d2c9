package io.faultline.zoo.search;

import org.springframework.cache.annotation.EnableCaching;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Profile;

/**
 * Switches on the annotation at {@link PrimaryEngine#search}: answers are kept in memory for good. A service may want
 * that; whoever judges its breaker from outside has to notice that calls no longer reach the primary.
 */
@Configuration(proxyBeanMethods = false)
@EnableCaching
@Profile("cache")
class PrimaryCache {}
