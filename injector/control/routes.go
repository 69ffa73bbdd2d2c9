package control

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// route is what a method of a path does. It has answered itself if both results are nil.
type route func(w http.ResponseWriter, r *http.Request) (*result, *problem)

// table is all routes, by path and method. openapi.json describes them, and a test
// compares the two.
func (s *Server) table() map[string]map[string]route {
	return map[string]map[string]route{
		"/v1/state":     {http.MethodGet: s.getState},
		"/v1/plan":      {http.MethodGet: s.getPlan, http.MethodPut: s.putPlan},
		"/v1/faults":    {http.MethodPost: s.postFault, http.MethodDelete: s.clearFaults},
		"/v1/clear":     {http.MethodPost: s.postClear},
		"/v1/phase":     {http.MethodPost: s.postPhase},
		"/v1/lease":     {http.MethodPost: s.postLease},
		"/v1/ledger":    {http.MethodGet: s.getLedger},
		"/v1/stream":    {http.MethodGet: s.getStream},
		"/metrics":      {http.MethodGet: s.getMetrics},
		"/openapi.json": {http.MethodGet: s.getDocument},
	}
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		// Its connection is being closed. An answer would say that it was done.
		panic(http.ErrAbortHandler)
	}
	defer s.work.Done()
	if p := s.guard(r); p != nil {
		send(w, nil, p)
		return
	}
	methods, known := s.routes[r.URL.Path]
	if !known {
		send(w, nil, refuse(http.StatusNotFound, "not_found", "there is no such path; GET /openapi.json lists them"))
		return
	}
	serve, known := methods[r.Method]
	if !known {
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		w.Header().Set("Allow", allowed)
		send(w, nil, refuse(http.StatusMethodNotAllowed, "method_not_allowed", r.Method+" is not possible here, but "+allowed))
		return
	}
	res, p := serve(w, r)
	if res != nil || p != nil {
		send(w, res, p)
	}
}
