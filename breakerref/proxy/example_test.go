package proxy_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/proxy"
	"github.com/faultline-go/faultline/target/match"
)

// A service whose breaker opens after four failures, in front of a dependency that
// always fails.
func ExampleStart() {
	arrived := 0
	dependency := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		arrived++
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer dependency.Close()
	breaker := breakerref.Default()
	breaker.Window, breaker.MinimumCalls = 4, 4
	p, err := proxy.Start(context.Background(), proxy.Config{
		Addr: "127.0.0.1:0",
		Service: proxy.Service{
			Upstream: dependency.URL, Breaker: breaker, Failure: match.DefaultFailure(), Timeout: time.Second,
			Fallback: &proxy.Answer{Body: "QUEUED"},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = p.Close() }() // Nobody listens to it any more.
	for range 10 {
		resp, err := http.Get(p.URL() + "/checkout")
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = resp.Body.Close() // Only where it came from counts.
		fmt.Print(resp.Header.Get(proxy.Source), " ")
	}
	fmt.Println(arrived, p.State())
	// Output: fallback fallback fallback fallback fallback fallback fallback fallback fallback fallback 4 OPEN
}
