package proxy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

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
	pick   func(accepted []mediaRange) (media string) // "" if none of its own is accepted
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
		return endpoint{http.MethodGet, pickJSON, p.serveBreakers}
	case name == "circuitbreakers" && n == 2 && rest[1] != "":
		return endpoint{http.MethodPost, pickJSON, p.serveUpdate}
	case name == "circuitbreakerevents" && n <= 3 && !slices.Contains(rest, ""):
		return endpoint{http.MethodGet, pickJSON, p.serveEvents}
	case name == "health":
		return endpoint{http.MethodGet, pickJSON, p.serveHealth}
	case name == "prometheus" && n == 1:
		return endpoint{http.MethodGet, pickSeries, p.servePrometheus}
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
	case e.method == http.MethodPost && !sendsJSON(r):
		w.Header().Set("Accept", strings.Join(jsonTypes(), ", "))
		p.refuse(w, r, http.StatusUnsupportedMediaType, fmt.Sprintf("the body's Content-Type is %q, must be application/json", r.Header.Get("Content-Type")))
	case e.pick(ranges(r)) == "":
		p.refuse(w, r, http.StatusNotAcceptable, fmt.Sprintf("nothing of %q can be answered", r.Header.Values("Accept")))
	default:
		w.Header().Set("Content-Type", e.pick(ranges(r)))
		e.serve(at, w, r, rest)
	}
}

// sendsJSON reports whether a request says that its body is JSON; without a word of it,
// it is not.
func sendsJSON(r *http.Request) bool {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	return err == nil && slices.Contains(jsonTypes(), media)
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

// updates are the states that an operator may ask for, by their canonical names. All of
// them can be entered from every state.
func updates() map[string]breakerref.State {
	return map[string]breakerref.State{
		"close": breakerref.Closed, "forceopen": breakerref.ForcedOpen, "disable": breakerref.Disabled,
	}
}

// canonical is what Spring Boot compares the names of constants by: force-open and
// "Force open" are FORCE_OPEN.
func canonical(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// arguments returns what a request asks an update for. As in Spring Boot, the body's fields
// come before the path's name, and the query's parameters before both; a null is as good as
// none. An error says what is wrong with the body.
func arguments(r *http.Request, body []byte, name string) (map[string]string, error) {
	var fields map[string]any
	d := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(body, []byte("\ufeff"))))
	d.UseNumber()
	if err := d.Decode(&fields); err != nil && !errors.Is(err, io.EOF) { // What follows the object is not looked at there either.
		return nil, err
	}
	all := map[string]string{"name": name}
	for key, value := range fields {
		switch value.(type) {
		case nil:
			delete(all, key)
		case []any, map[string]any:
			return nil, fmt.Errorf("%s is neither a string, a number nor a boolean", key)
		default:
			all[key] = fmt.Sprint(value)
		}
	}
	for key, values := range r.URL.Query() {
		all[key] = values[0]
	}
	return all, nil
}

// index returns the place of a breaker among the watched, or -1.
func (at *instance) index(name string) int {
	return slices.IndexFunc(at.watched, func(b *breaker) bool { return b.name == name })
}

func (p *Proxy) serveUpdate(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	body, err := io.ReadAll(io.LimitReader(r.Body, largestUpdate+1))
	if len(body) > largestUpdate {
		p.refuse(w, r, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is longer than %d bytes", largestUpdate))
		return
	}
	asked := map[string]string{}
	if err == nil {
		asked, err = arguments(r, body, rest[1])
	}
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, `the body must be JSON such as {"updateState":"CLOSE"}: `+err.Error())
		return
	}
	name, named := asked["name"]
	update, given := asked["updateState"]
	to, known := updates()[canonical(update)]
	i := at.index(name)
	switch {
	case given && named && strings.TrimFunc(update, func(r rune) bool { return r <= ' ' }) == "":
		p.refuse(w, r, http.StatusInternalServerError, "updateState is empty, must be CLOSE, FORCE_OPEN or DISABLE")
		return
	case !known || !named:
		p.refuse(w, r, http.StatusBadRequest, fmt.Sprintf("updateState is %q, must be CLOSE, FORCE_OPEN or DISABLE, and the name must not be null", update))
		return
	case i < 0:
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

// serveEvents answers with the events of all breakers, of one, or of one and a type. A name
// that nobody has has no events, of whatever type.
func (p *Proxy) serveEvents(at *instance, w http.ResponseWriter, r *http.Request, rest []string) {
	name, kind := "", ""
	if len(rest) > 1 {
		name = rest[1]
	}
	if len(rest) > 2 {
		kind = strings.ToUpper(rest[2])
		if at.index(name) >= 0 && !slices.Contains(eventTypes(), kind) {
			p.refuse(w, r, http.StatusInternalServerError, fmt.Sprintf("the event type is %q, must be one of %s", rest[2], strings.Join(eventTypes(), ", ")))
			return
		}
	}
	writeActuator(w, map[string]any{"circuitBreakerEvents": at.events(name, kind)})
}

// events returns the events of a breaker, or of all if name is empty, and of a type, or of
// all if it is empty. Those of all breakers are in the order of their times, those of one
// in the order in which it published them.
func (at *instance) events(name, kind string) []event {
	type stamped struct {
		event
		at time.Time
	}
	var found []stamped
	for _, l := range at.looks() {
		if name != "" && l.name != name {
			continue
		}
		for _, e := range l.journal.events {
			if kind == "" || e.Kind.String() == kind {
				found = append(found, stamped{newEvent(l.name, e), e.At})
			}
		}
	}
	if name == "" {
		slices.SortStableFunc(found, func(a, b stamped) int { return a.at.Compare(b.at) })
	}
	told := make([]event, 0, len(found))
	for _, s := range found {
		told = append(told, s.event)
	}
	return told
}

// writeActuator sends what was asked for, as the type that was picked for it.
func writeActuator(w http.ResponseWriter, value any) {
	writeJSONAs(w, http.StatusOK, w.Header().Get("Content-Type"), value)
}
