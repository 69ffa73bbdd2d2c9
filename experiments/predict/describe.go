package predict

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// loadWords says what a phase sends.
func loadWords(p experiments.Phase) string {
	arrivals := ""
	if p.Poisson {
		arrivals = ", at random"
	}
	switch {
	case p.Calls != nil:
		return callsWords(*p.Calls)
	case p.Clients != nil:
		return clientsWords(*p.Clients)
	case p.Sessions != nil:
		return sessionsWords(*p.Sessions)
	case p.Burst != nil:
		return fmt.Sprintf("%d at once, every %s", p.Burst.Calls, p.Burst.Every)
	case p.Ramp != nil:
		return rateWords(p.Ramp.From) + " to " + rateWords(p.Ramp.To) + arrivals
	case len(p.Steps) > 0:
		parts := make([]string, 0, len(p.Steps))
		for _, s := range p.Steps {
			parts = append(parts, rateWords(s.Rate))
		}
		return strings.Join(parts, ", then ") + arrivals
	case pause(p):
		return "none"
	}
	return rateWords(p.Rate) + arrivals
}

func callsWords(c experiments.Calls) string {
	s := fmt.Sprintf("%d calls", c.N)
	if c.Until != "" {
		s = fmt.Sprintf("up to %d calls", c.N)
	}
	if c.Concurrency == 1 {
		s += ", one at a time"
	} else {
		s += fmt.Sprintf(", %d at a time", c.Concurrency)
	}
	if c.Until != "" {
		s += ", until " + c.Until
	}
	return s
}

func clientsWords(c experiments.Clients) string {
	s := plural(c.N, "client")
	switch {
	case c.ThinkMax == 0:
		return s
	case c.ThinkMin == c.ThinkMax:
		return fmt.Sprintf("%s, thinking %s", s, c.ThinkMax)
	}
	return fmt.Sprintf("%s, thinking %s to %s", s, c.ThinkMin, c.ThinkMax)
}

func rateWords(r experiments.Rate) string {
	per := r.Per.String()
	for unit, word := range map[time.Duration]string{time.Second: "s", time.Minute: "m", time.Hour: "h"} {
		if r.Per == unit {
			per = word
		}
	}
	return fmt.Sprintf("%d/%s", r.Num, per)
}

// faultWords says what is wrong in a phase, fault by fault.
func faultWords(plan *experiments.Plan, p experiments.Phase) []string {
	out := []string{}
	for _, in := range plan.Injectors {
		for _, r := range p.Faults[in.Name] {
			s := ruleWords(r)
			if len(plan.Injectors) > 1 {
				s = in.Name + ": " + s
			}
			out = append(out, s)
		}
	}
	return out
}

// ruleWords says what one fault does.
func ruleWords(r fault.Rule) string {
	var parts []string
	if which := selectionWords(r.Select); which != "" {
		parts = append(parts, which)
	}
	if r.Hold != nil {
		parts = append(parts, fmt.Sprintf("held up to %s", r.Hold.Max))
	}
	if late := r.Latency.String(); late != "" {
		if r.Latency.Mode != fault.LatencyFloor {
			late = "+" + late
		}
		parts = append(parts, late)
	}
	if form := r.Form.String(); form != "" {
		parts = append(parts, form)
	}
	switch r.Action {
	case fault.ActionRespond:
		if r.Respond.GRPC == nil {
			parts = append(parts, strconv.Itoa(r.Respond.Status))
		}
	case fault.ActionTCP:
		parts = append(parts, r.TCP.String())
	case fault.ActionPass:
		if r.WebSocket != nil {
			parts = append(parts, r.WebSocket.String())
		}
	case fault.ActionTLS, fault.ActionSettings:
	default:
		parts = append(parts, string(r.Action))
	}
	if words := experiments.ProtocolWords(r); words != "" {
		parts = append(parts, words)
	}
	if matched(r) {
		parts = append(parts, "for "+r.Match.String())
	}
	return strings.Join(parts, " ")
}

// selectionWords says which of the requests that match a fault are hit; nothing
// where all are.
func selectionWords(s fault.Select) string {
	words := ""
	part := strconv.FormatFloat(100*float64(s.Num)/float64(s.Den), 'g', 4, 64) + "%"
	if s.Ramp != nil {
		part = s.Ramp.String()
	}
	switch s.Kind {
	case fault.SelectRatio:
		words = part
	case fault.SelectShuffle:
		words = fmt.Sprintf("%s shuffled by %d", part, s.Block)
	case fault.SelectRandom:
		words = part + " at random"
	case fault.SelectFirst:
		words = fmt.Sprintf("first %d", s.First)
	case fault.SelectAfter:
		words = fmt.Sprintf("after %d", s.After)
	case fault.SelectEvery:
		words = fmt.Sprintf("every %d", s.Every)
	case fault.SelectScript:
		words = "script"
	case fault.SelectBurst:
		words = fmt.Sprintf("bursts of %d in %d", s.Length, s.Length+s.Gap)
	case fault.SelectAll:
	}
	if s.Sticky.By != "" {
		words += " by " + strings.TrimSpace(string(s.Sticky.By)+" "+s.Sticky.Name)
	}
	return words
}

// supposed is what a forecast takes for granted.
func supposed(plan *experiments.Plan) []string {
	out := []string{fmt.Sprintf("it answers within %s, beside what its dependencies take", 2*quick+2*hop)}
	if by := carrier(plan); requests(plan) && by != rungAggregate && by != trace.BySingleFlight {
		out = append(out, "it passes "+by+" on to its dependencies")
	}
	for _, in := range plan.Injectors {
		if in.Upstream != "" || in.TCP != nil {
			out = append(out, fmt.Sprintf("the real %s answers in %s", in.Name, upstreamTook))
		}
	}
	out = append(out, streamsSupposed(plan)...)
	out = append(out, sessionsSupposed(plan)...)
	out = append(out, supposedOfDoors(plan)...)
	if ref := plan.SUT.Reference; ref != nil {
		return append(out, otherwise(plan, ref)...)
	}
	out = append(out, repeatsSupposed(plan)...)
	out = append(out, interviewSupposed(plan)...)
	if hasFallback(plan) {
		out = append(out, "what fails or is rejected is answered by its fallback")
	} else {
		out = append(out, "it has no fallback, as no class fallback is declared")
	}
	out = append(out, protocolsSupposed(plan)...)
	waits := []fault.Action{fault.ActionHang, fault.ActionUnreachable, fault.ActionDeaf}
	patient := func(r fault.Rule) bool {
		return slices.Contains(waits, r.Action) || r.Latency.Longest() > plan.Timeout/4
	}
	if _, guessed := timeouts(plan); anyFault(plan, guessed, patient) {
		out = append(out, fmt.Sprintf("it gives up on %s after %s, half of load.timeout, as no assertion says when", strings.Join(names(guessed), ", "), plan.Timeout/2))
	}
	if anyFault(plan, plan.Injectors, matched) {
		out = append(out, "what it sends to a dependency is what the faults match")
	}
	beyond := func(r fault.Rule) bool { return !r.Match.Matches(suited(r.Match, fault.Request{Path: "/"})) }
	if anyFault(plan, plan.Injectors, beyond) {
		out = append(out, "it sends nothing that a fault with a path, header or body of more than can be guessed matches")
	}
	return out
}

// anyFault reports whether some fault at some of the dependencies is of a kind.
func anyFault(plan *experiments.Plan, at []experiments.Injector, is func(fault.Rule) bool) bool {
	for _, p := range plan.Phases {
		for _, in := range at {
			if slices.ContainsFunc(p.Faults[in.Name], is) {
				return true
			}
		}
	}
	return false
}

// otherwise says where faultline's own service is set otherwise than is declared.
func otherwise(plan *experiments.Plan, ref *experiments.Reference) []string {
	var out []string
	for _, s := range services(ref) {
		if s.Defect != "" {
			out = append(out, fmt.Sprintf("sut.reference has the defect %s; played is one without", s.Defect))
		}
		for _, b := range plan.Breakers {
			got, want := s.Breaker, b.Config
			got.Name, want.Name = "", ""
			switch {
			case b.Injector != s.Injector:
			case s.Model != nil:
				out = append(out, fmt.Sprintf("breaker %s is played as the %s that sut.reference has; breakers.%s is what is judged", b.Name, s.Model.Preset, b.Name))
			case b.Declared && !reflect.DeepEqual(got, want):
				out = append(out, fmt.Sprintf("sut.reference is set otherwise than breakers.%s says; played is what breakers.%s says", b.Name, b.Name))
			}
		}
	}
	return out
}

// names are those of some dependencies.
func names(at []experiments.Injector) []string {
	out := make([]string, 0, len(at))
	for _, in := range at {
		out = append(out, in.Name)
	}
	return out
}

// plural counts things.
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
