// Command pricing is a price service that asks for a rate behind a circuit
// breaker of github.com/sony/gobreaker. It knows nothing of faultline.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "pricing:", err)
		os.Exit(1)
	}
}

// run serves until a signal comes.
func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	port, rates := os.Getenv("PORT"), os.Getenv("RATES_URL")
	if port == "" || rates == "" {
		return errors.New("PORT and RATES_URL are needed")
	}
	log, err := stateLog(os.Getenv("STATE_LOG"))
	if err != nil {
		return err
	}
	guard, err := guardOf(os.Getenv("PROFILE"), log)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /price", &prices{rates: &rateClient{url: rates, http: http.Client{Timeout: 2 * time.Second}}, guard: guard})
	mux.HandleFunc("GET /ready", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	srv := &http.Server{Addr: net.JoinHostPort("127.0.0.1", port), Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.ListenAndServe() }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		return srv.Close()
	}
}

// stateLog opens the file at a path for the breaker's changes of state; without a path
// they are not kept.
func stateLog(path string) (io.Writer, error) {
	if path == "" {
		return io.Discard, nil
	}
	return os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
}
