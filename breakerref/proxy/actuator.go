package proxy

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// ActuatorPath is the path below which the actuator answers, if there is one.
const ActuatorPath = "/actuator"

// actuatorJSON is the media type of Spring Boot's actuator.
const actuatorJSON = "application/vnd.spring-boot.actuator.v3+json"

// largestUpdate bounds the body of an update in bytes.
const largestUpdate = 1 << 16

// actuatorParts returns the rest of the path below ActuatorPath, cut at its slashes and
// unescaped, or false if the path is not the actuator's.
func actuatorParts(u *url.URL) (rest []string, ok bool) {
	parts := strings.Split(u.EscapedPath(), "/")
	for i, part := range parts {
		plain, err := url.PathUnescape(part)
		if err != nil {
			return nil, false // The server has parsed it before.
		}
		parts[i] = plain
	}
	if len(parts) < 2 || "/"+parts[1] != ActuatorPath {
		return nil, false
	}
	return parts[2:], true
}

// endpoint is one of the actuator's.
type endpoint struct {
	method string
	serve  func(at *instance, w http.ResponseWriter, r *http.Request, rest []string)
}

// endpoint returns the endpoint of a path below ActuatorPath; its serve is nil if there
// is none.
func (p *Proxy) endpoint(rest []string) endpoint {
	if len(rest) == 0 {
		return endpoint{}
	}
	switch name, n := rest[0], len(rest); {
	case name == "circuitbreakers" && n == 1:
		return endpoint{http.MethodGet, p.serveBreakers}
	case name == "circuitbreakers" && n == 2:
		return endpoint{http.MethodPost, p.serveUpdate}
	case name == "circuitbreakerevents" && n <= 3:
		return endpoint{http.MethodGet, p.serveEvents}
	case name == "health" && n == 1:
		return endpoint{http.MethodGet, p.serveHealth}
	case name == "prometheus" && n == 1:
		return endpoint{http.MethodGet, p.servePrometheus}
	}
	return endpoint{}
}

// actuator answers a request for a path below ActuatorPath.
func (p *Proxy) actuator(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	e := p.endpoint(rest)
	switch {
	case e.serve == nil:
		p.refuse(w, r, http.StatusNotFound, "the actuator has no such endpoint; it has circuitbreakers, circuitbreakerevents, health and prometheus")
	case r.Method != e.method && (r.Method != http.MethodHead || e.method != http.MethodGet):
		w.Header().Set("Allow", e.method)
		p.refuse(w, r, http.StatusMethodNotAllowed, "the method must be "+e.method+", not "+r.Method)
	default:
		e.serve(at, w, r, rest)
	}
}

// refuse answers with an error as Spring Boot words it, and with what is wrong.
func (p *Proxy) refuse(w http.ResponseWriter, r *http.Request, status int, message string) {
	writeJSON(w, status, struct {
		Timestamp string `json:"timestamp"`
		Status    int    `json:"status"`
		Error     string `json:"error"`
		Message   string `json:"message"`
		Path      string `json:"path"`
	}{p.cfg.Now().UTC().Format("2006-01-02T15:04:05.000-07:00"), status, http.StatusText(status), message, r.URL.EscapedPath()})
}

// details is what the actuator tells of a breaker.
type details struct {
	FailureRate           string `json:"failureRate"`
	SlowCallRate          string `json:"slowCallRate"`
	FailureRateThreshold  string `json:"failureRateThreshold"`
	SlowCallRateThreshold string `json:"slowCallRateThreshold"`
	BufferedCalls         int    `json:"bufferedCalls"`
	FailedCalls           int    `json:"failedCalls"`
	SlowCalls             int    `json:"slowCalls"`
	SlowFailedCalls       int    `json:"slowFailedCalls"`
	NotPermittedCalls     int    `json:"notPermittedCalls"`
	State                 string `json:"state"`
}

func (l look) details() details {
	return details{
		FailureRate:           javaPercent(l.metrics.FailureRate),
		SlowCallRate:          javaPercent(l.metrics.SlowRate),
		FailureRateThreshold:  javaPercent(l.cfg.FailureRate),
		SlowCallRateThreshold: javaPercent(l.cfg.SlowRate),
		BufferedCalls:         l.metrics.Buffered,
		FailedCalls:           l.metrics.Failed,
		SlowCalls:             l.metrics.Slow,
		SlowFailedCalls:       l.metrics.SlowFailed,
		NotPermittedCalls:     l.metrics.NotPermitted,
		State:                 l.state.String(),
	}
}

// looks returns what there is to see of each breaker, sorted by name.
func (at *instance) looks() []look {
	all := make([]look, 0, len(at.watched))
	for _, b := range at.watched {
		all = append(all, b.look())
	}
	return all
}

func (p *Proxy) serveBreakers(at *instance, w http.ResponseWriter, _ *http.Request, _ []string) {
	all := make(map[string]details, len(at.watched)) // Its keys are sorted when it is written.
	for _, l := range at.looks() {
		all[l.name] = l.details()
	}
	writeActuator(w, map[string]any{"circuitBreakers": all})
}

// updates are the states that an operator may ask for. All of them can be entered from
// every state.
func updates() map[string]breakerref.State {
	return map[string]breakerref.State{
		"CLOSE": breakerref.Closed, "FORCE_OPEN": breakerref.ForcedOpen, "DISABLE": breakerref.Disabled,
	}
}

func (p *Proxy) serveUpdate(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	name := rest[1]
	var update struct {
		UpdateState string `json:"updateState"`
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, largestUpdate))
	if err == nil {
		err = json.Unmarshal(body, &update)
	}
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, `the body must be JSON such as {"updateState":"CLOSE"}: `+err.Error())
		return
	}
	to, ok := updates()[update.UpdateState]
	if !ok {
		p.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("updateState is %q, must be CLOSE, FORCE_OPEN or DISABLE", update.UpdateState))
		return
	}
	i := slices.IndexFunc(at.watched, func(b *breaker) bool { return b.name == name })
	if i < 0 {
		p.refuse(w, r, http.StatusNotFound, fmt.Sprintf("there is no circuit breaker %q, and none is created here; GET %s/circuitbreakers lists them", name, ActuatorPath))
		return
	}
	state, err := at.watched[i].move(to)
	if err != nil {
		p.refuse(w, r, http.StatusInternalServerError, err.Error())
		return
	}
	writeActuator(w, struct {
		Name    string `json:"circuitBreakerName"`
		State   string `json:"currentState"`
		Message string `json:"message"`
	}{name, state.String(), name + " state has been changed successfully"})
}

// event is an event as the actuator tells it.
type event struct {
	Name       string  `json:"circuitBreakerName"`
	Type       string  `json:"type"`
	Created    string  `json:"creationTime"`
	Error      *string `json:"errorMessage"`
	Duration   *int64  `json:"durationInMs"`
	Transition *string `json:"stateTransition"`
}

func newEvent(name string, e entry) event {
	told := event{Name: name, Type: e.Kind.String(), Created: javaTime(e.At)}
	if e.timed() {
		ms := e.took.Milliseconds()
		told.Duration = &ms
	}
	if e.reason != "" {
		told.Error = &e.reason
	}
	if e.Kind == breakerref.EventTransition {
		pair := e.From.String() + "_TO_" + e.To.String()
		told.Transition = &pair
	}
	return told
}

// eventTypes are the types that may be asked for. Resilience4j knows two more than it
// ever publishes.
func eventTypes() []string {
	all := []string{"FORCED_OPEN", "DISABLED"}
	for kind := breakerref.EventSuccess; kind <= breakerref.EventReset; kind++ {
		all = append(all, kind.String())
	}
	return all
}

// serveEvents answers with the events of all breakers, of one, or of one and a type. Those
// of all are in the order of their times, those of one breaker in the order in which it
// published them. A name that nobody has has no events.
func (p *Proxy) serveEvents(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	kind := ""
	if len(rest) == 3 {
		kind = strings.ToUpper(rest[2])
		if !slices.Contains(eventTypes(), kind) {
			p.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("the event type is %q, must be one of %s", rest[2], strings.Join(eventTypes(), ", ")))
			return
		}
	}
	type stamped struct {
		event
		at time.Time
	}
	var found []stamped
	for _, l := range at.looks() {
		if len(rest) > 1 && l.name != rest[1] {
			continue
		}
		for _, e := range l.journal.events {
			if kind == "" || e.Kind.String() == kind {
				found = append(found, stamped{newEvent(l.name, e), e.At})
			}
		}
	}
	if len(rest) == 1 {
		slices.SortStableFunc(found, func(a, b stamped) int { return a.at.Compare(b.at) })
	}
	told := make([]event, 0, len(found))
	for _, s := range found {
		told = append(told, s.event)
	}
	writeActuator(w, map[string]any{"circuitBreakerEvents": told})
}

// health is a component's health, as Spring Boot tells it.
type health struct {
	Status     string            `json:"status"`
	Components map[string]health `json:"components,omitempty"`
	Details    any               `json:"details,omitempty"`
}

// serveHealth answers 200 and UP whatever the breakers do: their own statuses are in no
// order of severity that Spring Boot knows, so that they do not bear on the whole.
func (p *Proxy) serveHealth(at *instance, w http.ResponseWriter, _ *http.Request, _ []string) {
	all := health{Status: "UNKNOWN"}
	each := make(map[string]health, len(at.watched))
	for _, l := range at.looks() {
		h := health{Status: "UNKNOWN", Details: l.details()}
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
	writeActuator(w, health{Status: "UP", Components: map[string]health{"circuitBreakers": all, "ping": {Status: "UP"}}})
}

// writeActuator sends what was asked for.
func writeActuator(w http.ResponseWriter, value any) {
	writeJSONAs(w, http.StatusOK, actuatorJSON, value)
}
