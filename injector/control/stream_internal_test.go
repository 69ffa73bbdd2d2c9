package control

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// applied is a state after a merge patch, as RFC 7396 has it.
func applied(to any, patch any) any {
	p, ok := patch.(object)
	if !ok {
		return patch
	}
	o, ok := to.(object)
	if !ok {
		o = object{}
	}
	for key, value := range p {
		if value == nil {
			delete(o, key)
		} else {
			o[key] = applied(o[key], value)
		}
	}
	return o
}

// value draws a JSON value without null.
func value(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 4).Draw(t, "kind")
		if depth == 0 {
			kind %= 3
		}
		switch kind {
		case 0:
			return float64(rapid.IntRange(0, 2).Draw(t, "number"))
		case 1:
			return rapid.SampledFrom([]string{"", "a"}).Draw(t, "string")
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			return rapid.SliceOfN(value(depth-1), 0, 2).Draw(t, "array")
		}
		return drawn(t, depth-1)
	})
}

func drawn(t *rapid.T, depth int) object {
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), value(depth), 0, 3).Draw(t, "object")
}

// A patch leads from any state to any other, and there is none from a state to itself.
func TestMergeLeadsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from, to := drawn(t, 3), drawn(t, 3)
		if p := merge(to, to); len(p) > 0 {
			t.Fatalf("from a state to itself: %v", p)
		}
		text, err := json.Marshal(from)
		if err != nil {
			t.Fatal(err)
		}
		var got any
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(any(to), applied(got, merge(from, to))); diff != "" {
			t.Fatalf("from %v: %s", from, diff)
		}
	})
}
