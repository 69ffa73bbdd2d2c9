package control_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/control"
)

// A time to live is above 0 and at most what it may be, however it is written; what is refused adds nothing.
func TestTimesToLive(t *testing.T) {
	a := begin(t, control.Config{}, injector.Config{}, "dep")
	const rule = `{"action":"respond","respond":{"status":503},"match":{"path":"/x"}}`
	for _, ttl := range []string{
		"", " ", "0", "0s", "-0s", "-1s", "-9223372036854775808ns", "15m0.000000001s", "15m1s", "900.1s", "9223372036854775807ns", "9223372036854775808ns", "99999999999h",
		"1e3s", "NaN", "NaNs", "Inf", "Infs", "1", "5 s", " 5s", "5s ", "5S", "5sec", "0x5s", "５s", "1m30", "5s\x00", "null", "0.0000000001s",
	} {
		body, err := json.Marshal(map[string]any{"rule": json.RawMessage(rule), "ttl": ttl})
		if err != nil {
			t.Fatal(err)
		}
		a.want(422, "invalid", "POST", "/v1/faults", string(body))
	}
	for _, ttl := range []string{"5", "null", "-5", "1e300", "true", "[]", "{}"} {
		want := 400
		if ttl == "null" {
			want = 422 // As none.
		}
		if got := a.ask("POST", "/v1/faults", `{"rule":`+rule+`,"ttl":`+ttl+`}`); got.status != want {
			t.Errorf("%s: %d %s", ttl, got.status, got.body)
		}
	}
	if got := a.state().Injectors[0].Rules; len(got) != 0 {
		t.Fatalf("something was added: %+v", got)
	}
	for k, ttl := range []string{"1ns", "+5s", "15m", "900s", "0.25h", "14m59.999999999s"} {
		path := fmt.Sprintf(`{"action":"respond","respond":{"status":503},"match":{"path":"/%d"}}`, k)
		before := time.Now()
		got := a.want(201, "", "POST", "/v1/faults", `{"rule":`+path+`,"ttl":"`+ttl+`"}`)
		var added control.AddedFault
		if err := json.Unmarshal([]byte(got.body), &added); err != nil {
			t.Fatal(err)
		}
		if lasts, err := time.ParseDuration(ttl); err != nil || added.Until.Before(before.Add(lasts).Add(-time.Millisecond)) || added.Until.After(time.Now().Add(lasts)) {
			t.Errorf("%s ends at %v, asked for at %v", ttl, added.Until, before)
		}
	}
	// The first one is over before anybody can meet it.
	resp, err := http.Get(a.deps[0].URL() + "/0")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Errorf("a fault of 1ns hits: %d", resp.StatusCode)
	}
}
