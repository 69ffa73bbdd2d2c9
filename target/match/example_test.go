package match_test

import (
	"fmt"
	"net/http"

	"github.com/faultline-go/faultline/target/match"
)

// A call carries its identity in headers. The SUT begins a span of its own, and
// what reaches the dependency is still known.
func ExampleCorrelator() {
	c := match.Correlator{Run: 0xfa17, Phases: []string{"baseline", "outage"}}
	h := http.Header{}
	c.Carry(h.Set, 1, 7)
	fmt.Println(h.Get("traceparent"))

	passedOn := http.Header{"Traceparent": {"00-000000000000fa170001000000000007-b7ad6b7169203331-01"}}
	fmt.Println(c.Identify(match.Request{Header: passedOn}))
	fmt.Println(c.Identify(match.Request{Header: http.Header{"Traceparent": {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}}))
	// Output:
	// 00-000000000000fa170001000000000007-0000000000000008-01
	// outage/7 traceparent true
	//   false
}

// The first class that matches names an answer.
func ExampleClassifier_Classify() {
	classes, err := match.Classes{
		{Name: match.ClassPrimary, Status: []int{200}, JSONPath: map[string]any{"$.state": "PAID"}},
		{Name: match.ClassFallback, Status: []int{200, 202}, Header: map[string]string{"X-Source": "queue"}},
		{Name: match.ClassRejected, Status: []int{503}},
	}.Compile()
	if err != nil {
		fmt.Println(err)
	}
	queued := http.Header{"X-Source": {"queue"}}
	fmt.Println(classes.Classify(200, http.Header{}.Get, []byte(`{"state":"PAID"}`)))
	fmt.Println(classes.Classify(202, queued.Get, []byte(`{"state":"QUEUED"}`)))
	fmt.Println(classes.Classify(503, http.Header{}.Get, nil))
	fmt.Println(classes.Classify(500, http.Header{}.Get, nil))
	// Output:
	// primary
	// fallback
	// rejected
	// unclassified
}

// The words of a file say what counts as a failure.
func ExampleParseFailure() {
	f, err := match.ParseFailure([]string{"5xx", "429", "timeout", "slow > 2s"})
	fmt.Println(f, err)
	fmt.Println(f.Status(503), f.Status(404))
	_, err = match.ParseFailure([]string{"6xx"})
	fmt.Println(err)
	// Output:
	// 5xx, 429, timeout, slow>2s <nil>
	// true false
	// "6xx" is not a kind of failure; known are 5xx, a status such as 429, reset, eof, timeout, grpc, grpc:UNAVAILABLE, slow>2s
}
