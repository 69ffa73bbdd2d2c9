package experiments

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// respond reads a canned answer: the status, and headers and body of m.
func respond(m *yamldoc.Map, at yamldoc.Value) fault.Respond {
	body := m.Get("body")
	r := fault.Respond{
		Status:  status(at, 200),
		Headers: headers(m.Get("headers")),
		Body:    body.Text(""),
	}
	if r.Body != "" && (r.Status == http.StatusNoContent || r.Status == http.StatusNotModified) {
		body.Problemf("an answer with status %d has no body", r.Status)
	}
	return r
}

// status reads the status of a final answer.
func status(v yamldoc.Value, def int) int {
	n := v.Count(def, 200)
	if n > 599 {
		v.Problemf("%d is not a status of HTTP; it is from 200 to 599", n)
		return def
	}
	return n
}

// headers reads a mapping of headers to values.
func headers(v yamldoc.Value) map[string]string {
	var out map[string]string
	seen := &names{kind: "header"}
	for _, e := range v.Map("{X-Kind: card}").Entries() {
		if !isToken(e.Name) {
			e.Key.Problemf("%q is not a header's name", e.Name)
			continue
		}
		seen.declare(e.Key, strings.ToLower(e.Name))
		if out == nil {
			out = map[string]string{}
		}
		out[e.Name] = headerValue(e.Value)
	}
	return out
}

// headerValue reads the value of a header.
func headerValue(v yamldoc.Value) string {
	value := v.Text("")
	if strings.ContainsFunc(value, isControl) {
		v.Problemf("a header's value is one line without control characters")
	}
	return value
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }

// httpURL reads the address of a server, with a path if its requests share one.
// Where a template is given, it may stand in the text and is not touched.
func httpURL(v yamldoc.Value, template string) string {
	s := v.NonEmpty()
	if s == "" {
		return ""
	}
	text := s
	if template != "" {
		text = strings.ReplaceAll(s, template, "1")
	}
	if checkURL(v, s, text) {
		return s
	}
	return ""
}

// checkURL reports whether a text is the address of a server; s is what was written.
func checkURL(v yamldoc.Value, s, text string) bool {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		v.Problemf("%q is not an address such as http://127.0.0.1:8080", s)
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		v.Problemf("%q has a user, query or fragment; an address has scheme, host, port and perhaps a path", s)
	default:
		return true
	}
	return false
}

// urlPath reads a path, with a query if there is one. Where the identity of a call
// may stand in it, templated reads that.
func urlPath(v yamldoc.Value, templated func(yamldoc.Value, string) string) string {
	s := v.NonEmpty()
	if s == "" {
		return ""
	}
	plain := s
	if templated != nil {
		plain = withoutTokens(templated(v, s))
	}
	u, err := url.ParseRequestURI(plain)
	if err != nil || !strings.HasPrefix(s, "/") || strings.HasPrefix(s, "//") || strings.Contains(s, "#") || u.Host != "" {
		v.Problemf("%q is not a path; it begins with one / and has no host or fragment", s)
		return ""
	}
	return s
}

// method reads a method of HTTP. They are case-sensitive, and a lower-case one is
// always a mistake.
func method(v yamldoc.Value, def string) string {
	s := v.Text(def)
	if !isToken(s) && s != def || s != strings.ToUpper(s) {
		v.Problemf("%q is not a method; methods are upper case, as GET", s)
		return def
	}
	return s
}

// headerName reads the name of a header, in lower case.
func headerName(v yamldoc.Value) string {
	s := v.NonEmpty()
	if s != "" && !isToken(s) {
		v.Problemf("%q is not a header's name", s)
		return ""
	}
	return strings.ToLower(s)
}
