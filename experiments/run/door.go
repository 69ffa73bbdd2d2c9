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
			for _, rule := range p.Faults[in.Name] {
				if !rule.Action.Door() {
					continue
				}
				err := injector.CanShut(rule.Action)
				if r.opt.Listen != nil && rule.Action != fault.ActionDeaf {
					err = fmt.Errorf("it needs the operating system's network: %w", errors.ErrUnsupported)
				}
				if err != nil {
					return &PreconditionError{What: fmt.Sprintf("phase %s: %s of %s cannot be had: %v", p.Name, rule.Action, in.Name, err)}
				}
			}
		}
	}
	return nil
}
