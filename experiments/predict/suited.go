package predict

import (
	"encoding/json"
	"net/http"
	"regexp/syntax" //nolint:depguard // It only reads expressions.
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
)

// sentBy is the request that reaches a dependency when a target's calls are passed
// on as they are.
func sentBy(t match.Target) fault.Request {
	header := http.Header{}
	for k, v := range t.Headers {
		header.Set(k, v)
	}
	q := fault.Request{
		Method: t.Method, Path: withoutQuery(t.Path), Header: header.Get, Peer: "127.0.0.1:1",
		Body: func() []byte { return []byte(t.Body) },
	}
	if r, err := http.NewRequest(http.MethodGet, t.Path, nil); err == nil { //nolint:noctx // It is never sent.
		q.Query = r.URL.Query().Get
	}
	return q
}

// suited is a request that a fault matches, as far as one can be guessed.
func suited(m fault.Match, q fault.Request) fault.Request {
	if m.Method != "" {
		q.Method = m.Method
	}
	switch {
	case m.PathRegex != "":
		q.Path = sample(m.PathRegex)
	case m.GRPC != "":
		q.Method, q.Path = http.MethodPost, "/"+strings.TrimSuffix(m.GRPC, "*")
	case m.Path != "":
		path := strings.TrimSuffix(m.Path, "*")
		q.Path = strings.ReplaceAll(strings.ReplaceAll(path, "**", "x"), "*", "x")
	}
	header := http.Header{}
	if m.GRPC != "" {
		header.Set("Content-Type", "application/grpc")
	}
	for k, expr := range m.HeaderRegex {
		header.Set(k, sample(expr))
	}
	for k, v := range m.Header {
		header.Set(k, v)
	}
	q.Header = header.Get
	if len(m.Query) > 0 {
		q.Query = func(key string) string { return m.Query[key] }
	}
	if m.Peer != "" {
		q.Peer, _, _ = strings.Cut(m.Peer, "/")
	}
	q.SNI = strings.Replace(m.SNI, "*", "x", 1)
	if len(m.JSONPath) > 0 {
		body := bodyOf(m.JSONPath)
		q.Body = func() []byte { return body }
	}
	return q
}

// bodyOf is a body of JSON in which the paths that are no more than names lead to
// their values.
func bodyOf(queries map[string]any) []byte {
	root := map[string]any{}
	for query, value := range queries {
		at := root
		names := strings.Split(strings.TrimPrefix(query, "$."), ".")
		for _, name := range names[:len(names)-1] {
			below, ok := at[name].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[name] = below
			}
			at = below
		}
		at[names[len(names)-1]] = value
	}
	body, err := json.Marshal(root)
	if err != nil {
		return nil // No value of an experiment is anything but JSON.
	}
	return body
}

// sample is a text that an expression matches, but for expressions that ask for
// more than one letter after the other, such as \b.
func sample(expr string) string {
	re, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	write(&b, re.Simplify())
	return b.String()
}

// write writes the shortest text of an expression, more or less.
func write(b *strings.Builder, re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(letterOf(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpCapture, syntax.OpPlus, syntax.OpAlternate:
		write(b, re.Sub[0])
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			write(b, sub)
		}
	default: // What may be left out, and what is no letter.
	}
}

// letterOf is a member of a class, which is pairs of first and last members; one
// that can be seen, if there is one.
func letterOf(pairs []rune) rune {
	for _, want := range "a0A" {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= want && want <= pairs[i+1] {
				return want
			}
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		if pairs[i+1] > ' ' {
			return max(pairs[i], '!')
		}
	}
	return pairs[0]
}
