package io.faultline.zoo.search;

/** One search; a bean of its own, since the breaker's aspect sees only calls from one bean to another. */
interface SearchService {

    SearchAnswer search(String query);
}
