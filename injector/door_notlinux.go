//go:build unix && !linux

package injector

import (
	"errors"
	"fmt"

	"github.com/faultline-go/faultline/injector/fault"
)

// CanShut reports why this system cannot do to those who connect what an action says, or nil.
func CanShut(a fault.Action) error {
	if a == fault.ActionUnreachable {
		return fmt.Errorf("connections that time out can be had on Linux only; use refuse, or hang: %w", errors.ErrUnsupported)
	}
	return nil
}

// fillBacklog is not possible here: the kernel answers where the queue is full.
func fillBacklog(string) (release func(), err error) { return nil, CanShut(fault.ActionUnreachable) }
