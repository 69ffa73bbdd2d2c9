//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// survive makes a reader that went away and a limit on the size of files errors of
// the write, where they would end the program in the middle of a run. The signals
// are caught and not ignored, since a launched service would inherit that.
func survive() (stop func()) {
	caught := make(chan os.Signal, 1) // Nobody looks at it.
	signal.Notify(caught, syscall.SIGPIPE, syscall.SIGXFSZ)
	return func() { signal.Stop(caught) }
}
