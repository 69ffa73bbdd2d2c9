package io.faultline.zoo.search;

import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

/** GET /search?q=.. */
@RestController
class SearchController {

    private final SearchService service;

    SearchController(SearchService service) {
        this.service = service;
    }

    @GetMapping("/search")
    SearchAnswer search(@RequestParam("q") String query) {
        return service.search(query);
    }
}
