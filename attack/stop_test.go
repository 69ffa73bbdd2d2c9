package attack_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// TestStopping stops a phase in every way, in both modes, at 1.005 s.
func TestStopping(t *testing.T) {
	for _, tc := range []struct {
		name  string
		phase attack.Phase
		abort bool
		want  error
	}{
		{"abort a rate", rate(time.Minute, 1000), true, attack.ErrAborted},
		{"cancel a rate", rate(time.Minute, 1000), false, context.Canceled},
		{"abort a full rate", rate(time.Minute, 3), true, attack.ErrAborted},
		{"abort a loop", calls(100, 5), true, attack.ErrAborted},
		{"cancel a loop", calls(100, 5), false, context.Canceled},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newBubbleWorld(t, after(1900*time.Millisecond))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				const at = 1005 * time.Millisecond
				time.AfterFunc(at, func() {
					if tc.abort {
						w.Abort()
					} else {
						cancel()
					}
				})
				got, err := w.Run(ctx, tc.phase)
				if !errors.Is(err, tc.want) {
					t.Errorf("the error is %v, want %v", err, tc.want)
				}
				tr := w.finish(t)
				if took := time.Since(w.start); took > at+100*time.Millisecond {
					t.Errorf("it took until %v", took)
				}
				checkStopped(t, tc.phase, got, tr, at)
			})
		})
	}
}

func checkStopped(t *testing.T, p attack.Phase, got trace.Phase, tr *trace.Trace, at time.Duration) {
	t.Helper()
	want := trace.Phase{Name: "one", To: at, OpenLoop: true, Planned: 101, Sent: min(101, p.MaxInFlight)}
	want.Saturated = want.Planned - want.Sent
	if p.Schedule == nil {
		want.OpenLoop, want.Planned, want.Sent, want.Saturated = false, p.Calls, p.Concurrency, 0
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phase (-want +got):\n%s", diff)
	}
	if len(tr.Calls) != got.Sent {
		t.Errorf("%d calls were recorded, %d sent", len(tr.Calls), got.Sent)
	}
	for _, c := range tr.Calls {
		if c.Err != trace.ErrCanceled || c.Status != 0 || c.Class != "" || c.End != at {
			t.Fatalf("a call that was stopped is %+v", c)
		}
	}
}

func TestAfterAbortNothingIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(0))
		w.Abort()
		if _, err := w.Run(t.Context(), rate(time.Second, 1)); !errors.Is(err, attack.ErrAborted) {
			t.Errorf("run: %v", err)
		}
		if _, err := w.Once(t.Context(), 2, 0, match.Target{Path: "/"}); !errors.Is(err, attack.ErrAborted) {
			t.Errorf("once: %v", err)
		}
		if tr := w.finish(t); len(tr.Attempts) != 0 {
			t.Errorf("%d requests arrived", len(tr.Attempts))
		}
	})
}

func TestWaitHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(1900*time.Millisecond))
		w.run(t, rate(50*time.Millisecond, 100))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := w.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait: %v", err)
		}
		if took := time.Since(w.start); took != 1050*time.Millisecond {
			t.Errorf("it waited until %v", took)
		}
		w.finish(t)
	})
}

func TestTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			if strings.HasPrefix(r.URL.Path, "/body") {
				rw.WriteHeader(http.StatusOK)
				_ = http.NewResponseController(rw).Flush()
			}
			<-r.Context().Done()
		})
		for seq, path := range []string{"/headers", "/body"} {
			c, err := w.Once(t.Context(), 2, uint64(seq), match.Target{Path: path})
			if err != nil {
				t.Fatal(err)
			}
			late := c.End - c.Send - 2*time.Second
			if c.Err != trace.ErrTimeout || late <= 0 || late >= time.Microsecond || c.Answered() {
				t.Errorf("%s: %+v", path, c)
			}
			if got := c.First != trace.None; got != (path == "/body") {
				t.Errorf("%s: first byte at %v, status %d", path, c.First, c.Status)
			}
		}
		w.finish(t)
	})
}

// TestOwnDeadlineIsAStop tells the caller's deadline from a call's timeout.
func TestOwnDeadlineIsAStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(time.Minute))
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c, err := w.Once(ctx, 2, 0, match.Target{Path: "/"})
		if err != nil || c.Err != trace.ErrCanceled {
			t.Errorf("%+v, %v", c, err)
		}
		w.finish(t)
	})
}
