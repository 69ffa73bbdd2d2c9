package injector_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/match"
	"github.com/faultline-go/faultline/target/trace"
)

// call has a client of HTTP/2 call, as one of gRPC does where kind is application/grpc.
func call(t *testing.T, url, kind string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/charges.Charges/Charge", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	resp, err := h2Client(t).Do(req)
	if err == nil {
		io.Copy(io.Discard, resp.Body) // Some are meant to break off.
		resp.Body.Close()
	}
}

// onlyAttempt is what the one attempt at d was recorded as.
func onlyAttempt(t *testing.T, d dependency) trace.Attempt {
	t.Helper()
	as := d.attempts(t)
	if len(as) != 1 {
		t.Fatalf("%d attempts", len(as))
	}
	return as[0]
}

const ofGRPC = "application/grpc"

// The status of an answer is recorded, whoever asked.
func TestGRPCStatusIsRecorded(t *testing.T) {
	type answers = fault.GRPC
	hi := []string{"aGk="}
	malformed := func(m fault.Malformed) fault.Form { return fault.Form{Malformed: m} }
	for _, tc := range []struct {
		name string
		g    answers
		form fault.Form
		head map[string]string
		want string
	}{
		{"OK", answers{}, fault.Form{}, nil, trace.GRPCNoMessage},
		{"OK, after an empty message", answers{Messages: []string{""}}, fault.Form{}, nil, "OK"},
		{"OK, after messages", answers{Messages: hi}, fault.Form{}, nil, "OK"},
		{"trailers-only", answers{Status: "UNAVAILABLE"}, fault.Form{}, nil, "UNAVAILABLE"},
		{"after messages", answers{Status: "UNAUTHENTICATED", Messages: hi}, fault.Form{}, nil, "UNAUTHENTICATED"},
		{"dripped", answers{Status: "NOT_FOUND", Messages: hi}, fault.Form{Drip: &fault.Drip{Chunks: 2, Over: ms}}, nil, "NOT_FOUND"},
		{"no trailers", answers{End: fault.GRPCNoTrailers, Messages: hi}, fault.Form{}, nil, trace.GRPCNoStatus},
		{"no trailers or messages", answers{End: fault.GRPCNoTrailers}, fault.Form{}, nil, trace.GRPCNoStatus},
		{"reset", answers{End: fault.GRPCReset, Code: "CANCEL"}, fault.Form{}, nil, ""},
		{"a frame that lies", answers{Frame: fault.GRPCTooLong, Messages: hi}, fault.Form{}, nil, trace.GRPCUnreadable},
		{"flipped bytes", answers{Messages: hi}, malformed(fault.FlippedBytes), nil, trace.GRPCUnreadable},
		{"another type", answers{}, fault.Form{}, map[string]string{"Content-Type": "text/html"}, trace.GRPCUnreadable},
		{"a bad header", answers{Status: "UNAVAILABLE"}, malformed(fault.BadHeader), nil, ""},
	} {
		for _, kind := range []string{ofGRPC, "text/plain"} {
			t.Run(tc.name+" to "+kind, func(t *testing.T) {
				r := rule(fault.ActionRespond)
				r.Respond, r.Form = fault.Respond{GRPC: &tc.g, Headers: tc.head}, tc.form
				d := start(t, injector.Config{}, r)
				call(t, d.URL(), kind)
				if a := onlyAttempt(t, d); a.GRPC != tc.want {
					t.Errorf("recorded %q, want %q: %+v", a.GRPC, tc.want, a)
				}
			})
		}
	}
}

// An answer of HTTP to a caller of gRPC has no status of gRPC, and one to another caller is none of
// gRPC.
func TestHTTPAnswersToGRPC(t *testing.T) {
	for kind, want := range map[string]string{
		ofGRPC: trace.GRPCNoStatus, "application/grpc+proto": trace.GRPCNoStatus, "Application/gRPC; x": trace.GRPCNoStatus,
		"application/grpc-web": "", "application/json": "",
	} {
		d := start(t, injector.Config{}, rule(fault.ActionRespond))
		call(t, d.URL(), kind)
		if a := onlyAttempt(t, d); a.GRPC != want || a.Status != 503 {
			t.Errorf("%s: recorded %d %q, want %q", kind, a.Status, a.GRPC, want)
		}
	}
	d := start(t, injector.Config{}, rule(fault.ActionRespond))
	if resp, err := client(t).Post(d.URL(), ofGRPC, http.NoBody); err != nil {
		t.Fatal(err)
	} else {
		resp.Body.Close()
	}
	if a := onlyAttempt(t, d); a.GRPC != "" {
		t.Errorf("over HTTP/1.1: recorded %q", a.GRPC)
	}
}

// The status of an upstream is recorded as it is passed on, from its trailers or from its head,
// also if the answer gets another form.
func TestGRPCStatusOfUpstream(t *testing.T) {
	for _, tc := range []struct {
		name, kind, head, trailer, want string
	}{
		{"trailer", ofGRPC, "", "7", "PERMISSION_DENIED"},
		{"trailers-only", ofGRPC, "14", "", "UNAVAILABLE"},
		{"good", ofGRPC, "", "0", "OK"},
		{"unknown number", ofGRPC, "", "17", "17"},
		{"not a number", ofGRPC, "", "down", trace.GRPCNoStatus},
		{"none", ofGRPC, "", "", trace.GRPCNoStatus},
		{"another type", "text/html", "", "", trace.GRPCNoStatus},
		{"another type with a status", "text/html", "0", "", trace.GRPCUnreadable},
	} {
		for _, drips := range []bool{false, true} {
			t.Run(tc.name, func(t *testing.T) {
				server := h2cServer(t, func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", tc.kind)
					if tc.head != "" {
						w.Header().Set("Grpc-Status", tc.head)
						return
					}
					w.Write([]byte{0, 0, 0, 0, 1, 1})
					if tc.trailer != "" {
						w.Header().Set(http.TrailerPrefix+"Grpc-Status", tc.trailer)
					}
				})
				var rules []fault.Rule
				if drips {
					r := rule(fault.ActionPass)
					r.Form.Drip = &fault.Drip{Chunks: 2, Over: ms}
					rules = append(rules, r)
				}
				d := start(t, injector.Config{Upstream: server}, rules...)
				call(t, d.URL(), ofGRPC)
				if a := onlyAttempt(t, d); a.GRPC != tc.want || a.Status != 200 {
					t.Errorf("recorded %d %q, want %q", a.Status, a.GRPC, tc.want)
				}
			})
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	d := start(t, injector.Config{Upstream: gone.URL})
	call(t, d.URL(), ofGRPC)
	if a := onlyAttempt(t, d); a.Outcome != trace.OutcomeUpstream || a.GRPC != trace.GRPCNoStatus {
		t.Errorf("no upstream: recorded %+v", a)
	}
}

// h2cServer is the URL of a server of HTTP/2 with prior knowledge.
func h2cServer(t *testing.T, h http.HandlerFunc) string {
	s := httptest.NewUnstartedServer(h)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return "h2c" + s.URL[len("http"):]
}

// What can be written as a failure is what is recorded.
func TestGRPCStatusesHaveWords(t *testing.T) {
	codes := fault.GRPCCodes()
	names := make([]string, len(codes))
	for i, c := range codes {
		names[i] = string(c)
	}
	if diff := cmp.Diff(names, match.GRPCStatuses()); diff != "" {
		t.Errorf("sent and counted (-sent +counted):\n%s", diff)
	}
	for _, word := range []string{trace.GRPCNoStatus, trace.GRPCUnreadable, trace.GRPCNoMessage} {
		if _, err := match.ParseFailure([]string{"grpc:" + word}); err != nil {
			t.Error(err)
		}
	}
}
