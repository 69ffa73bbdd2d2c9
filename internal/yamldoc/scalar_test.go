package yamldoc_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

func TestParseDuration(t *testing.T) {
	for _, tc := range []struct {
		in, err string
		want    time.Duration
	}{
		{in: "5s", want: 5 * time.Second},
		{in: "250ms", want: 250 * time.Millisecond},
		{in: "1m30s", want: 90 * time.Second},
		{in: "1.5s", want: 1500 * time.Millisecond},
		{in: "0s", want: 0},
		{in: "0.5s", want: 500 * time.Millisecond},
		{in: "5", err: "5 has no unit"},
		{in: "0", err: "0 has no unit"},
		{in: "1.5", err: "1.5 has no unit"},
		{in: "010s", err: "begins with a zero"},
		{in: "-5s", err: "negative"},
		{in: "+5s", err: "not a duration"},
		{in: "5 s", err: "not a duration"},
		{in: "5sec", err: "not a duration"},
		{in: "", err: "not a duration"},
		{in: "1e3s", err: "not a duration"},
		{in: "99999999h", err: "not a duration"},
	} {
		got, err := yamldoc.ParseDuration(tc.in)
		check(t, tc.in, err, tc.err, got == tc.want)
	}
}

func TestParseShare(t *testing.T) {
	for _, tc := range []struct {
		in, err string
		want    yamldoc.Share
	}{
		{in: "50%", want: yamldoc.Share{Num: 1, Den: 2}},
		{in: "33.3%", want: yamldoc.Share{Num: 333, Den: 1000}},
		{in: "0%", want: yamldoc.Share{Num: 0, Den: 1}},
		{in: "0.5%", want: yamldoc.Share{Num: 1, Den: 200}},
		{in: "100%", want: yamldoc.Share{Num: 1, Den: 1}},
		{in: "100.0%", want: yamldoc.Share{Num: 1, Den: 1}},
		{in: "0.000000001%", want: yamldoc.Share{Num: 1, Den: 100_000_000_000}},
		{in: "0.0000000001%", err: "more digits"},
		{in: "99999999999999999999%", err: "more digits"},
		{in: "100.1%", err: "more than 100%"},
		{in: "0.5", err: "0.5 has no unit"},
		{in: "50", err: "50 has no unit; a share is written in percent: 50%"},
		{in: "0", err: "percent: 0%"},
		{in: "1", err: "percent: 100%, if a part of 1 was meant, or else 1%"},
		{in: "0.25", err: "percent: 25%, if a part of 1 was meant, or else 0.25%"},
		{in: "101", err: "from 0% to 100%"},
		{in: "050%", err: "begins with a zero"},
		{in: "50 %", err: "not a share"},
		{in: "-5%", err: "not a share"},
		{in: "half", err: "not a share"},
		{in: "1e1%", err: "not a share"},
		{in: "5.%", err: "not a share"},
		{in: "%", err: "not a share"},
		{in: "", err: "not a share"},
	} {
		got, err := yamldoc.ParseShare(tc.in)
		check(t, tc.in, err, tc.err, got == tc.want)
	}
}

func TestParseRate(t *testing.T) {
	for _, tc := range []struct {
		in, err string
		want    yamldoc.Rate
	}{
		{in: "100/s", want: yamldoc.Rate{Num: 100, Per: time.Second}},
		{in: "30/m", want: yamldoc.Rate{Num: 30, Per: time.Minute}},
		{in: "5/h", want: yamldoc.Rate{Num: 5, Per: time.Hour}},
		{in: "0/s", want: yamldoc.Rate{Num: 0, Per: time.Second}},
		{in: "100", err: "100 has no unit"},
		{in: "010", err: "begins with a zero"},
		{in: "010/s", err: "begins with a zero"},
		{in: "0.5/s", err: "0.5/s is 30/m"},
		{in: "5/2s", err: "not a rate"},
		{in: "5/ms", err: "not a rate"},
		{in: "-5/s", err: "not a rate"},
		{in: "/s", err: "not a rate"},
		{in: "", err: "not a rate"},
		{in: "99999999999999999999/s", err: "not a rate"},
	} {
		got, err := yamldoc.ParseRate(tc.in)
		check(t, tc.in, err, tc.err, got == tc.want)
	}
}

// check compares what a parser said with an error that has a text, or with none.
func check(t *testing.T, in string, err error, want string, equal bool) {
	t.Helper()
	switch {
	case err == nil && want != "":
		t.Errorf("%q is taken", in)
	case err != nil && (want == "" || !strings.Contains(err.Error(), want)):
		t.Errorf("%q: error %q, want one with %q", in, err, want)
	case err == nil && !equal:
		t.Errorf("%q is read wrong", in)
	}
}

func TestFormatDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0:                           "0s",
		2 * time.Second:             "2s",
		time.Minute:                 "1m",
		10 * time.Minute:            "10m",
		90 * time.Second:            "1m30s",
		time.Hour:                   "1h",
		time.Hour + time.Second:     "1h0m1s",
		time.Hour + 10*time.Minute:  "1h10m",
		1500 * time.Microsecond:     "1.5ms",
		24*time.Hour + 30*time.Hour: "54h",
	} {
		if got := yamldoc.FormatDuration(d); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
}

func TestDurationRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		d -= d % rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t, "grain")
		got, err := yamldoc.ParseDuration(yamldoc.FormatDuration(d))
		if err != nil || got != d {
			t.Fatalf("%v is written %q and read as %v, %v", d, yamldoc.FormatDuration(d), got, err)
		}
	})
}

func TestShareRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		den := uint64(100)
		for range rapid.IntRange(0, 9).Draw(t, "digits") {
			den *= 10
		}
		want := float64(rapid.Uint64Range(0, den).Draw(t, "num")) / float64(den)
		got, err := yamldoc.ParseShare(yamldoc.FormatShare(want))
		if err != nil || got.Float() != want {
			t.Fatalf("%v is written %q and read as %v, %v", want, yamldoc.FormatShare(want), got, err)
		}
	})
}

func TestRateRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := yamldoc.Rate{
			Num: rapid.IntRange(0, math.MaxInt).Draw(t, "num"),
			Per: rapid.SampledFrom([]time.Duration{time.Second, time.Minute, time.Hour}).Draw(t, "per"),
		}
		got, err := yamldoc.ParseRate(want.String())
		if err != nil || got != want {
			t.Fatalf("%v is read as %v, %v", want, got, err)
		}
	})
}

func TestTextRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(rapid.String(), 1, 4).Draw(t, "texts")
		var o yamldoc.Out
		o.Put("texts", texts)
		o.Put("text", texts[0])
		o.Put("map", map[string]string{texts[0]: texts[0]})
		src, err := yamldoc.Marshal("A test.", &o)
		if err != nil {
			t.Fatal(err)
		}
		doc := yamldoc.Parse("x.yaml", src)
		m := doc.Root().Map("")
		got := []string{m.Get("text").Text("")}
		for _, item := range m.Get("texts").List() {
			got = append(got, item.Text(""))
		}
		for _, e := range m.Get("map").Map("").Entries() {
			got = append(got, e.Name, e.Value.Text(""))
		}
		m.Done()
		if err := doc.Err(); err != nil {
			t.Fatalf("%v\n%s", err, src)
		}
		want := append(append([]string{texts[0]}, texts...), texts[0], texts[0])
		if strings.Join(got, "|") != strings.Join(want, "|") {
			t.Fatalf("%q is read as %q from\n%s", want, got, src)
		}
	})
}
