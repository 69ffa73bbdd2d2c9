package match_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/target/match"
)

func TestParseAge(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for text, want := range map[string]match.Age{
		"12":                            {For: 12 * time.Second, Fine: time.Second},
		" 0 ":                           {Fine: time.Second},
		"0.25":                          {For: 250 * time.Millisecond, Fine: 10 * time.Millisecond},
		"2026-01-02T15:04:05Z":          {At: at, Fine: time.Second},
		"2026-01-02T16:04:05.500+01:00": {At: at.Add(500 * time.Millisecond), Fine: time.Millisecond},
		"Fri, 02 Jan 2026 15:04:05 GMT": {At: at, Fine: time.Second},
		"1767366245":                    {At: at, Fine: time.Second},
		"1767366245000":                 {At: at, Fine: time.Millisecond},
	} {
		got, ok := match.ParseAge(text)
		if !ok || !got.At.Equal(want.At) || got.For != want.For || got.Fine != want.Fine {
			t.Errorf("%q is %+v (%v), want %+v", text, got, ok, want)
		}
	}
	for _, text := range []string{"", "fresh", "-3", "NaN", "2026-01-02", "9e15"} {
		if got, ok := match.ParseAge(text); ok {
			t.Errorf("%q is %+v, want none", text, got)
		}
	}
}

func TestAgeReader(t *testing.T) {
	r, err := match.NewAgeReader([]match.AgeFrom{"header:Age", "$.meta.as_of", "header:X-As-Of"})
	if err != nil || !r.NeedBody() {
		t.Fatalf("error %v, needs the body: %v", err, r.NeedBody())
	}
	h := http.Header{"Age": {"3"}}
	want := map[string]string{"header:Age": "3", "$.meta.as_of": "17.5"}
	if diff := cmp.Diff(want, r.Read(h.Get, []byte(`{"meta":{"as_of":17.5}}`))); diff != "" {
		t.Error(diff)
	}
	if got := r.Read(http.Header{}.Get, []byte("no JSON")); got != nil {
		t.Errorf("of nothing %v is read", got)
	}
	if _, err := match.NewAgeReader([]match.AgeFrom{"header:", "as_of", "header:a b"}); err == nil {
		t.Error("places that are none are taken")
	}
}
