package attack_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// thinking is a phase of n clients for d.
func thinking(n int, least, most, d time.Duration) attack.Phase {
	return attack.Phase{
		Name: "one", Targets: []match.Target{{Name: "search", Path: "/search"}}, Seed: 3,
		Clients: n, ThinkMin: least, ThinkMax: most, Duration: d,
	}
}

// underWay is how many calls are under way when each call is sent, itself included.
func underWay(cs []trace.Call) int {
	most := 0
	for _, c := range cs {
		n := 0
		for _, other := range cs {
			if other.Send <= c.Send && c.Send < other.End {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// TestClientsThink shows that a closed loop is bound by its answers: each client
// makes a call every 100 ms, which are 20 ms of waiting and 80 ms of thought.
func TestClientsThink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(20*time.Millisecond))
		out := w.run(t, thinking(5, 80*time.Millisecond, 80*time.Millisecond, 10*time.Second))
		calls := w.finish(t).Calls
		if out.Sent != len(calls) || out.Planned != out.Sent || out.Dropped+out.Saturated > 0 || out.OpenLoop {
			t.Errorf("%+v of %d calls", out, len(calls))
		}
		if out.To-out.From != 10*time.Second {
			t.Errorf("the phase took %v", out.To-out.From)
		}
		if len(calls) < 490 || len(calls) > 500 {
			t.Errorf("%d calls, want nearly 5 x 100", len(calls))
		}
		if n := underWay(calls); n > 5 {
			t.Errorf("%d calls under way, of 5 clients", n)
		}
	})
}

// TestClientsWaitForAStall shows what an open loop cannot: while the
// service stands still nobody asks for more, and afterwards everybody is there.
func TestClientsWaitForAStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		w := newBubbleWorld(t, func(rw http.ResponseWriter, r *http.Request) {
			if now := time.Since(start); now > time.Second && now < 2*time.Second {
				time.Sleep(2*time.Second - now)
			}
			after(time.Millisecond)(rw, r)
		})
		w.run(t, thinking(20, 50*time.Millisecond, 150*time.Millisecond, 3*time.Second))
		calls := w.finish(t).Calls
		stalled, after := 0, 0
		for _, c := range calls {
			switch {
			case c.Send > 1200*time.Millisecond && c.Send < 2*time.Second:
				stalled++
			case c.Send >= 2*time.Second && c.Send < 2200*time.Millisecond:
				after++
			}
		}
		if stalled > 0 || after < 20 {
			t.Errorf("%d calls during the stall, %d right after it", stalled, after)
		}
	})
}

// TestClientsDoNotComeAtOnce, and with the same seed they come the same way.
func TestClientsDoNotComeAtOnce(t *testing.T) {
	first := func() []time.Duration {
		var sent []time.Duration
		synctest.Test(t, func(t *testing.T) {
			w := newBubbleWorld(t, after(time.Millisecond))
			w.run(t, thinking(10, 0, time.Second, time.Second))
			for _, c := range w.finish(t).Calls {
				sent = append(sent, c.Send)
			}
		})
		return sent
	}
	a, b := first(), first()
	if len(a) < 10 || a[9]-a[0] < 100*time.Millisecond {
		t.Errorf("the first calls were sent at %v", a[:min(10, len(a))])
	}
	if encode(t, a) != encode(t, b) {
		t.Errorf("sent at %v and at %v", a, b)
	}
}

// TestClientsThinkEvenly: the pauses of one client lie in the range and fill it.
func TestClientsThinkEvenly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const least, most = 50 * time.Millisecond, 150 * time.Millisecond
		w := newBubbleWorld(t, after(time.Millisecond))
		w.run(t, thinking(1, least, most, time.Minute))
		calls := w.finish(t).Calls
		if len(calls) < 500 || calls[0].Send > most {
			t.Fatalf("%d calls, the first at %v", len(calls), calls[0].Send)
		}
		tenths := make([]int, 10)
		for i := 1; i < len(calls); i++ {
			thought := calls[i].Send - calls[i-1].End
			if thought < least || thought > most {
				t.Fatalf("%s was sent %v after the answer before", calls[i].ID, thought)
			}
			tenths[min(9, (thought-least)*10/(most-least))]++
		}
		for i, n := range tenths {
			if n < 30 || n > 90 {
				t.Errorf("%d of %d thoughts are in tenth %d of the range: %v", n, len(calls)-1, i, tenths)
			}
		}
	})
}

// TestClientsWithoutThought ask again at once, and never two at one instant.
func TestClientsWithoutThought(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(10*time.Millisecond))
		w.run(t, thinking(4, 0, 0, time.Second))
		calls := w.finish(t).Calls
		if len(calls) < 380 || len(calls) > 404 {
			t.Errorf("%d calls of 4 clients at 10 ms each", len(calls))
		}
		for i := 1; i < len(calls); i++ {
			if calls[i].Send <= calls[i-1].Send {
				t.Fatalf("calls %d and %d were sent at %v and %v", i-1, i, calls[i-1].Send, calls[i].Send)
			}
		}
	})
}

// TestClientsLeaveStragglers: the phase ends on time although answers are due.
func TestClientsLeaveStragglers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(1500*time.Millisecond))
		out := w.run(t, thinking(3, 0, 0, time.Second))
		if out.To-out.From != time.Second || out.Sent != 3 {
			t.Errorf("%+v", out)
		}
		if calls := w.finish(t).Calls; len(calls) != 3 || !calls[2].Answered() {
			t.Errorf("%+v", calls)
		}
	})
}

// TestClientsStop: an abort ends the phase at once.
func TestClientsStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newBubbleWorld(t, after(10*time.Second))
		time.AfterFunc(500*time.Millisecond, w.Abort)
		out, err := w.Run(t.Context(), thinking(3, 0, 0, time.Minute))
		if err == nil || out.Sent != 3 || out.To-out.From > 600*time.Millisecond {
			t.Errorf("%+v, %v", out, err)
		}
		w.finish(t)
	})
}

func TestClientsThatCannotBe(t *testing.T) {
	w := newLoopbackWorld(t, after(0))
	defer w.finish(t)
	for name, change := range map[string]func(*attack.Phase){
		"none":              func(p *attack.Phase) { p.Clients = 0 },
		"no duration":       func(p *attack.Phase) { p.Duration = 0 },
		"negative thought":  func(p *attack.Phase) { p.ThinkMin = -1 },
		"more than at most": func(p *attack.Phase) { p.ThinkMin = 2 * time.Second },
		"calls as well":     func(p *attack.Phase) { p.Calls = 3 },
		"a limit as well":   func(p *attack.Phase) { p.MaxInFlight = 3 },
	} {
		p := thinking(2, 0, time.Second, time.Second)
		change(&p)
		if _, err := w.Run(t.Context(), p); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
