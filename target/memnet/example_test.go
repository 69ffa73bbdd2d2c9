package memnet_test

import (
	"fmt"
	"io"
	"net/http"

	"github.com/faultline-go/faultline/target/memnet"
)

// A server and a client meet on a network of their own, under any host name.
func Example() {
	n := memnet.New(1)
	ln, err := n.Listen("tcp", "payments:80")
	if err != nil {
		fmt.Println(err)
		return
	}
	srv := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "charged by "+r.Host)
	})}
	go func() { _ = srv.Serve(ln) }()
	defer func() { _ = srv.Close() }()

	client := http.Client{Transport: &http.Transport{DialContext: n.DialContext}}
	resp, err := client.Get("http://payments/charge")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	fmt.Println(string(body), err)
	// Output: charged by payments <nil>
}
