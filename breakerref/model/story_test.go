package model_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/internal/stories"
)

// TestStories plays the stories in testdata/*.txt. A stanza "preset" begins a new
// machine at a full minute, with changed settings if any are given; "do" plays one
// step a line and prints, for each:
//
//	time  step  [result]  STATE calls/successes/failures/ignored runs
//
// where runs are the consecutive successes and failures. The steps are
//
//	calls F9 S F10     calls that end at once; prints those admitted, "-" for one
//	                   refused, "w" for one that waits, and each new state
//	each D S30         the same, with a wait before each call
//	start NAME         a call; the answer, and whom it waits for
//	end NAME F [took]  its outcome: S, F or I (ignored)
//	wait D             the machine is not told
//	advance, look      it is told, or asked
//	timer              when time alone will change something
//
// Run with -rewrite to write the answers anew, then read the difference: each line
// is a claim about a library.
func TestStories(t *testing.T) {
	told := map[string]bool{}
	stories.Play(t, stories.Commands[story]{
		"preset": func(s *story, t *testing.T, d *datadriven.TestData) string {
			told[d.CmdArgs[0].Key] = true
			return s.begin(t, d)
		},
		"do": (*story).play,
	})
	for _, name := range model.Presets() {
		if !told[name] {
			t.Errorf("no story tells of %s", name)
		}
	}
}

type story struct {
	start, now time.Time
	m          *model.Machine
	calls      map[string]model.Token
}

func (s *story) begin(t *testing.T, d *datadriven.TestData) string {
	s.start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	s.now = s.start
	s.calls = map[string]model.Token{}
	cfg, ok := model.Preset(d.CmdArgs[0].Key)
	if !ok {
		d.Fatalf(t, "no preset %q", d.CmdArgs[0].Key)
	}
	for _, arg := range d.CmdArgs[1:] {
		if len(arg.Vals) != 1 {
			d.Fatalf(t, "%s needs one value", arg.Key)
		}
		s.set(t, d, &cfg, arg.Key, arg.Vals[0])
	}
	m, err := model.New(cfg, s.now)
	if err != nil {
		return err.Error()
	}
	s.m = m
	return ""
}

func (s *story) set(t *testing.T, d *datadriven.TestData, cfg *model.Config, key, value string) {
	switch key {
	case "failures":
		cfg.Trip.Failures = integer(t, d, value)
	case "min":
		cfg.Trip.Min = integer(t, d, value)
	case "rate":
		cfg.Trip.Rate = float(t, d, value)
	case "size":
		cfg.Window.Size = integer(t, d, value)
	case "period":
		cfg.Window.Period = duration(t, d, value)
	case "wait":
		cfg.Open.Wait = duration(t, d, value)
	case "permits":
		cfg.HalfOpen.Permits = integer(t, d, value)
	case "successes":
		cfg.HalfOpen.Successes = integer(t, d, value)
	case "hosts":
		cfg.Hosts.Count = integer(t, d, value)
	case "ejected":
		cfg.Hosts.MaxEjected = integer(t, d, value)
	case "panic":
		cfg.Hosts.Panic = integer(t, d, value)
	case "at": // An offset of the beginning into the minute.
		s.now = s.now.Add(duration(t, d, value))
	default:
		d.Fatalf(t, "unknown setting %q", key)
	}
}

// play runs the steps of a stanza. Several may stand in a line, with semicolons.
func (s *story) play(t *testing.T, d *datadriven.TestData) string {
	var out strings.Builder
	for step := range strings.FieldsFuncSeq(d.Input, func(r rune) bool { return r == '\n' || r == ';' }) {
		step = strings.TrimSpace(step)
		result, ok := s.step(t, d, strings.Fields(step))
		if ok {
			fmt.Fprintln(&out, strings.TrimRight(s.show(step, result), " "))
		}
	}
	return out.String()
}

func (s *story) step(t *testing.T, d *datadriven.TestData, words []string) (result string, show bool) {
	switch words[0] {
	case "calls":
		return s.run(t, d, 0, words[1:]), true
	case "each":
		return s.run(t, d, duration(t, d, words[1]), words[2:]), true
	case "start":
		token, answer := s.m.Acquire(s.now)
		if answer == model.Waits {
			return answer.String() + " for " + s.nameOf(token), true
		}
		s.calls[words[1]] = token
		return answer.String(), true
	case "end":
		var took time.Duration
		if len(words) > 3 {
			took = duration(t, d, words[3])
		}
		return masked(s.m.Record(s.now, s.calls[words[1]], outcome(t, d, words[2]), took)), true
	case "wait":
		s.now = s.now.Add(duration(t, d, words[1]))
		return "", false
	case "advance":
		s.m.Advance(s.now)
	case "look":
		return s.m.Look(s.now).String(), true
	case "timer":
		due, ok := s.m.NextTimer()
		if !ok {
			return "none", true
		}
		return due.Sub(s.start).String(), true
	default:
		d.Fatalf(t, "unknown step %q", words)
	}
	return "", true
}

func (s *story) nameOf(token model.Token) string {
	for name, other := range s.calls {
		if other == token {
			return name
		}
	}
	return "nobody"
}

// run makes calls that end at once, a pause before each. Each word is an outcome and
// how many of it.
func (s *story) run(t *testing.T, d *datadriven.TestData, pause time.Duration, words []string) string {
	var seen []string
	state := s.m.State()
	change := func() {
		if now := s.m.State(); now != state {
			seen = append(seen, fmt.Sprintf("[%v]", now))
			state = now
		}
	}
	for _, w := range words {
		n := 1
		if len(w) > 1 {
			n = integer(t, d, w[1:])
		}
		for range n {
			s.now = s.now.Add(pause)
			token, answer := s.m.Acquire(s.now)
			change()
			switch answer {
			case model.Rejected:
				seen = append(seen, "-")
			case model.Waits:
				seen = append(seen, "w")
			case model.Admitted:
				seen = append(seen, w[:1]+masked(s.m.Record(s.now, token, outcome(t, d, w[:1]), 0)))
				change()
			}
		}
	}
	return runs(seen)
}

// runs writes like neighbours once, with their number.
func runs(seen []string) string {
	var out strings.Builder
	for i := 0; i < len(seen); {
		n := 1
		for i+n < len(seen) && seen[i+n] == seen[i] {
			n++
		}
		out.WriteString(seen[i])
		if n > 1 {
			out.WriteString(strconv.Itoa(n))
		}
		out.WriteString(" ")
		i += n
	}
	return strings.TrimSpace(out.String())
}

func masked(yes bool) string {
	if yes {
		return "(masked)"
	}
	return ""
}

func (s *story) show(step, result string) string {
	c := s.m.Counts()
	return fmt.Sprintf("%-13v %-14s %-24s %-9v  %d/%d/%d/%d %d-%d", s.now.Sub(s.start), step, result, s.m.State(),
		c.Calls, c.Successes, c.Failures, c.Ignored, c.ConsecutiveSuccesses, c.ConsecutiveFailures)
}

func outcome(t *testing.T, d *datadriven.TestData, s string) model.Outcome {
	switch s {
	case "S":
		return model.Success
	case "F":
		return model.Failure
	case "I":
		return model.Ignore
	}
	d.Fatalf(t, "unknown outcome %q", s)
	return 0
}

func integer(t *testing.T, d *datadriven.TestData, s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func float(t *testing.T, d *datadriven.TestData, s string) float64 {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}

func duration(t *testing.T, d *datadriven.TestData, s string) time.Duration {
	n, err := time.ParseDuration(s)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	return n
}
