package control

import (
	"maps"
	"net/http"
	"reflect"

	"github.com/faultline-go/faultline/injector/fault"
)

// operation describes what one method of a path does.
type operation struct {
	method, path, id, summary string

	query    []string         // parameters; parameters says what they are
	headers  []string         // of the request
	body     reflect.Type     // of the request; nil: none
	optional bool             // the body may be left out
	answers  map[int]*reply   // of success
	problems map[int][]string // the words of the others; those that any request may get are left out
}

// reply is an answer of success.
type reply struct {
	about   string
	kind    string // the media type; empty: application/json
	body    reflect.Type
	headers []string
}

// The words of problems that several operations have.
func bodyProblems(more map[int][]string) map[int][]string {
	all := map[int][]string{
		http.StatusBadRequest:            {"bad_body"},
		http.StatusRequestEntityTooLarge: {"too_large"},
		http.StatusUnsupportedMediaType:  {"media_type"},
	}
	for status, words := range more {
		all[status] = append(all[status], words...)
	}
	return all
}

// operations are all of them; a test compares them with the routes.
func operations() []operation {
	return append(reads(), append(plannedFaults(), changes()...)...)
}

// success is one answer.
func success(status int, r reply) map[int]*reply { return map[int]*reply{status: &r} }

// which adds the problems of who must name an injector.
func which(more map[int][]string) map[int][]string {
	all := map[int][]string{http.StatusBadRequest: {"which_injector"}, http.StatusNotFound: {"unknown_injector"}}
	maps.Copy(all, more)
	return all
}

// reads are the operations that change nothing.
func reads() []operation {
	return []operation{
		{
			method: http.MethodGet, path: "/v1/state", id: "getState", summary: "What the injectors do now.",
			answers: success(200, reply{about: "The state.", body: reflect.TypeFor[State]()}),
		},
		{
			method: http.MethodGet, path: "/v1/plan", id: "getPlan", summary: "The plan in force: faults by phase.",
			query:    []string{"injector"},
			answers:  success(200, reply{about: "The plan.", body: reflect.TypeFor[fault.Script](), headers: []string{"ETag"}}),
			problems: which(nil),
		},
		{
			method: http.MethodGet, path: "/v1/ledger", id: "getLedger", summary: "The requests that reached the injectors, from a line on, up to 10000 of them.",
			query: []string{"since"},
			answers: success(200, reply{
				about: "One JSON object a line.", kind: "application/x-ndjson", body: reflect.TypeFor[Line](), headers: []string{HeaderNext, HeaderOpen},
			}),
			problems: map[int][]string{http.StatusBadRequest: {"bad_since"}},
		},
		{
			method: http.MethodGet, path: "/v1/stream", id: "stream",
			summary: "A WebSocket that tells of the state and of what changes. Nothing that is sent to it is heeded.",
			answers: success(101, reply{about: "Each message is a StreamMessage: a snapshot first, then deltas as JSON merge patches (RFC 7396)."}),
			problems: map[int][]string{
				http.StatusBadRequest: {"not_websocket"}, http.StatusServiceUnavailable: {"too_many_streams"},
			},
		},
		{
			method: http.MethodGet, path: "/metrics", id: "getMetrics", summary: "Metrics for Prometheus.",
			answers: success(200, reply{about: "The text format, version 0.0.4.", kind: metricsType, body: reflect.TypeFor[string]()}),
		},
		{
			method: http.MethodGet, path: "/openapi.json", id: "getDocument", summary: "This document.",
			answers: success(200, reply{about: "The document.", body: reflect.TypeFor[object]()}),
		},
	}
}

// plannedFaults are the operations that put faults in force.
func plannedFaults() []operation {
	return []operation{
		{
			method: http.MethodPut, path: "/v1/plan", id: "putPlan",
			summary: "Replace the plan as a whole and enter its phase with the current name. Requests under way end under the old plan.",
			query:   []string{"injector"}, headers: []string{"If-Match"}, body: reflect.TypeFor[fault.Script](),
			answers: success(200, reply{about: "It is in force.", body: reflect.TypeFor[PlanSet](), headers: []string{"ETag"}}),
			problems: bodyProblems(which(map[int][]string{
				http.StatusConflict: {"lapsed"}, http.StatusPreconditionFailed: {"stale"},
				http.StatusUnprocessableEntity: {"invalid"}, http.StatusNotImplemented: {"unsupported"},
			})),
		},
		{
			method: http.MethodPost, path: "/v1/faults", id: "addFault",
			summary: "Add a fault to the phase that is on, for some time or until the phase ends.",
			query:   []string{"injector"}, body: reflect.TypeFor[NewFault](),
			answers: success(201, reply{about: "It is in force.", body: reflect.TypeFor[AddedFault]()}),
			problems: bodyProblems(which(map[int][]string{
				http.StatusConflict: {"lapsed"}, http.StatusUnprocessableEntity: {"invalid"}, http.StatusNotImplemented: {"unsupported"},
			})),
		},
	}
}

// changes are the others.
func changes() []operation {
	return []operation{
		{
			method: http.MethodDelete, path: "/v1/faults", id: "deleteFaults", summary: "End all faults at once, those of the plan as well.",
			query:    []string{"injector"},
			answers:  success(200, reply{about: "No fault is in force.", body: reflect.TypeFor[Cleared]()}),
			problems: which(map[int][]string{http.StatusInternalServerError: {"door"}}),
		},
		{
			method: http.MethodPost, path: "/v1/clear", id: "clear", summary: "End all faults at once, those of the plan as well.",
			query: []string{"injector"}, body: reflect.TypeFor[struct{}](), optional: true,
			answers:  success(200, reply{about: "No fault is in force.", body: reflect.TypeFor[Cleared]()}),
			problems: bodyProblems(which(map[int][]string{http.StatusInternalServerError: {"door"}})),
		},
		{
			method: http.MethodPost, path: "/v1/phase", id: "enterPhase", summary: "Enter a phase of all injectors by its name, or the next one.",
			body:    reflect.TypeFor[PhaseChange](),
			answers: success(200, reply{about: "It is on.", body: reflect.TypeFor[PhaseSet]()}),
			problems: bodyProblems(map[int][]string{
				http.StatusNotFound: {"unknown_phase"}, http.StatusConflict: {"lapsed", "no_next"},
				http.StatusUnprocessableEntity: {"invalid"}, http.StatusNotImplemented: {"unsupported"},
			}),
		},
		{
			method: http.MethodPost, path: "/v1/lease", id: "renewLease", summary: "Tell that whoever is responsible for the faults is still there.",
			body: reflect.TypeFor[struct{}](), optional: true,
			answers:  success(200, reply{about: "Faults stay on.", body: reflect.TypeFor[LeaseSet]()}),
			problems: bodyProblems(map[int][]string{http.StatusConflict: {"no_lease"}}),
		},
	}
}
