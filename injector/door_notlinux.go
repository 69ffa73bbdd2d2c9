//go:build unix && !linux

package injector

import (
	"errors"
	"fmt"
)

// fillBacklog is not possible here: the kernel answers where the queue is full.
func fillBacklog(string) (release func(), err error) {
	return nil, fmt.Errorf("connections that time out can be had on Linux only; use refuse, or hang: %w", errors.ErrUnsupported)
}
