package control

import (
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// However many watch, the state is looked at and written once for all of them; and a reader of any
// pace puts the same state together.
func TestAllReadersShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var v views
		looks := 0
		look := func() (object, error) {
			looks++
			return object{"now": float64(looks), "n": float64(time.Now().Unix()), "gone" + time.Now().Format("5"): true}, nil
		}
		const readers, rounds = 32, 100
		var all sync.WaitGroup
		for k := range readers {
			all.Go(func() {
				last, err := v.fresh(look)
				if err != nil {
					t.Error(err)
				}
				mine := applied(object{}, last.state).(object)
				for range rounds / (k + 1) {
					time.Sleep(time.Duration(k+1) * streamEvery)
					now, err := v.recent(look)
					if err != nil {
						t.Error(err)
					}
					text, err := now.since(last)
					if err != nil {
						t.Error(err)
					}
					if last = now; text == nil {
						continue
					}
					var m StreamMessage
					if err := json.Unmarshal(text, &m); err != nil || m.Type != "delta" {
						t.Error(err, m.Type)
					}
					mine = applied(mine, m.Patch).(object)
					delete(mine, "now")
					want := applied(object{}, now.state).(object)
					delete(want, "now")
					if diff := cmp.Diff(want, mine); diff != "" {
						t.Errorf("reader %d has (-want +got):\n%s", k, diff)
					}
				}
			})
		}
		all.Wait()
		if looks > readers+rounds+1 {
			t.Errorf("%d looks for %d rounds of %d readers", looks, rounds, readers)
		}
	})
}
