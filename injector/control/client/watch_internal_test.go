package client

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The examples of RFC 7396, appendix A, that are of objects.
func TestPatch(t *testing.T) {
	for _, tt := range [][3]string{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
	} {
		var all [3]map[string]any
		for k, text := range tt {
			if err := json.Unmarshal([]byte(text), &all[k]); err != nil {
				t.Fatal(err)
			}
		}
		patch(all[0], all[1])
		if diff := cmp.Diff(all[2], all[0]); diff != "" {
			t.Errorf("%s with %s: %s", tt[0], tt[1], diff)
		}
	}
}
