package main

import (
	"encoding/json"
	"testing"
)

// The schema goes to standard output, whole and alone, so that it can be kept in a
// file.
func TestSchema(t *testing.T) {
	code, stdout, stderr := call("schema")
	if code != 0 || stderr != "" {
		t.Fatalf("exit code %d\n%s", code, stderr)
	}
	var schema struct {
		Dialect    string                     `json:"$schema"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal([]byte(stdout), &schema); err != nil {
		t.Fatal(err)
	}
	if schema.Dialect != "https://json-schema.org/draft/2020-12/schema" || len(schema.Properties["phases"]) == 0 {
		t.Errorf("%.300s", stdout)
	}
}
