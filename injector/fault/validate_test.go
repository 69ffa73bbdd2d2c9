package fault_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector/fault"
)

func TestValidate(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	for _, c := range []struct {
		name string
		rule fault.Rule
		want []string
	}{
		{"good", fault.Rule{Select: ratio(0, 1), Action: fault.ActionReset, Stealth: true}, nil},
		{"zero", fault.Rule{}, []string{
			`select.kind: "" is none of all, ratio, shuffle, random, first, after, every, script, burst`,
			`action: "" is none of pass, respond, reset, close, hang, garbage, refuse, unreachable, deaf, tls, tcp, settings`,
		}},
		{"ratio of nothing", reset(ratio(1, 0)), []string{`select.den: a ratio of 1 to 0; write num of den with den at least 1`}},
		{"more than all", reset(ratio(3, 2)), []string{`select.num: a ratio of 3 in 2 is more than all of them`}},
		{"first none", reset(fault.Select{Kind: fault.SelectFirst}), []string{`select.first: the first 0 requests are none; write at least 1`}},
		{"no pattern", reset(fault.Select{Kind: fault.SelectScript}), []string{`select.pattern: is empty; write one letter a request, X hit and . not`}},
		{"letters", reset(fault.Select{Kind: fault.SelectScript, Pattern: "X.x"}), []string{`select.pattern: letter 3 is 'x'; only X (hit) and . (not hit) have a meaning`}},
		{"leftovers", reset(fault.Select{Kind: fault.SelectAll, Num: 1, Den: 2, First: 3, Pattern: "X"}), []string{
			`select.num: has no meaning with kind all; it belongs to ratio`,
			`select.den: has no meaning with kind all; it belongs to ratio`,
			`select.first: has no meaning with kind all; it belongs to first`,
			`select.pattern: has no meaning with kind all; it belongs to script`,
		}},
		{"hold", fault.Rule{Select: all, Action: fault.ActionPass, Hold: &fault.Hold{}}, []string{
			`hold.probes: is 0; write how many probes the breaker permits, at least 1`,
			`hold.rejected: is 0; write how many rejections release the held requests, at least 1`,
			`hold.max: is 0s; a hold needs the longest time that it may last, as no rejection may ever come`,
		}},
		{"latency", fault.Rule{Select: all, Action: fault.ActionPass, Latency: fault.Latency{Min: -1, Max: -2}}, []string{
			`latency.min: -1ns is negative`,
			`latency.max: -2ns is less than min, -1ns; for a fixed latency make both equal`,
		}},
		{"only min", fault.Rule{Select: all, Action: fault.ActionPass, Latency: fault.Latency{Min: time.Second}}, []string{
			`latency.max: 0s is less than min, 1s; for a fixed latency make both equal`,
		}},
		{"status", fault.Rule{Select: all, Action: fault.ActionRespond}, []string{`respond.status: 0 is not the status of an answer; write 200 to 599`}},
		{"answer", fault.Rule{Select: all, Action: fault.ActionRespond, Respond: fault.Respond{
			Status: 204, Body: "x", Headers: map[string]string{"content-length": "1", "a b": "", "X": "1\r\nY: 2"},
		}}, []string{
			`respond.body: an answer with status 204 has no body`,
			`respond.headers: the value of X holds a line break or a zero byte`,
			`respond.headers: "a b" is not the name of a header`,
			`respond.headers: content-length is given by the body; leave it out`,
		}},
		{"answer of a reset", fault.Rule{Select: all, Action: fault.ActionReset, Respond: fault.Respond{Status: 503}}, []string{`respond: has no meaning with action reset`}},
		{"stealthy answer", fault.Rule{Select: all, Action: fault.ActionPass, Stealth: true}, []string{`stealth: has no meaning with action pass; only reset, close and hang end a connection`}},
		{"match", fault.Rule{Select: all, Action: fault.ActionPass, Match: fault.Match{Path: "a*b", Header: map[string]string{"": "x"}}}, []string{
			`match.header: "" is not the name of a header`,
			`match.path: "a*b" can match no request; a path begins with /`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"outage": {c.rule}}}) {
				text, ok := strings.CutPrefix(p.Error(), "phase outage: fault 1: ")
				if !ok {
					t.Errorf("%q does not say where", p.Error())
				}
				got = append(got, text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error("problems (-want +got):\n" + diff)
			}
		})
	}
}

func TestValidateWholeScript(t *testing.T) {
	matched := func(m fault.Match, s fault.Select) fault.Rule {
		return fault.Rule{Match: m, Select: s, Action: fault.ActionReset}
	}
	all := fault.Select{Kind: fault.SelectAll}
	named := func(id string) fault.Rule { return fault.Rule{ID: id, Select: ratio(1, 2), Action: fault.ActionReset} }
	s := fault.Script{Phases: map[string][]fault.Rule{
		"": {reset(all)},
		"a": {
			matched(fault.Match{Path: "/x/*", Method: "GET"}, ratio(2, 2)),
			matched(fault.Match{Path: "/x/y*", Method: "get", Header: map[string]string{"A": "b"}}, all), // no request is left for it
			matched(fault.Match{Path: "/x*", Method: "GET"}, all),
			matched(fault.Match{Path: "/x/y"}, ratio(1, 2)),
			reset(all),
			reset(all), // nor for this
		},
		"b": {named("same"), named("same")},
		"c": {named("same")},
	}}
	want := []string{
		`phases: a phase has no name; faults belong to a named phase`,
		`phase a: fault 2: match: fault 1 already takes every request that this one matches; put the narrower fault first`,
		`phase a: fault 6: match: fault 5 already takes every request that this one matches; put the narrower fault first`,
		`phase b: fault 2: id: "same" already names a fault of phase b; the trace could not tell them apart`,
		`phase c: fault 1: id: "same" already names a fault of phase b; the trace could not tell them apart`,
	}
	var got []string
	for _, p := range fault.Validate(s) {
		got = append(got, p.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error("problems (-want +got):\n" + diff)
	}
	_, err := fault.NewPlayer(s, 1)
	if diff := cmp.Diff(strings.Join(want, "\n"), err.Error()); diff != "" {
		t.Error("error (-want +got):\n" + diff)
	}
	if _, ok := errors.AsType[fault.Problem](err); !ok {
		t.Error("the error holds no Problem")
	}
}
