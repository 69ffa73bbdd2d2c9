package experiments

import "github.com/faultline-go/faultline/internal/yamldoc"

// envoyHeaders reads whether requests ask an injector for faults of their own.
func envoyHeaders(v yamldoc.Value, in Injector) bool {
	on := v.Bool(false)
	if on && in.TCP != nil {
		v.Problemf("is of requests, and this injector passes bytes on as they are; leave one of them out")
		return false
	}
	return on
}
