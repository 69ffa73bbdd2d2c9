package experiments

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/injector/fault"
)

// FuzzLoad loads anything. What is refused is refused with positions inside the
// file; what is accepted can be printed and loaded again.
func FuzzLoad(f *testing.F) {
	for _, file := range slices.Concat(glob(f, "*.yaml"), glob(f, "../*.yaml")) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		plan, err := LoadPlan("f.yaml", src, testSeed)
		if err != nil {
			checkProblems(t, src, err)
			return
		}
		checkNumbers(t, plan)
		first, err := MarshalPlan(plan)
		if err != nil {
			t.Fatal(err)
		}
		again, err := LoadPlan("f.yaml", first, 0)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if diff := cmp.Diff(plan, again, samePlan()); diff != "" {
			t.Fatalf("-first +again:\n%s", diff)
		}
		if second, err := MarshalPlan(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("printed twice (%v):\n%s", err, cmp.Diff(string(first), string(second)))
		}
	})
}

// checkNumbers holds a plan to what breakers and faults can be made of: the reader
// speaks of its own keys, so it must refuse all that breakerref and fault would.
func checkNumbers(t *testing.T, plan *Plan) {
	t.Helper()
	configs := []breakerref.Config{breakerref.Default()}
	for _, ref := range plan.SUT.services() {
		configs = append(configs, ref.Breaker)
		checkPolicies(t, ref)
	}
	for _, b := range plan.Breakers {
		configs = append(configs, b.Config)
	}
	for _, c := range configs {
		if err := c.Validate(); err != nil {
			t.Errorf("accepted breaker %s: %v", c.Name, err)
		}
	}
	for _, in := range plan.Injectors {
		if _, err := fault.NewPlayer(in.Script, plan.Seed); err != nil {
			t.Errorf("accepted faults of %s: %v", in.Name, err)
		}
	}
}

// checkPolicies holds what lies around a call to what can be made of it.
func checkPolicies(t *testing.T, ref *Reference) {
	t.Helper()
	var errs []error
	if r := ref.Retry; r != nil {
		errs = append(errs, r.Config(testSeed).Validate())
		if r.Budget != nil {
			errs = append(errs, r.Budget.Validate())
		}
	}
	if l := ref.RateLimiter; l != nil {
		errs = append(errs, l.Config().Validate())
	}
	if l := ref.TimeLimiter; l != nil {
		errs = append(errs, l.Validate())
	}
	if b := ref.Bulkhead; b != nil {
		errs = append(errs, b.Validate())
	}
	if p := ref.ThreadPool; p != nil {
		errs = append(errs, p.Validate())
	}
	if m := ref.Model; m != nil {
		_, err := m.Config()
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		t.Errorf("accepted: %v", err)
	}
}

// TestNumbers tries extremes of each number of a breaker.
func TestNumbers(t *testing.T) {
	const file = "testdata/typo.base.yaml"
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	accepted := 0
	for _, key := range []string{"window", "minimum_calls", "failure_rate", "wait", "slow_calls: { rate", "slow_calls: { over"} {
		for _, value := range []string{
			"0", "1", "-1", "2147483647", "2147483648", "0s", "1ns", "1ms", "1s", "2147483647s", "2147483648s", "2562047h",
			"0%", "0.000000001%", "0.0%", "100%", "100.000000001%",
		} {
			text := key + ": " + value
			if strings.Contains(key, "{") {
				text += " }"
			}
			bad := strings.Replace(string(src), "permitted_calls: 5", "permitted_calls: 5, "+text, 1)
			if plan, err := LoadPlan(file, []byte(bad), testSeed); err == nil {
				accepted++
				checkNumbers(t, plan)
			}
		}
	}
	if accepted < 10 {
		t.Errorf("only %d extremes are accepted", accepted)
	}
}

// TestTooManyPhases keeps one index of a call's identity for the probe that comes
// before the first phase.
func TestTooManyPhases(t *testing.T) {
	src := "phases: [" + strings.Repeat("x, ", mostPhases) + "x]\n"
	got := found("f.yaml", []byte(src))
	want := "1:9: phases: has 65536 phases; a call's identity has room for 65535"
	if !slices.Contains(got, want) || len(got) > 10 {
		t.Errorf("%d problems, without %q", len(got), want)
	}
}

// checkProblems holds an error of LoadPlan to its promise.
func checkProblems(t *testing.T, src []byte, err error) {
	t.Helper()
	var problems Problems
	if !errors.As(err, &problems) || len(problems) == 0 {
		t.Fatalf("error is %T: %v", err, err)
	}
	lines := strings.Count(strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u0085", "\n", "\u2028", "\n", "\u2029", "\n").Replace(string(src)), "\n") + 1
	for i, p := range problems {
		if p.File != "f.yaml" || p.Line < 1 || p.Line > lines || p.Col < 1 || p.Message == "" {
			t.Errorf("problem %+v in a file of %d lines", p, lines)
		}
		if i > 0 && (p.Line < problems[i-1].Line || p.Line == problems[i-1].Line && p.Col < problems[i-1].Col) {
			t.Errorf("%v comes before %v", problems[i-1], p)
		}
	}
}
