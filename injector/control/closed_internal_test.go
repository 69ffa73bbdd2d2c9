package control

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// Who comes while the API ends is not told that something was done.
func TestAnEndedAPIAnswersNothing(t *testing.T) {
	s := &Server{closed: true}
	w := httptest.NewRecorder()
	defer func() {
		if p := recover(); p != any(http.ErrAbortHandler) || w.Body.Len() > 0 {
			t.Errorf("%v, and it said %q", p, w.Body)
		}
	}()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/clear", nil))
	t.Error("it answered 200")
}
