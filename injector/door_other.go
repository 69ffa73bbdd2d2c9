//go:build !unix

package injector

import (
	"errors"
	"fmt"

	"github.com/faultline-go/faultline/injector/fault"
)

// CanShut reports why this system cannot do to those who connect what an action says, or nil.
func CanShut(a fault.Action) error {
	switch a {
	case fault.ActionRefuse:
		return fmt.Errorf("connections can be refused while the port is kept on Unix only; use close or reset: %w", errors.ErrUnsupported)
	case fault.ActionUnreachable:
		return fmt.Errorf("connections that time out can be had on Linux only; use hang: %w", errors.ErrUnsupported)
	}
	return nil
}

// holdPort is not possible here.
func holdPort(string) (release func(), err error) { return nil, CanShut(fault.ActionRefuse) }

// fillBacklog is not possible here.
func fillBacklog(string) (release func(), err error) { return nil, CanShut(fault.ActionUnreachable) }
