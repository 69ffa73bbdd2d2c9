package predict

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// The header by which faultline's own service says where an answer comes from, and
// its values.
const (
	source         = "X-Faultline-Source"
	sourcePrimary  = "primary"
	sourceCache    = "cache"
	sourceFallback = "fallback"
	sourceNone     = "none"
)

// words is what the service answers. Of faultline's own service the answers are
// known, and get the class that the plan's classes give them. Of another one they
// are of the class that is declared for what they are.
type words struct {
	classifier match.Classifier
	teller     match.Teller
	ages       match.AgeReader
	tellsAge   bool // there are some
	classes    match.Classes
	known      map[said]answer
	empty      *fault.Respond         // of a fallback that has nothing
	fallback   *fault.Respond         // of what no route serves; nil: there is none
	empties    map[int]*fault.Respond // that have nothing but a status
	forbidden  []assert.FallbackForbidden
	timeouts   map[string]time.Duration // of a service whose inside is not known, by injector
}

// said is a canned answer from a source.
type said struct {
	respond *fault.Respond
	source  string
}

func newWords(plan *experiments.Plan) (*words, error) {
	c, err := plan.Classes.Compile()
	if err != nil {
		return nil, fmt.Errorf("read the classes: %w", err)
	}
	teller, err := match.NewTeller(plan.Reasons)
	if err != nil {
		return nil, fmt.Errorf("read the reasons: %w", err)
	}
	ages, err := match.NewAgeReader(plan.Ages())
	if err != nil {
		return nil, fmt.Errorf("read where answers say their age: %w", err)
	}
	w := &words{
		classifier: c, teller: teller, ages: ages, tellsAge: len(plan.Ages()) > 0, classes: plan.Classes,
		known: map[said]answer{}, empties: map[int]*fault.Respond{},
	}
	w.timeouts, _ = timeouts(plan)
	if ref := plan.SUT.Reference; ref != nil {
		w.fallback = ref.Fallback
	}
	for _, a := range plan.Assertions {
		if r, ok := a.Rule.(assert.FallbackForbidden); ok {
			w.forbidden = append(w.forbidden, r)
		}
	}
	return w, nil
}

// canned classifies an answer whose text is known.
func (w *words) canned(r *fault.Respond, from string) answer {
	key := said{r, from}
	if a, ok := w.known[key]; ok {
		return a
	}
	a := w.read(r, from, nil)
	w.known[key] = a
	return a
}

// read classifies an answer that has further headers.
func (w *words) read(r *fault.Respond, from string, more http.Header) answer {
	header := http.Header{}
	for k, v := range r.Headers {
		header.Set(k, v)
	}
	maps.Copy(header, more)
	header.Set(source, from)
	a := answer{status: r.Status, retryAfter: header.Get("Retry-After")}
	if r.RetryAfter != nil && !r.RetryAfter.Date {
		a.retryAfter = strconv.FormatInt(int64(r.RetryAfter.In/time.Second), 10)
	}
	if a.status == 0 {
		a.status = http.StatusOK
	}
	a.class = w.classifier.Classify(a.status, header.Get, []byte(r.Body))
	a.told = w.told(a.status, header.Get, []byte(r.Body))
	return a
}

// emptied is a fallback that has nothing and says that all is well.
func (w *words) emptied(r *fault.Respond) *fault.Respond {
	if w.empty == nil {
		w.empty = &fault.Respond{Headers: r.Headers, Body: "[]"}
	}
	return w.empty
}

// bare classifies an answer that has nothing but a status.
func (w *words) bare(status int) answer {
	header := http.Header{}
	header.Set(source, sourceNone)
	a := answer{status: status, class: w.classifier.Classify(status, header.Get, nil)}
	a.told = w.told(status, header.Get, nil)
	return a
}

// told is what an answer says of why it was given, and of its age, or nil.
func (w *words) told(status int, header func(string) string, body []byte) *trace.Told {
	reason, by := w.teller.Tell(status, header, body)
	ages := w.ages.Read(header, body)
	if reason == "" && ages == nil {
		return nil
	}
	return &trace.Told{Reason: reason, By: by, Ages: ages}
}

// of is an answer of a declared class.
func (w *words) of(class string, status int) (answer, bool) {
	c, ok := w.classes.Find(class)
	if ok && len(c.Status) > 0 {
		status = c.Status[0]
	}
	return answer{status: status, class: class}, ok
}

// primary is an answer of the dependency, passed on. Of one that faultline does not
// play it is not known what it says.
func (w *words) primary(r *reply) answer {
	if r != nil && r.answer != nil {
		return w.canned(r.answer, sourcePrimary)
	}
	if a, ok := w.of(match.ClassPrimary, http.StatusOK); ok {
		return a
	}
	return answer{status: http.StatusOK, class: match.Unclassified}
}

// foreign is what a service answers whose inside is not known.
func (w *words) foreign(r *request, o outcome, d defect) answer {
	fallback, has := w.of(match.ClassFallback, http.StatusOK)
	around := d.mutant.Around
	has = has && !d.noFallback && !around.NoFallback && !w.forbids(r.target)
	rejected, named := w.of(match.ClassRejected, http.StatusServiceUnavailable)
	switch {
	case o.good() && (!around.FallbackAlways || !has):
		return w.primary(nil)
	case has && around.EmptyFallback:
		return w.bare(http.StatusOK)
	case has:
		return fallback
	case o.why == refused && named:
		return rejected
	case o.why == refused:
		return w.bare(http.StatusServiceUnavailable)
	default:
		return answer{status: http.StatusBadGateway, class: w.bare(http.StatusBadGateway).class}
	}
}

// forbids reports whether an assertion forbids the fallback to a target.
func (w *words) forbids(t match.Target) bool {
	return slices.ContainsFunc(w.forbidden, func(f assert.FallbackForbidden) bool {
		method := len(f.Methods) == 0 || slices.ContainsFunc(f.Methods, func(m string) bool { return strings.EqualFold(m, t.Method) })
		route := len(f.Routes) == 0 || slices.ContainsFunc(f.Routes, func(r string) bool {
			return (fault.Match{Path: r}).Matches(fault.Request{Path: withoutQuery(t.Path)})
		})
		return method && route
	})
}

func withoutQuery(path string) string {
	path, _, _ = strings.Cut(path, "?")
	return path
}
