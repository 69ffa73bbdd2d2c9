package run

import (
	"errors"
	"fmt"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// shuttable says before anything is started which door of the plan cannot be had here, not
// when its phase begins.
func (r *runner) shuttable() error {
	for _, p := range r.plan.Phases {
		for _, in := range r.plan.Injectors {
			if err := r.canShut(p.Faults[in.Name]); err != nil {
				return &PreconditionError{What: fmt.Sprintf("phase %s: a fault of %s cannot be had: %v", p.Name, in.Name, err)}
			}
		}
	}
	return nil
}

// canShut says why a door among these faults cannot be had here.
func (r *runner) canShut(rules []fault.Rule) error {
	for _, rule := range rules {
		switch a := rule.Action; {
		case !a.Door():
		case r.opt.Listen != nil && a != fault.ActionDeaf:
			return fmt.Errorf("%s needs the operating system's network: %w", a, errors.ErrUnsupported)
		default:
			if err := injector.CanShut(a); err != nil {
				return fmt.Errorf("%s: %w", a, err)
			}
		}
	}
	return nil
}
