package control

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
)

// Problem is the body of every answer that is not a success.
type Problem struct {
	Code     string   `json:"code"`    // a word for programs; the document lists them
	Message  string   `json:"message"` // a sentence for people
	Problems []string `json:"problems,omitempty"`
}

// problem is a refusal.
type problem struct {
	Problem

	status int
	etag   string
}

func refuse(status int, code, message string) *problem {
	return &problem{status: status, Problem: Problem{Code: code, Message: message}}
}

// result is a success.
type result struct {
	status int
	etag   string
	body   any
	text   []byte // instead of body
	kind   string // of text
}

func ok(body any) *result { return &result{status: http.StatusOK, body: body} }

// send writes a result or a problem.
func send(w http.ResponseWriter, res *result, p *problem) {
	if p != nil {
		if p.status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Bearer realm="faultline"`)
		}
		res = &result{status: p.status, etag: p.etag, body: p.Problem}
	}
	if res.kind == "" {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(res.body); err != nil {
			// Only a script can hold what JSON cannot, and it came as JSON.
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		res.text, res.kind = b.Bytes(), "application/json"
	}
	h := w.Header()
	head(h, res.kind)
	h.Set("Content-Length", strconv.Itoa(len(res.text)))
	if res.etag != "" {
		h.Set("ETag", res.etag)
	}
	w.WriteHeader(res.status)
	_, _ = w.Write(res.text) // A caller who left is no error.
}

// head are the headers of every answer with a body.
func head(h http.Header, kind string) {
	h.Set("Content-Type", kind)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
}
