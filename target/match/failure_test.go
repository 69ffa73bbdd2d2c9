package match_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

func TestParseFailure(t *testing.T) {
	for _, tc := range []struct {
		words []string
		want  match.Failure
		text  string
	}{
		{nil, match.Failure{}, "nothing"},
		{[]string{"5xx"}, match.Failure{Classes: []int{5}}, "5xx"},
		{[]string{"1xx", "2xx", "3xx", "4xx"}, match.Failure{Classes: []int{1, 2, 3, 4}}, "1xx, 2xx, 3xx, 4xx"},
		{[]string{"429", "100", "599"}, match.Failure{Statuses: []int{429, 100, 599}}, "429, 100, 599"},
		{[]string{"reset"}, match.Failure{Reset: true}, "reset"},
		{[]string{"eof"}, match.Failure{EOF: true}, "eof"},
		{[]string{"timeout"}, match.Failure{Abandon: true}, "timeout"},
		{[]string{"grpc"}, match.Failure{GRPC: true}, "grpc"},
		{[]string{"grpc:UNAVAILABLE", "grpc: no_status"}, match.Failure{Codes: []string{"UNAVAILABLE", "no_status"}}, "grpc:UNAVAILABLE, grpc:no_status"},
		{[]string{"slow>2s"}, match.Failure{Slow: 2 * time.Second}, "slow>2s"},
		{[]string{"slow > 1m30s"}, match.Failure{Slow: 90 * time.Second}, "slow>1m30s"},
		{[]string{" 5xx "}, match.Failure{Classes: []int{5}}, "5xx"},
		{
			[]string{"slow>500ms", "grpc:unreadable", "grpc", "timeout", "429", "eof", "5xx", "reset"},
			match.Failure{Classes: []int{5}, Statuses: []int{429}, Reset: true, EOF: true, Abandon: true, GRPC: true, Codes: []string{"unreadable"}, Slow: 500 * time.Millisecond},
			"5xx, 429, reset, eof, timeout, grpc, grpc:unreadable, slow>500ms",
		},
	} {
		t.Run(strings.Join(tc.words, ","), func(t *testing.T) {
			got, err := match.ParseFailure(tc.words)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if fmt.Sprint(got) != tc.text {
				t.Errorf("printed as %q, want %q", got, tc.text)
			}
		})
	}
	if got := match.DefaultFailure().String(); got != "5xx, reset, eof, timeout, grpc" {
		t.Errorf("by default %s counts", got)
	}
}

// A word that is not known is named, and what is known is said.
func TestParseFailureErrors(t *testing.T) {
	const kinds = " is not a kind of failure; known are 5xx, a status such as 429, reset, eof, timeout, grpc, grpc:UNAVAILABLE, slow>2s"
	const duration = ": after slow> comes a duration such as 2s"
	const code = ": after grpc: comes one of CANCELLED, UNKNOWN, INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, " +
		"FAILED_PRECONDITION, ABORTED, OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED, no_status, unreadable, no_message; grpc alone is every status but OK"
	for word, want := range map[string]string{
		"GRPC":             `"GRPC"` + kinds,
		"UNAVAILABLE":      `"UNAVAILABLE"` + kinds,
		"grpc:":            `"grpc:"` + code,
		"grpc:OK":          `"grpc:OK"` + code,
		"grpc:14":          `"grpc:14"` + code,
		"grpc:unavailable": `"grpc:unavailable"` + code,
		"":                 `""` + kinds,
		"6xx":              `"6xx"` + kinds,
		"0xx":              `"0xx"` + kinds,
		"xx":               `"xx"` + kinds,
		"5XX":              `"5XX"` + kinds,
		"50x":              `"50x"` + kinds,
		"5xxx":             `"5xxx"` + kinds,
		"099":              `"099"` + kinds,
		"600":              `"600"` + kinds,
		"0503":             `"0503"` + kinds,
		"+503":             `"+503"` + kinds,
		"-99":              `"-99"` + kinds,
		"Reset":            `"Reset"` + kinds,
		"resets":           `"resets"` + kinds,
		"rst":              `"rst"` + kinds,
		"slow":             `"slow"` + kinds,
		"slow=2s":          `"slow=2s"` + kinds,
		"slow>":            `"slow>"` + duration,
		"slow>2":           `"slow>2"` + duration,
		"slow>=2s":         `"slow>=2s"` + duration,
		"slow>0s":          `"slow>0s"` + duration,
		"slow>-1s":         `"slow>-1s"` + duration,
		"slow>fast":        `"slow>fast"` + duration,
	} {
		t.Run(word, func(t *testing.T) {
			got, err := match.ParseFailure([]string{"5xx", word, "nonsense"})
			if err == nil || err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if diff := cmp.Diff(match.Failure{}, got); diff != "" {
				t.Errorf("a failure comes with the error: %s", got)
			}
		})
	}
}

// What is printed is read as the same failure.
func TestFailureString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := match.Failure{
			Classes:  rapid.SliceOf(rapid.IntRange(1, 5)).Draw(t, "classes"),
			Statuses: rapid.SliceOf(rapid.IntRange(100, 599)).Draw(t, "statuses"),
			Reset:    rapid.Bool().Draw(t, "reset"), EOF: rapid.Bool().Draw(t, "eof"), Abandon: rapid.Bool().Draw(t, "abandon"),
			GRPC:  rapid.Bool().Draw(t, "grpc"),
			Codes: rapid.SliceOf(rapid.SampledFrom(append(match.GRPCStatuses()[1:], "no_status", "unreadable", "no_message"))).Draw(t, "codes"),
			Slow:  time.Duration(rapid.Int64Min(0).Draw(t, "slow")),
		}
		var words []string
		if text := f.String(); text != "nothing" {
			words = strings.Split(text, ", ")
		}
		got, err := match.ParseFailure(words)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(f, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", words, diff)
		}
	})
}

func TestFailureStatus(t *testing.T) {
	f := match.Failure{Classes: []int{5}, Statuses: []int{429}}
	for code := range 1000 {
		if got, want := f.Status(code), code == 429 || code >= 500 && code <= 599; got != want {
			t.Errorf("status %d is a failure: %t", code, got)
		}
	}
	for _, code := range []int{0, 200, 429, 503} {
		if (match.Failure{Reset: true, EOF: true, Abandon: true, Slow: 1}).Status(code) {
			t.Errorf("status %d is a failure where no status is", code)
		}
	}
	if !slices.Equal(match.DefaultFailure().Classes, []int{5}) || match.DefaultFailure().Slow != 0 {
		t.Errorf("by default %s counts", match.DefaultFailure())
	}
}

// TestFailureAnswer is what of gRPC counts, for sure or perhaps.
func TestFailureAnswer(t *testing.T) {
	yes, no, perhaps := [2]bool{true, true}, [2]bool{}, [2]bool{false, true}
	for _, tc := range []struct {
		words  string
		status int
		grpc   string
		want   [2]bool
	}{
		{"grpc", 200, "", no},
		{"grpc", 200, "OK", no},
		{"grpc", 200, "UNAVAILABLE", yes},
		{"grpc", 200, "NOT_FOUND", yes},
		{"grpc", 200, "17", yes},
		{"grpc", 200, trace.GRPCNoStatus, yes},
		{"grpc", 200, trace.GRPCUnreadable, perhaps},
		{"grpc", 200, trace.GRPCNoMessage, perhaps},
		{"grpc:UNAVAILABLE", 200, trace.GRPCNoMessage, perhaps},
		{"grpc:unreadable", 200, trace.GRPCNoMessage, no},
		{"grpc:no_message", 200, trace.GRPCNoMessage, yes},
		{"5xx", 200, trace.GRPCNoMessage, no},
		{"grpc", 503, "", no},
		{"grpc", 503, trace.GRPCNoStatus, yes},
		{"5xx", 200, "UNAVAILABLE", no},
		{"5xx", 503, trace.GRPCNoStatus, yes},
		{"5xx", 200, trace.GRPCNoStatus, no},
		{"grpc:UNAVAILABLE", 200, "UNAVAILABLE", yes},
		{"grpc:UNAVAILABLE", 200, "NOT_FOUND", no},
		{"grpc:UNAVAILABLE", 200, "OK", no},
		{"grpc:UNAVAILABLE", 200, "", no},
		{"grpc:UNAVAILABLE", 200, trace.GRPCNoStatus, perhaps},
		{"grpc:UNAVAILABLE", 200, trace.GRPCUnreadable, perhaps},
		{"grpc:UNAVAILABLE", 200, "17", perhaps},
		{"grpc:no_status", 200, trace.GRPCNoStatus, yes},
		{"grpc:no_status", 200, trace.GRPCUnreadable, no},
		{"grpc:no_status", 200, "17", no},
		{"grpc:unreadable", 200, trace.GRPCUnreadable, yes},
		{"grpc:unreadable", 200, "UNKNOWN", no},
	} {
		f, err := match.ParseFailure([]string{tc.words})
		if err != nil {
			t.Fatal(err)
		}
		if is, may := f.Answer(tc.status, tc.grpc); [2]bool{is, may} != tc.want {
			t.Errorf("%s counts %d %q: %t, perhaps %t; want %v", tc.words, tc.status, tc.grpc, is, may, tc.want)
		}
	}
}
