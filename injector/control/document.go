package control

import (
	_ "embed"
	"net/http"
)

// document is the OpenAPI document, which is checked against the handlers by a test.
//
//go:embed openapi.json
var document []byte

func (s *Server) getDocument(http.ResponseWriter, *http.Request) (*result, *problem) {
	return &result{status: http.StatusOK, text: document, kind: "application/json"}, nil
}
