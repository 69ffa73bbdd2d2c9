package run

import (
	"testing"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
)

// What an experiment says of Envoy's headers comes to its injector.
func TestEnvoyHeadersOfAPlan(t *testing.T) {
	for _, want := range []bool{true, false} {
		var cfg injector.Config
		OfConnections(&cfg, experiments.Injector{EnvoyHeaders: want})
		if cfg.EnvoyHeaders != want {
			t.Errorf("%v, want %v", cfg.EnvoyHeaders, want)
		}
	}
}
