package control

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// State is the body of GET /v1/state.
type State struct {
	Epoch     time.Time     `json:"epoch"`    // offset 0 of the ledger
	Now       time.Duration `json:"now"`      // the offset of this state
	Recorded  int           `json:"recorded"` // lines in the ledger
	Order     []string      `json:"order"`    // of the phases
	Injectors []Injector    `json:"injectors"`
}

// Injector is one injector's part of a state.
type Injector struct {
	injector.State

	ETag string `json:"etag"` // of its plan
}

// NewFault is the body of POST /v1/faults.
type NewFault struct {
	Rule fault.Rule `json:"rule"`
	TTL  string     `json:"ttl"` // as 30s or 1m30s
}

// AddedFault is what it answers.
type AddedFault struct {
	ID    string    `json:"id"`
	Until time.Time `json:"until"` // not later than this
}

// PlanSet is what PUT /v1/plan answers.
type PlanSet struct {
	Injector string `json:"injector"`
	Plan     uint64 `json:"plan"`
}

// PhaseChange is the body of POST /v1/phase: one of the two.
type PhaseChange struct {
	Name *string `json:"name,omitempty"`
	Next bool    `json:"next,omitempty"`
}

// PhaseSet is what it answers.
type PhaseSet struct {
	Phase string `json:"phase"`
}

// LeaseSet is what POST /v1/lease answers.
type LeaseSet struct {
	Until  time.Time `json:"until"`
	Lapsed bool      `json:"lapsed"` // it had lapsed before, and faults are off until a phase is entered
}

// Cleared is what a clear answers.
type Cleared struct {
	Cleared []string `json:"cleared"` // the injectors
}

func (s *Server) state() State {
	st := State{
		Epoch: s.cfg.Recorder.Epoch(), Now: s.cfg.Recorder.Since(time.Now()), Recorded: s.cfg.Recorder.Recorded(), Order: s.order(),
	}
	for _, i := range s.cfg.Injectors {
		st.Injectors = append(st.Injectors, stateOf(i))
	}
	return st
}

// stateOf is one injector's part, of one plan: a tag that goes with another one would let somebody replace
// what he has not seen.
func stateOf(i *injector.Injector) Injector {
	for {
		tag, version := etag(i)
		if st := i.State(); st.Plan == version {
			return Injector{State: st, ETag: tag}
		}
	}
}

// order is that of the phases.
func (s *Server) order() []string {
	if s.cfg.Order != nil {
		return s.cfg.Order
	}
	all := []string{}
	for _, i := range s.cfg.Injectors {
		all = append(all, i.State().Phases...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (s *Server) getState(http.ResponseWriter, *http.Request) (*result, *problem) {
	return ok(s.state()), nil
}

// one is the injector that a request names, or the only one.
func (s *Server) one(r *http.Request) (*injector.Injector, *problem) {
	name := r.URL.Query().Get("injector")
	var names []string
	for _, i := range s.cfg.Injectors {
		own := i.State().Injector
		if own == name || name == "" && len(s.cfg.Injectors) == 1 {
			return i, nil
		}
		names = append(names, own)
	}
	if name == "" {
		return nil, refuse(http.StatusBadRequest, "which_injector", "there are several injectors; add ?injector= and one of "+strings.Join(names, ", "))
	}
	return nil, refuse(http.StatusNotFound, "unknown_injector", fmt.Sprintf("there is no injector %q; there are %s", name, strings.Join(names, ", ")))
}

// etag is that of the plan in force, and the plan's number.
func etag(i *injector.Injector) (tag string, version uint64) {
	_, version, sum := i.Plan()
	return etagOf(version, sum), version
}

func etagOf(version, sum uint64) string { return fmt.Sprintf(`"%d-%016x"`, version, sum) }

func (s *Server) getPlan(_ http.ResponseWriter, r *http.Request) (*result, *problem) {
	i, p := s.one(r)
	if p != nil {
		return nil, p
	}
	text, version, sum := i.Plan()
	return &result{status: http.StatusOK, etag: etagOf(version, sum), text: text, kind: "application/json"}, nil
}

func (s *Server) putPlan(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	i, p := s.one(r)
	if p != nil {
		return nil, p
	}
	var script fault.Script
	if p := read(w, r, maxPlan, false, &script); p != nil {
		return nil, p
	}
	for _, rules := range script.Phases {
		for k := range rules {
			forAll(&rules[k])
		}
	}
	version := uint64(0)
	if conditions := r.Header.Values("If-Match"); len(conditions) > 0 { // Also one that says nothing is a condition.
		tag, now := etag(i)
		if !matches(conditions, tag) {
			return nil, stale(tag)
		}
		version = now
	}
	if p := tooMany(script); p != nil {
		return nil, p
	}
	now, sum, err := i.ReplaceIf(version, script)
	tag := etagOf(now, sum)
	if p := refused(err); p != nil {
		p.etag = tag
		return nil, p
	}
	return &result{status: http.StatusOK, etag: tag, body: PlanSet{Injector: i.State().Injector, Plan: now}}, nil
}

// forAll has a rule that says nothing of whom it selects be for all requests that match.
func forAll(r *fault.Rule) {
	if reflect.ValueOf(r.Select).IsZero() {
		r.Select.Kind = fault.SelectAll
	}
}

// matches reports whether a tag is in the lists of If-Match (RFC 9110, section 13.1.1).
// Weak tags match nothing.
func matches(lists []string, tag string) bool {
	for _, list := range lists {
		for each := range strings.SplitSeq(list, ",") {
			if each = strings.TrimSpace(each); each == tag || each == "*" {
				return true
			}
		}
	}
	return false
}

func stale(tag string) *problem {
	p := refuse(http.StatusPreconditionFailed, "stale", injector.ErrStale.Error())
	p.etag = tag
	return p
}

// refused is what an injector's error is to the caller.
func refused(err error) *problem {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, injector.ErrStale):
		return stale("")
	case errors.Is(err, injector.ErrLapsed):
		return refuse(http.StatusConflict, "lapsed", injector.ErrLapsed.Error())
	case errors.Is(err, injector.ErrNoLease):
		return refuse(http.StatusConflict, "no_lease", injector.ErrNoLease.Error())
	case errors.Is(err, errors.ErrUnsupported):
		return refuse(http.StatusNotImplemented, "unsupported", err.Error())
	}
	p := refuse(http.StatusUnprocessableEntity, "invalid", "it is not valid, and nothing was changed")
	p.Problems = reasons(err)
	return p
}

// reasons are the parts of an error that joins several, or the one that it has.
func reasons(err error) []string {
	if joined, ok := errors.AsType[interface {
		error
		Unwrap() []error
	}](err); ok {
		var all []string
		for _, each := range joined.Unwrap() {
			all = append(all, reasons(each)...)
		}
		return all
	}
	return []string{err.Error()}
}

// mostRules is how many faults a plan has at most: each one of a phase may be asked about
// every request.
const mostRules = 1000

func tooMany(script fault.Script) *problem {
	n := 0
	for _, rules := range script.Phases {
		n += len(rules)
	}
	if n <= mostRules {
		return nil
	}
	return refuse(http.StatusUnprocessableEntity, "invalid", fmt.Sprintf("the plan has %d faults; it may have %d", n, mostRules))
}

func (s *Server) postFault(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	i, p := s.one(r)
	if p != nil {
		return nil, p
	}
	var body NewFault
	if p := read(w, r, maxBody, false, &body); p != nil {
		return nil, p
	}
	ttl, err := time.ParseDuration(body.TTL)
	if err != nil {
		return nil, refuse(http.StatusUnprocessableEntity, "invalid", fmt.Sprintf("ttl %q: a fault needs a time to live, as 30s, and at most %v", body.TTL, injector.MostTTL))
	}
	forAll(&body.Rule)
	id, err := i.Apply(body.Rule, ttl)
	if err != nil {
		return nil, refused(err)
	}
	return &result{status: http.StatusCreated, body: AddedFault{ID: id, Until: time.Now().Add(ttl)}}, nil
}

func (s *Server) postClear(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	if p := read(w, r, maxBody, true, &struct{}{}); p != nil {
		return nil, p
	}
	return s.clearFaults(w, r)
}

// clearFaults clears the injector that is named, or all.
func (s *Server) clearFaults(_ http.ResponseWriter, r *http.Request) (*result, *problem) {
	those := s.cfg.Injectors
	if r.URL.Query().Has("injector") {
		i, p := s.one(r)
		if p != nil {
			return nil, p
		}
		those = []*injector.Injector{i}
	}
	body := Cleared{}
	var errs []error
	for _, i := range those {
		errs = append(errs, i.Clear())
		body.Cleared = append(body.Cleared, i.State().Injector)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, refuse(http.StatusInternalServerError, "door", err.Error())
	}
	return ok(body), nil
}

func (s *Server) postPhase(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	var body PhaseChange
	if p := read(w, r, maxBody, false, &body); p != nil {
		return nil, p
	}
	if body.Next == (body.Name != nil) {
		return nil, refuse(http.StatusUnprocessableEntity, "invalid", `write the name of a phase, or "next": true`)
	}
	// One after the other: of two who both want the next one, the second means the one after it, and all
	// injectors are to be in the same.
	s.entering.Lock()
	defer s.entering.Unlock()
	var name string
	order := s.order()
	if body.Next {
		at := slices.Index(order, s.cfg.Injectors[0].State().Phase) + 1
		if at >= len(order) {
			return nil, refuse(http.StatusConflict, "no_next", "there is no further phase")
		}
		name = order[at]
	} else if name = *body.Name; name != "" && !slices.Contains(order, name) && !s.planned(name) {
		return nil, refuse(http.StatusNotFound, "unknown_phase", fmt.Sprintf("there is no phase %q; there are %s", name, strings.Join(order, ", ")))
	}
	if err := s.cfg.Enter(r.Context(), name); err != nil {
		return nil, refused(err)
	}
	return ok(PhaseSet{Phase: name}), nil
}

// planned reports whether a plan has faults for a phase.
func (s *Server) planned(phase string) bool {
	return slices.ContainsFunc(s.cfg.Injectors, func(i *injector.Injector) bool { return i.Faulty(phase) })
}

// enter enters a phase everywhere. A fault's mark encloses its effect: on before, off after
// the switch.
func (s *Server) enter(_ context.Context, name string) error {
	rec := s.cfg.Recorder
	var errs []error
	for _, i := range s.cfg.Injectors {
		was := i.State()
		mark := func(kind trace.MarkKind, phase string) {
			if i.Faulty(phase) {
				rec.Mark(trace.Mark{At: rec.Since(time.Now()), Kind: kind, Subject: was.Injector, Text: phase})
			}
		}
		mark(trace.MarkFaultOn, name)
		errs = append(errs, i.Enter(name))
		mark(trace.MarkFaultOff, was.Phase)
	}
	return errors.Join(errs...)
}

func (s *Server) postLease(w http.ResponseWriter, r *http.Request) (*result, *problem) {
	if p := read(w, r, maxBody, true, &struct{}{}); p != nil {
		return nil, p
	}
	var body LeaseSet
	for _, i := range s.cfg.Injectors {
		err := i.Renew()
		if errors.Is(err, injector.ErrLapsed) {
			body.Lapsed = true
		} else if err != nil {
			return nil, refused(err)
		}
		body.Until = i.State().Lease.Until
	}
	return ok(body), nil
}
