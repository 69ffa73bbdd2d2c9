// Command quotes is a quote service that asks its dependency behind a circuit
// breaker of github.com/failsafe-go/failsafe-go. It knows nothing of faultline.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/circuitbreaker"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "quotes:", err)
		os.Exit(1)
	}
}

// run serves until a signal comes.
func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	port, url := os.Getenv("PORT"), os.Getenv("DEPENDENCY_URL")
	if port == "" || url == "" {
		return errors.New("PORT and DEPENDENCY_URL are needed")
	}
	told, err := logOf(os.Getenv("STATE_LOG"))
	if err != nil {
		return err
	}
	guard := failsafe.With[any](circuitbreaker.NewBuilder[any]().
		WithFailureThreshold(5).
		WithDelay(600 * time.Millisecond).
		WithSuccessThreshold(3).
		OnStateChanged(told.changed).
		Build())
	mux := http.NewServeMux()
	mux.Handle("GET /quote", &quotes{url: url, guard: guard, http: http.Client{Timeout: 2 * time.Second}})
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
