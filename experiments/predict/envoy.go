package predict

import (
	"maps"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/experiments"
)

// asking looks for calls that may ask an injector for faults of their own. Whether a SUT passes
// their headers on is not known, so that nothing of it is foreseen.
func asking(plan *experiments.Plan) []Warning {
	follows := slices.ContainsFunc(plan.Injectors, func(in experiments.Injector) bool { return in.EnvoyHeaders })
	var out []Warning
	for _, t := range plan.Targets {
		asks := slices.ContainsFunc(slices.Collect(maps.Keys(t.Headers)), func(name string) bool {
			return strings.HasPrefix(strings.ToLower(name), "x-envoy-fault-")
		})
		switch {
		case asks && follows:
			out = append(out, Warning{
				What:   "calls of target " + t.Name + " ask for faults by their own headers; what comes of it, where the service passes these on, is not foreseen here",
				Remedy: "write them as faults of a phase where a forecast is wanted",
			})
		case asks:
			out = append(out, Warning{
				What:   "calls of target " + t.Name + " ask for faults by their own headers, and no injector follows them",
				Remedy: "set envoy_headers: true at the injector that is meant",
			})
		}
	}
	return out
}
