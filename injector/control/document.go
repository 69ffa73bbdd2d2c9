package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// object is a JSON object of the document.
type object = map[string]any

// parameters says what the parameters and headers are.
func parameters() map[string]string {
	return map[string]string{
		"injector": "The name of an injector; it may be left out where there is one, or where all are meant.",
		"since":    "The place of the first line, from 0; the answer names the next one.",
		"If-Match": "Entity tags, or *: the plan is replaced only if its own is among them.",
		"ETag":     "The entity tag of the plan in force.",
		HeaderNext: "The place after the last line: where to go on.",
		HeaderOpen: "The place of the first of these lines whose request had no end yet: ask from there again for its end.",
	}
}

// document writes the OpenAPI document.
func document() ([]byte, error) {
	sch := schemas{}
	paths := object{}
	for _, op := range operations() {
		path, ok := paths[op.path].(object)
		if !ok {
			path = object{}
			paths[op.path] = path
		}
		path[strings.ToLower(op.method)] = op.describe(sch)
	}
	sch.of(reflect.TypeFor[StreamMessage]()) // No operation can refer to what its WebSocket carries.
	text, err := json.MarshalIndent(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "faultline control", "version": "1",
			"description": "Watch and change the faults of running injectors. Durations without a unit are nanoseconds. Keys that are unknown or that come twice are refused.",
			"license":     object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers": []any{object{"url": "/"}},
		"paths":   paths,
		"components": object{
			"schemas":         sch.all(),
			"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "Needed where the API was started with a token."}},
		},
		"security": []any{object{"token": []any{}}, object{}},
	}, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the OpenAPI document: %w", err)
	}
	return append(text, '\n'), nil
}

// describe writes one operation.
func (op operation) describe(sch schemas) object {
	about := parameters()
	params := []any{}
	for _, name := range op.query {
		params = append(params, object{"name": name, "in": "query", "description": about[name], "schema": paramSchema(name)})
	}
	for _, name := range op.headers {
		params = append(params, object{"name": name, "in": "header", "description": about[name], "schema": object{"type": "string"}})
	}
	answers := object{}
	for status, r := range op.answers {
		answers[strconv.Itoa(status)] = r.describe(sch)
	}
	problems := maps.Clone(op.problems)
	if problems == nil {
		problems = map[int][]string{}
	}
	problems[http.StatusUnauthorized] = []string{"unauthorized"}
	problems[http.StatusForbidden] = []string{"foreign_host", "foreign_origin"}
	for status, words := range problems {
		answers[strconv.Itoa(status)] = object{
			"description": "code: " + strings.Join(words, " or "),
			"content": object{"application/json": object{"schema": object{
				"allOf": []any{sch.of(reflect.TypeFor[Problem]()), object{"properties": object{"code": object{"enum": words}}}},
			}}},
		}
	}
	d := object{"operationId": op.id, "summary": op.summary, "parameters": params, "responses": answers}
	if op.body != nil {
		d["requestBody"] = object{"required": !op.optional, "content": object{"application/json": object{"schema": sch.of(op.body)}}}
	}
	return d
}

// paramSchema is what a parameter of a query may be.
func paramSchema(name string) object {
	if name == "since" {
		return object{"type": "integer", "minimum": 0}
	}
	return object{"type": "string"}
}

// describe writes one answer.
func (r reply) describe(sch schemas) object {
	d := object{"description": r.about}
	kind := r.kind
	if kind == "" {
		kind = "application/json"
	}
	if r.body != nil {
		d["content"] = object{kind: object{"schema": sch.of(r.body)}}
	}
	headers := object{}
	for _, name := range r.headers {
		headers[name] = object{"description": parameters()[name], "schema": object{"type": "string"}}
	}
	if len(headers) > 0 {
		d["headers"] = headers
	}
	return d
}

func (s *Server) getDocument(http.ResponseWriter, *http.Request) (*result, *problem) {
	return &result{status: http.StatusOK, text: s.document, kind: "application/json"}, nil
}

// words says what values a type has whose values are words.
func words() map[reflect.Type][]string {
	all := map[reflect.Type][]string{}
	for _, a := range fault.Actions() {
		t := reflect.TypeFor[fault.Action]()
		all[t] = append(all[t], string(a))
	}
	all[reflect.TypeFor[fault.LatencyAt]()] = []string{"", string(fault.LatencyAtResponse)}
	all[reflect.TypeFor[fault.LatencyMode]()] = []string{"", string(fault.LatencyFloor)}
	all[reflect.TypeFor[trace.Outcome]()] = []string{
		string(trace.OutcomeOpen), string(trace.OutcomeAnswered), string(trace.OutcomeReset), string(trace.OutcomeFIN), string(trace.OutcomeHang), string(trace.OutcomeUpstream),
	}
	return all
}
