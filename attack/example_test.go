package attack_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/faultline-go/faultline/attack"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// Five calls, one after the other, of which the recorder keeps what the client saw.
func ExampleAttacker_Run() {
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"state":"PAID"}`))
	}))
	defer service.Close()
	recorder := trace.NewRecorder(time.Now())
	a, err := attack.New(attack.Config{
		BaseURL: service.URL, Recorder: recorder, Timeout: time.Second,
		Correlator: match.Correlator{Run: 1, Phases: []string{"trip"}},
		Classes:    match.Classes{{Name: match.ClassPrimary, JSONPath: map[string]any{"$.state": "PAID"}}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	phase, err := a.Run(context.Background(), attack.Phase{
		Index: 0, Name: "trip", Targets: []match.Target{{Name: "checkout", Method: http.MethodPost, Path: "/checkout"}},
		Calls: 5, Concurrency: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range recorder.Snapshot(trace.Header{}).Calls {
		fmt.Println(c.ID, c.Status, c.Class)
	}
	fmt.Println(phase.Sent, "sent")
	// Output:
	// trip/0 200 primary
	// trip/1 200 primary
	// trip/2 200 primary
	// trip/3 200 primary
	// trip/4 200 primary
	// 5 sent
}
