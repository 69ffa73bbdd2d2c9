package io.faultline.zoo.search;

import java.util.List;

/** What a caller gets: the results, and the source they came from ("primary" or "secondary"). */
record SearchAnswer(String source, List<Object> results) {}
