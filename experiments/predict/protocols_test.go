package predict_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/experiments/predict"
)

// streams is an experiment with a service of one's own that speaks HTTP/2, and a fault
// in its second phase.
const streams = `
apiVersion: faultline/v1
kind: Experiment
metadata: { name: streams }
sut: { base_url: http://127.0.0.1:8080 }
injectors: { payments: { listen: 127.0.0.1:9901, INJECTOR stub: { status: 200, latency: 2ms } } }
load: { timeout: 2s, targets: [ { name: pay, path: /pay } ] }
breakers: { payments: { window: 10, minimum_calls: 10, wait: 1s, permitted_calls: 3 } }
phases:
  - { name: healthy, load: { calls: 20, gap: 5ms } }
  - { name: trip, load: { calls: 30, gap: 5ms }, faults: [ { FAULT } ] }
assert:
  - { id: fine, error.share: { max: 0% }, phase: healthy }
  - { id: ill, error.share: { min: 50% }, phase: trip }
  - { id: calls, downstream.calls: { max: 10 }, phase: trip }
`

// What a fault of HTTP/2, gRPC or TLS comes to is said where it follows from what is
// declared, and else said not to.
func TestProtocols(t *testing.T) {
	decided := map[string]predict.Can{}
	after := map[string]predict.Can{"ill": predict.NotPredicted, "calls": predict.NotPredicted}
	for fault, want := range map[string]struct {
		undecided map[string]predict.Can
		words     string
	}{
		"h2: { reset: CANCEL }": {decided, "RST_STREAM CANCEL"},
		"h2: { reset: { code: INTERNAL_ERROR, at: body, bytes: 1B } }":     {decided, "RST_STREAM INTERNAL_ERROR after 1 bytes of the body"},
		"grpc: { messages: aGk=, end: reset, code: CANCEL }":               {decided, "gRPC that ends by RST_STREAM CANCEL"},
		"respond: { status: 503 }, h2: { goaway: NO_ERROR }":               {decided, "503 GOAWAY NO_ERROR"},
		"h2: { reset: REFUSED_STREAM }":                                    {after, "RST_STREAM REFUSED_STREAM"},
		"h2: abort":                                                        {after, "RST under all streams"},
		"h2: { goaway: { last: none } }":                                   {after, "GOAWAY NO_ERROR for all requests"},
		"h2: { goaway: { fin: true } }":                                    {after, "GOAWAY NO_ERROR and FIN"},
		"grpc: UNAVAILABLE":                                                {decided, "gRPC UNAVAILABLE"},
		"grpc: { end: no_trailers }":                                       {decided, "gRPC without trailers"},
		"grpc: { messages: aGk=, frame: compressed }":                      {after, "gRPC OK with the last message compressed"},
		"settings: { initial_window_size: 1KiB, no_window_updates: true }": {after, "HTTP/2 with a window of 1KiB, no WINDOW_UPDATE"},
		"TLS tls: expired":                                                 {after, "TLS expired"},
		"TLS tls: { alert: 40 }, first: 2, match: { sni: '*.local' }":      {after, "first 2 TLS alert 40 for sni *.local"},
	} {
		t.Run(fault, func(t *testing.T) {
			fault, secured := strings.CutPrefix(fault, "TLS ")
			tls := ""
			if secured {
				tls = "tls: true,"
			}
			stub := "status: 200"
			if strings.HasPrefix(fault, "grpc") {
				stub = "grpc: { messages: '' }"
			}
			f := forecast(t, strings.NewReplacer("INJECTOR", tls, "FAULT", fault, "status: 200", stub).Replace(streams))
			if diff := cmp.Diff(want.undecided, undecided(f)); diff != "" {
				t.Errorf("what cannot be decided (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{want.words}, f.Phases[1].Faults); diff != "" {
				t.Errorf("the fault in words (-want +got):\n%s", diff)
			}
			said := strings.Join(f.Supposed, "\n")
			if !secured && !strings.Contains(said, "it speaks HTTP/2 to payments") || secured && !strings.Contains(said, "it trusts the certificate of payments") ||
				strings.Contains(said, "more than can be guessed") {
				t.Errorf("supposed is %s", said)
			}
		})
	}
}

// What ends a connection ends all requests that share it.
func TestSharedConnections(t *testing.T) {
	const stub = "stub: { status: 200, latency: 2ms }"
	for fault, shared := range map[string]bool{
		"close: true": true, "garbage: 10B": true, "cut: { at: body, by: close }": true, "cut: { at: start }": true, "reset: true, stealth: true": true,
		"connection: close": true, "reset: true": false, "cut: { at: body }": false, "connection: tell": false, "hang: true": false,
	} {
		for answers, multiplexed := range map[string]bool{stub: false, "stub: { grpc: { messages: '' }, latency: 2ms }": true, "tls: { protocols: h2 }, " + stub: true, "tls: true, " + stub: false} {
			src := strings.NewReplacer("INJECTOR", "", stub, answers, "FAULT", fault).Replace(streams)
			if got := about(t, forecast(t, src), "calls").Can == predict.NotPredicted; got != (shared && multiplexed) {
				t.Errorf("%s with %s: not predicted is %v", fault, answers, got)
			}
		}
	}
}

// Silence is a hang: the service's patience ends it.
func TestSilentGoAwayHangs(t *testing.T) {
	f := forecast(t, strings.NewReplacer("INJECTOR", "", "FAULT", "h2: { goaway: { last: none } }").Replace(streams))
	if got := f.Phases[1].Lasts.Least; got < 1e9 {
		t.Errorf("the phase lasts %s, want the service's patience", got)
	}
}

// Codes on which clients are known to storm are warned of.
func TestStormsAreWarnedOf(t *testing.T) {
	for code, want := range map[string]int{"PROTOCOL_ERROR": 1, "CANCEL": 0} {
		f := forecast(t, strings.NewReplacer("INJECTOR", "", "FAULT", "h2: { reset: "+code+" }").Replace(streams))
		if len(f.Warnings) != want {
			t.Errorf("%s: warnings %v", code, f.Warnings)
		}
	}
}

// What a breaker counts of gRPC decides what is foreseen of it.
func TestGRPCFailures(t *testing.T) {
	const opens = `
  - { id: opens, breaker.opens: payments, phase: trip }
`
	for _, tc := range []struct {
		failure, fault string
		want           predict.Can
	}{
		{"[5xx, reset, eof, timeout, grpc]", "grpc: UNAVAILABLE", predict.CanDecide},
		{"[grpc:UNAVAILABLE]", "grpc: UNAVAILABLE", predict.CanDecide},
		{"[grpc:UNAVAILABLE]", "grpc: NOT_FOUND", predict.CannotDecide},
		{"[5xx]", "grpc: UNAVAILABLE", predict.CannotDecide},
		{"[grpc]", "grpc: { end: no_trailers }", predict.CanDecide},
		{"[grpc:UNAVAILABLE]", "grpc: { end: no_trailers }", predict.NotPredicted},
		{"[grpc:no_status]", "grpc: { end: no_trailers }", predict.CanDecide},
		{"[grpc]", "respond: { status: 503 }", predict.CanDecide},
		{"[grpc]", "grpc: OK", predict.NotPredicted},
		{"[grpc, grpc:no_message]", "grpc: OK", predict.CanDecide},
		{"[grpc]", "grpc: { messages: aGk=, frame: compressed }", predict.NotPredicted},
		{"[grpc, grpc:unreadable]", "grpc: { messages: aGk=, frame: compressed }", predict.CanDecide},
		{"[grpc]", "grpc: { messages: aGk= }, malformed: flipped_bytes", predict.NotPredicted},
		{"[grpc]", "grpc: { headers: { content-type: text/plain } }", predict.NotPredicted},
		{"[grpc]", "grpc: { messages: aGk=, end: reset, code: CANCEL }", predict.CannotDecide},
		{"[reset]", "grpc: { messages: aGk=, end: reset, code: CANCEL }", predict.CanDecide},
	} {
		src := strings.NewReplacer("INJECTOR", "", "FAULT", tc.fault, "status: 200", "grpc: { messages: '' }", "wait: 1s,", "wait: 1s, failure: "+tc.failure+",").Replace(streams) + opens[1:]
		if got := about(t, forecast(t, src), "opens"); got.Can != tc.want {
			t.Errorf("failure %s, fault %s: %s, want %s: %s", tc.failure, tc.fault, got.Can, tc.want, got.Reason)
		}
	}
}

// A stub of HTTP is no good dependency to who speaks gRPC.
func TestHTTPStubForGRPC(t *testing.T) {
	f := forecast(t, strings.NewReplacer("INJECTOR", "", "FAULT", "grpc: UNAVAILABLE").Replace(streams))
	if got := about(t, f, "fine"); got.Can != predict.Contradicts {
		t.Errorf("%s: %s", got.Can, got.Reason)
	}
	if said := strings.Join(f.Supposed, "\n"); !strings.Contains(said, "it speaks gRPC to payments, and takes what its stub answers, which is HTTP, for a failure") {
		t.Errorf("supposed is %s", said)
	}
}
