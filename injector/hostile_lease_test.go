package injector_test

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/faultline-go/faultline/injector"
)

// A lease that is renewed at the very instant of its end has lapsed, one instant earlier it has not. Of many
// who renew it at that instant, the first is told: the others renew the one that he has begun.
func TestALeaseAtItsEnd(t *testing.T) {
	const lease = 5 * time.Second
	for early, want := range map[time.Duration]bool{1: false, 0: true, -1: true} {
		synctest.Test(t, func(t *testing.T) {
			p := newPipes()
			w := &world{net: p, dependency: start(t, injector.Config{Listen: p.listen, Lease: lease}, answering(503))}
			w.client = newClient(p)
			for range 20 {
				if err := w.Renew(); err != nil {
					t.Fatal(err)
				}
				w.Enter("p")
				time.Sleep(lease - early)
				var all sync.WaitGroup
				var mu sync.Mutex
				lapsed := 0
				for range 8 {
					all.Go(func() {
						err := w.Renew()
						mu.Lock()
						defer mu.Unlock()
						if errors.Is(err, injector.ErrLapsed) {
							lapsed++
						} else if err != nil {
							t.Error(err)
						}
					})
				}
				all.Wait()
				if off := len(w.State().Rules) == 0; off != want || (lapsed == 1) != want || w.State().Lease.Lapsed {
					t.Errorf("%v before its end: %d were told that it had lapsed, faults are off: %t", early, lapsed, off)
				}
			}
			w.client.CloseIdleConnections()
		})
	}
}
