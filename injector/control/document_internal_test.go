package control

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Every route is described, and nothing else.
func TestDocumentHasEveryRoute(t *testing.T) {
	text, err := document()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			ID string `json:"operationId"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	described, served, ids := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			described[strings.ToUpper(method)+" "+path] = true
			if ids[op.ID] || op.ID == "" {
				t.Errorf("the id %q is not its own", op.ID)
			}
			ids[op.ID] = true
		}
	}
	for path, methods := range new(Server).table() {
		for method := range methods {
			served[method+" "+path] = true
		}
	}
	if diff := cmp.Diff(served, described); diff != "" {
		t.Errorf("served - described +:\n%s", diff)
	}
}

// A document that is asked for twice is the same, byte by byte.
func TestDocumentIsStable(t *testing.T) {
	a, _ := document()
	b, _ := document()
	if string(a) != string(b) || http.DetectContentType(a) != "text/plain; charset=utf-8" {
		t.Error("two documents differ")
	}
}
