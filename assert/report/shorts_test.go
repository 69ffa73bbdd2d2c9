package report

import (
	"strings"
	"testing"

	"github.com/faultline-go/faultline/assert"
)

// The report says how many calls were answered aside, and by what that is known; where it was
// the breaker alone, the states say it already.
func TestShorts(t *testing.T) {
	b := recovered()
	b.Shorts = []assert.Short{{Reason: "open", Calls: 1200, By: "nothing else explains it"}}
	s := passed()
	s.Breakers = []assert.Timeline{b}
	text := func() string {
		var out strings.Builder
		if err := WriteText(&out, s, TextOptions{Width: 200}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if got := text(); strings.Contains(got, "without the dependency") {
		t.Errorf("the breaker alone is told again:\n%s", got)
	}
	s.Breakers[0].Shorts = append(b.Shorts, assert.Short{Reason: "open or bulkhead", Calls: 7, By: "as many calls were under way as ever"}, assert.Short{Reason: "limited", Calls: 40, By: "status 429"})
	want := "search, answered without the dependency: 1,200 open (nothing else explains it), 7 open or bulkhead (as many calls were under way as ever), 40 limited (status 429)\n"
	if got := text(); !strings.Contains(got, want) {
		t.Errorf("got:\n%s\nwant a line %s", got, want)
	}
}
