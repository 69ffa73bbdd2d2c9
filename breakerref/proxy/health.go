package proxy

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/faultline-go/faultline/breakerref"
)

// health is a component's health, as Spring Boot tells it.
type health struct {
	Status     string            `json:"status"`
	Groups     []string          `json:"groups,omitempty"`
	Components map[string]health `json:"components,omitempty"`
	Details    any               `json:"details,omitempty"`
}

// healthDetails are details in the order in which Resilience4j's health indicator has them.
type healthDetails struct {
	FailureRate           string `json:"failureRate"`
	FailureRateThreshold  string `json:"failureRateThreshold"`
	SlowCallRate          string `json:"slowCallRate"`
	SlowCallRateThreshold string `json:"slowCallRateThreshold"`
	BufferedCalls         int    `json:"bufferedCalls"`
	SlowCalls             int    `json:"slowCalls"`
	SlowFailedCalls       int    `json:"slowFailedCalls"`
	FailedCalls           int    `json:"failedCalls"`
	NotPermittedCalls     int    `json:"notPermittedCalls"`
	State                 string `json:"state"`
}

func (d details) health() healthDetails {
	return healthDetails{
		d.FailureRate, d.FailureRateThreshold, d.SlowCallRate, d.SlowCallRateThreshold,
		d.BufferedCalls, d.SlowCalls, d.SlowFailedCalls, d.FailedCalls, d.NotPermittedCalls, d.State,
	}
}

// breakersHealth tells of all breakers. Their own statuses are in no order of severity
// that Spring Boot knows, so that they do not bear on the whole.
func (at *instance) breakersHealth() health {
	all := health{Status: "UNKNOWN"}
	each := make(map[string]health, len(at.watched))
	for _, l := range at.looks() {
		h := health{Status: "UNKNOWN", Details: l.details().health()}
		switch l.state {
		case breakerref.Closed:
			h.Status, all.Status = "UP", "UP"
		case breakerref.Open, breakerref.HalfOpen:
			h.Status = "CIRCUIT_" + l.state.String()
		case breakerref.Disabled, breakerref.MetricsOnly, breakerref.ForcedOpen:
		}
		each[l.name] = h
	}
	all.Details = each
	return all
}

// serveHealth answers 200 and UP whatever the breakers do. A path below it asks for a
// component or a group; slashes at its end do not count.
func (p *Proxy) serveHealth(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	up := health{Status: "UP"}
	components := map[string]health{"circuitBreakers": at.breakersHealth(), "livenessState": up, "ping": up, "readinessState": up}
	switch name := strings.TrimRight(strings.Join(rest[1:], "/"), "/"); name {
	case "":
		writeActuator(w, health{Status: "UP", Groups: []string{"liveness", "readiness"}, Components: components})
	case "liveness", "readiness":
		writeActuator(w, up)
	default:
		component, ok := components[name]
		if !ok {
			p.refuse(w, r, http.StatusNotFound, fmt.Sprintf("there is no component or group of health %q", name))
			return
		}
		writeActuator(w, component)
	}
}
