package control

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/faultline-go/faultline/injector/fault"
)

// Whatever is sent is decoded or refused. What is decoded is a value that comes back the
// same, and is one that the lenient decoder agrees with.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"phases":{"out":[{"id":"x","match":{"path":"/a*","header":{"A":"b"}},"select":{"kind":"ratio","num":1,"den":2},"latency":{"min":1,"max":2},"action":"respond","respond":{"status":503}}]}}`,
		`{"phases":{"p":[{"select":{"kind":"ratio","ramp":{"points":[{"at":0,"num":0,"den":1},{"at":9,"num":1,"den":2}]}},"action":"reset","latency":{"ramp":{"points":[{"at":0,"latency":1},{"at":5,"latency":9}],"stairs":true}}},{"select":{"kind":"ratio","num":1,"den":2},"action":"reset"}]}}`,
		`{"rule":{"select":{"kind":"all"},"action":"hang"},"ttl":"30s"}`, `{"name":"x"}`, `{"next":true}`, `{}`, `{"a":{"a":1},"a":[{"b":[]},{"b":2}]}`,
		`[{"a":1,"A":2}]`, `{"a`, "{\"\xff\":1}", `{}{}`, `1e999`, `null`, `[[[[]]]]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, to := range []func() any{
			func() any { return new(fault.Script) }, func() any { return new(NewFault) }, func() any { return new(PhaseChange) },
		} {
			got, again, lenient := to(), to(), to()
			if decode(text, got) != nil {
				continue
			}
			if err := json.Unmarshal(text, lenient); err != nil || !reflect.DeepEqual(got, lenient) {
				t.Fatalf("strictly %+v, else %+v, %v", got, lenient, err)
			}
			out, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if script, ok := got.(*fault.Script); ok {
				fault.Validate(*script)
			}
			if err := decode(out, again); err != nil {
				t.Fatalf("%s comes back as an error: %v", out, err)
			}
			if twice, err := json.Marshal(again); err != nil || string(twice) != string(out) {
				t.Fatalf("%s comes back as %s, %v", out, twice, err)
			}
		}
	})
}
