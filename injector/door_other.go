//go:build !unix

package injector

import (
	"errors"
	"fmt"
)

// holdPort is not possible here.
func holdPort(string) (release func(), err error) {
	return nil, fmt.Errorf("connections can be refused while the port is kept on Unix only; use close or reset: %w", errors.ErrUnsupported)
}

// fillBacklog is not possible here.
func fillBacklog(string) (release func(), err error) {
	return nil, fmt.Errorf("connections that time out can be had on Linux only; use hang: %w", errors.ErrUnsupported)
}
