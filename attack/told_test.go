package attack_test

import (
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
)

// TestWhatAnAnswerTells has every second call refused: the trace has when to come again, and on
// which connection each was sent.
func TestWhatAnAnswerTells(t *testing.T) {
	var n atomic.Int64
	w := newLoopbackWorld(t, func(rw http.ResponseWriter, _ *http.Request) {
		switch k := n.Add(1); {
		case k%4 == 0: // And hangs up.
			rw.Header().Set("Connection", "close")
			fallthrough
		case k%2 == 0:
			rw.Header().Set("Retry-After", strconv.FormatInt(k, 10))
			rw.WriteHeader(http.StatusTooManyRequests)
		default:
			_, _ = io.WriteString(rw, "ok")
		}
	})
	w.run(t, calls(40, 1))
	tr := w.finish(t)
	if len(tr.Calls) != 40 {
		t.Fatalf("%d calls are recorded", len(tr.Calls))
	}
	for i, c := range tr.Calls {
		want := ""
		if c.Status == http.StatusTooManyRequests {
			want = strconv.Itoa(i + 1)
		}
		if c.RetryAfter != want || c.Port == 0 {
			t.Errorf("call %d, with status %d: Retry-After %q, want %q; port %d", i+1, c.Status, c.RetryAfter, want, c.Port)
		}
		if closed := i%4 == 0; i > 0 && (c.Port != tr.Calls[i-1].Port) != closed {
			t.Errorf("call %d was sent on port %d, the one before on %d, and the connection had ended: %t", i+1, c.Port, tr.Calls[i-1].Port, closed)
		}
	}
}
