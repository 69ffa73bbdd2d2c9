package main

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/experiments/run"
)

// unwritable is a standard output that leads nowhere.
type unwritable struct{}

func (unwritable) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// A forecast carries nothing out, whatever it comes to.
func TestPlanCarriesNothingOut(t *testing.T) {
	f := newFake(func(context.Context, *experiments.Plan, run.Options) (*run.Result, error) {
		t.Error("plan carried an experiment out")
		return nil, errors.New("carried out")
	})
	if code := f.main([]string{"plan", "--format", "json", "testdata/good.yaml"}); code != report.ExitPass {
		t.Errorf("exit code %d\n%s%s", code, f.out.String(), f.err.String())
	}
	var got struct {
		Assertions []struct{ ID, Forecast string }
	}
	if err := json.Unmarshal(f.out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if len(got.Assertions) != 1 || got.Assertions[0].Forecast != "can be decided" {
		t.Errorf("assertions %+v", got.Assertions)
	}
}

// Who is told nothing must not take it for a pass.
func TestPlanThatCannotBeSaid(t *testing.T) {
	f := newFake(nil)
	f.stdout = unwritable{}
	if code := f.main([]string{"plan", "testdata/good.yaml"}); code != report.ExitInconclusive || !strings.Contains(f.err.String(), "no space left") {
		t.Errorf("exit code %d, said %q", code, f.err.String())
	}
}

// To no terminal a forecast is 80 columns wide, in what the locale can show.
func TestPlanIsPlainText(t *testing.T) {
	f := newFake(nil)
	if code := f.main([]string{"plan", "../../experiments/quickstart.yaml"}); code != report.ExitPass {
		t.Errorf("exit code %d\n%s", code, f.err.String())
	}
	for line := range strings.Lines(f.out.String()) {
		line = strings.TrimRight(line, "\n")
		if len(line) > planWidth || strings.ContainsFunc(line, func(r rune) bool { return r > 126 }) {
			t.Errorf("wider than %d or no ASCII: %q", planWidth, line)
		}
	}
}
