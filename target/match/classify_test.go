package match_test

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
)

// checkout are the classes of a service with a fallback.
func checkout() match.Classes {
	return match.Classes{
		{Name: match.ClassPrimary, Status: []int{200}, Contains: []string{`"state":"PAID"`}},
		{Name: match.ClassFallback, Status: []int{200, 202}, Header: map[string]string{"X-Source": "queue"}, Contains: []string{"QUEUED", `"retry":true`}},
		{Name: "cached", Header: map[string]string{"age": "0", "x-source": "cache"}},
		{Name: match.ClassRejected, Status: []int{503}},
		{Name: "busy", Status: []int{503, 429}},
		{Name: "unmarked", Status: []int{204}, Header: map[string]string{"X-Source": ""}},
	}
}

// compiled is the classifier of classes.
func compiled(t interface {
	Helper()
	Fatal(args ...any)
}, classes match.Classes,
) match.Classifier {
	t.Helper()
	c, err := classes.Compile()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestClassify(t *testing.T) {
	for _, tc := range []struct {
		name   string
		status int
		header http.Header
		body   string
		want   string
	}{
		{"status and body", 200, nil, `{"state":"PAID"}`, "primary"},
		{"status alone", 503, nil, "", "rejected"},
		{"status alone, whatever the body", 503, nil, `{"state":"PAID"}`, "rejected"},
		{"the second of its statuses", 429, nil, "", "busy"},
		{"every part holds", 202, http.Header{"X-Source": {"queue"}}, `QUEUED "retry":true`, "fallback"},
		{"no such status", 201, http.Header{"X-Source": {"queue"}}, `QUEUED "retry":true`, "unclassified"},
		{"no such header", 202, nil, `QUEUED "retry":true`, "unclassified"},
		{"another value of the header", 202, http.Header{"X-Source": {"queues"}}, `QUEUED "retry":true`, "unclassified"},
		{"one of the texts", 202, http.Header{"X-Source": {"queue"}}, `QUEUED`, "unclassified"},
		{"the other of the texts", 202, http.Header{"X-Source": {"queue"}}, `"retry":true`, "unclassified"},
		{"texts in another case", 202, http.Header{"X-Source": {"queue"}}, `queued "retry":true`, "unclassified"},
		{"a value in another case", 202, http.Header{"X-Source": {"Queue"}}, `QUEUED "retry":true`, "fallback"},
		{"headers alone", 418, http.Header{"Age": {"0"}, "X-Source": {"cache"}}, "", "cached"},
		{"one of the headers", 418, http.Header{"X-Source": {"cache"}}, "", "unclassified"},
		{"the first that matches wins", 200, http.Header{"X-Source": {"queue"}}, `"state":"PAID" QUEUED "retry":true`, "primary"},
		{"a later one after the first does not match", 200, http.Header{"X-Source": {"queue"}}, `QUEUED "retry":true`, "fallback"},
		{"an empty value is for a header that is not there", 204, nil, "", "unmarked"},
		{"an empty value is not for one that is", 204, http.Header{"X-Source": {"queue"}}, "", "unclassified"},
		{"no answer", 0, nil, "", "unclassified"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := compiled(t, checkout()).Classify(tc.status, tc.header.Get, []byte(tc.body)); got != tc.want {
				t.Errorf("class %s, want %s", got, tc.want)
			}
		})
	}
	if got := compiled(t, nil).Classify(200, http.Header{}.Get, nil); got != match.Unclassified {
		t.Errorf("without classes: %s", got)
	}
	if got := compiled(t, match.Classes{{Name: "all"}}).Classify(0, http.Header{}.Get, nil); got != "all" {
		t.Errorf("a class without conditions: %s, want all", got)
	}
}

// The class is that of the first class which, alone, matches.
func TestClassifyFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		classes := rapid.Permutation(checkout()).Draw(t, "classes")
		header := http.Header{"Age": {"0"}, "X-Source": {rapid.SampledFrom([]string{"queue", "cache", "CACHE", ""}).Draw(t, "source")}}
		body := []byte(rapid.SampledFrom([]string{"", `"state":"PAID"`, `QUEUED "retry":true`, `"state":"PAID" QUEUED "retry":true`}).Draw(t, "body"))
		status := rapid.SampledFrom([]int{200, 202, 204, 429, 503}).Draw(t, "status")
		want := match.Unclassified
		for _, c := range classes {
			if compiled(t, match.Classes{c}).Classify(status, header.Get, body) == c.Name {
				want = c.Name
				break
			}
		}
		if got := compiled(t, classes).Classify(status, header.Get, body); got != want {
			t.Errorf("class %s, want %s", got, want)
		}
	})
}

// What a rule or the load has to know of classes.
func TestClasses(t *testing.T) {
	only := map[string]bool{}
	for _, c := range checkout() {
		only[c.Name] = c.StatusOnly()
		if got, ok := checkout().Find(c.Name); !ok || cmp.Diff(c, got) != "" {
			t.Errorf("found %+v for %s", got, c.Name)
		}
	}
	want := map[string]bool{"primary": false, "fallback": false, "cached": false, "rejected": true, "busy": true, "unmarked": false}
	if diff := cmp.Diff(want, only); diff != "" {
		t.Errorf("status only (-want +got):\n%s", diff)
	}
	if c, ok := checkout().Find("Primary"); ok || c.Name != "" {
		t.Errorf("found %+v for a name that is not there", c)
	}
	if !compiled(t, checkout()).NeedBody() || compiled(t, checkout()[2:]).NeedBody() || compiled(t, nil).NeedBody() {
		t.Error("the body is needed exactly where a class looks for text in it")
	}
}

// TestPick gives each target its share, and depends on the bits alone.
func TestPick(t *testing.T) {
	targets := []match.Target{{Name: "a", Weight: 9}, {Name: "b", Weight: 0}, {Name: "c", Weight: 1}}
	const most = ^uint64(0)
	for _, tc := range []struct {
		targets []match.Target
		random  uint64
		want    string
	}{
		{targets, 0, "a"},
		{targets, most / 10 * 8, "a"},
		{targets, most/10*9 + 10, "c"},
		{targets, most, "c"},
		{[]match.Target{{Name: "x"}, {Name: "y"}}, most / 4, "x"},
		{[]match.Target{{Name: "x"}, {Name: "y"}}, most/2 + 1, "y"},
	} {
		if got := match.Pick(tc.targets, tc.random).Name; got != tc.want {
			t.Errorf("%x picks %s, want %s", tc.random, got, tc.want)
		}
	}
}
