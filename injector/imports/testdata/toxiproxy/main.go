// Command toxiproxy is the server of Toxiproxy alone, for tests that compare what becomes of
// its toxics with the original. It listens for its API at the address that it is given.
package main

import (
	"fmt"
	"os"

	"github.com/Shopify/toxiproxy/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
)

func main() {
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(prometheus.NewRegistry()), zerolog.Nop())
	if err := server.Listen(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
