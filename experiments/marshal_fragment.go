package experiments

import (
	"strconv"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// MarshalInjectors writes injectors, and all that their scripts have, as the faults of one
// phase, after a comment: two parts of an experiment. It returns an error only if the rules are
// no valid ones.
func MarshalInjectors(comment string, injectors []Injector) ([]byte, error) {
	o, n := &yamldoc.Out{}, 0
	var faults []*yamldoc.Out
	o.Put("injectors", injectorsOut(injectors))
	for _, in := range injectors {
		for _, rules := range in.Script.Phases {
			for _, r := range rules {
				r.ID = in.Name + "/" + strconv.Itoa(n)
				faults = append(faults, faultsOut(map[string][]fault.Rule{in.Name: {r}})...)
				n++
			}
		}
	}
	o.PutIf(len(faults) > 0, "faults", faults)
	return yamldoc.Marshal(comment, o)
}
