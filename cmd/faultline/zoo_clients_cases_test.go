package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// clientSection is a table of the page: faults that the same clients are asked about.
type clientSection struct {
	title   string
	intro   string
	clients []string
	cases   []clientCase
}

// clientCase is one fault, and how clients ask for it.
type clientCase struct {
	name  string // its row in the table
	wire  string // what happens, in a few words
	rules []fault.Rule

	tls  *injector.TLS // nil: plain
	grpc bool          // the healthy answer is one of gRPC
	h2   bool          // HTTP/2 is spoken
	// again asks after a healthy call on the same client, and hits that one request only.
	again bool
	// twice makes two calls at once, after one that opens the connection; connections are counted.
	twice bool
	body  int // bytes to POST; 0: GET

	broken bool // the answer is not whole, and a client could know it
	silent bool // nothing comes, so that a lost patience is to be expected
}

// stormEnds is how many requests of one call are hit. Those beyond get nothing, which is the
// end of a storm that a client would make as long as its patience lasts.
const stormEnds = 50

// hits sets what a rule needs, and has it hit all, or the second request alone.
func (c clientCase) hits() []fault.Rule {
	var rules []fault.Rule
	ends := false
	for n, r := range c.rules {
		r.ID = fmt.Sprintf("asked/%d", n)
		r.Select = fault.Select{Kind: fault.SelectAll}
		switch {
		case c.again:
			r.Select = fault.Select{Kind: fault.SelectScript, Pattern: ".X"}
		case r.Action.Layer() == fault.LayerRequest && !r.Action.Door():
			r.Select, ends = fault.Select{Kind: fault.SelectFirst, First: stormEnds}, true
		}
		rules = append(rules, r)
	}
	if ends {
		rules = append(rules, fault.Rule{ID: "asked/storm", Action: fault.ActionHang, Select: fault.Select{Kind: fault.SelectAll}})
	}
	return rules
}

// The clients, by what they are asked with. Names are the columns of the tables.
func overHTTP1() []string {
	return []string{
		"go net/http", "curl", "java HttpURLConnection", "java HttpClient", "java Apache HttpClient 5", "java OkHttp",
		"node http", "node fetch (undici)", "python urllib", "python requests", "python httpx",
	}
}

func overHTTP2() []string {
	return []string{
		"go net/http", "curl", "java HttpClient", "java Apache HttpClient 5", "java OkHttp",
		"node http2", "node fetch (undici)", "python httpx",
	}
}

// thoseThatReuse leaves out urllib, which closes each connection.
func thoseThatReuse() []string {
	var some []string
	for _, c := range overHTTP1() {
		if c != "python urllib" {
			some = append(some, c)
		}
	}
	return some
}

// clientSections are all tables.
func clientSections() []clientSection {
	return []clientSection{
		{
			title: "HTTP/1.1, a new connection", clients: overHTTP1(), cases: newConnections(),
			intro: "Each request is hit.",
		},
		{
			title: "HTTP/1.1, a connection that was used before", clients: thoseThatReuse(), cases: usedConnections(),
			intro: "A healthy call comes first. Then only the first request of the call is hit: an answer means that the client sent it again, and that the program saw nothing. " +
				"urllib is not here, as it closes each connection. The POST has a body of two bytes and no `Idempotency-Key`.",
		},
		{
			title: "No connection", clients: overHTTP1(), cases: closedDoors(),
			intro: "Requests that never came are not counted.",
		},
		{
			title: "TLS", clients: overHTTP1(), cases: handshakes(),
			intro: "Each client trusts the injector's CA, so the fault is all that is wrong; connections are counted. " +
				"`node fetch` is that of the package `undici` here and for HTTP/2, as the one that Node has takes no CA.",
		},
		{
			title: "HTTP/2", clients: overHTTP2(), cases: streams(),
			intro: "Over TLS, chosen by ALPN; the first request is on a new connection, and each is hit. Apache HttpClient 5 is the asynchronous one. " +
				"`7` stands for faults after 7 bytes of the body.",
		},
		{
			title: "gRPC", clients: []string{"grpc-go", "grpc-java", "grpc-js", "grpcio"}, cases: grpcCalls(),
			intro: "Over HTTP/2 without TLS: a unary call without metadata whose healthy answer is a message of 3 bytes, with a deadline of one second; each request is hit.",
		},
	}
}

// passing answers in a form.
func passing(f fault.Form) fault.Rule { return fault.Rule{Action: fault.ActionPass, Form: f} }

// newConnections are the faults of an answer over HTTP/1.1.
func newConnections() []clientCase {
	all := []clientCase{
		{name: "healthy", wire: "200 and 20 bytes", rules: []fault.Rule{{Action: fault.ActionPass}}},
		{name: "reset", wire: "RST within the status line", rules: []fault.Rule{{Action: fault.ActionReset}}, broken: true},
		{name: "reset-stealth", wire: "RST, no byte", rules: []fault.Rule{{Action: fault.ActionReset, Stealth: true}}, broken: true},
		{name: "close", wire: "FIN within the status line", rules: []fault.Rule{{Action: fault.ActionClose}}, broken: true},
		{name: "close-stealth", wire: "FIN, no byte", rules: []fault.Rule{{Action: fault.ActionClose, Stealth: true}}, broken: true},
		{name: "hang", wire: "nothing", rules: []fault.Rule{{Action: fault.ActionHang}}, broken: true, silent: true},
		{name: "garbage", wire: "200 random bytes, FIN", rules: []fault.Rule{{Action: fault.ActionGarbage, Garbage: 200}}, broken: true},
	}
	all = append(all, cuts(fault.ActionReset, fault.ActionClose, fault.ActionHang)...)
	wire := malformations()
	for _, m := range fault.Malformations() {
		all = append(all, clientCase{
			name: "malformed-" + string(m), wire: wire[m], rules: []fault.Rule{passing(fault.Form{Malformed: m})},
			broken: m != fault.BadJSON && m != fault.WrongType && m != fault.FlippedBytes && m != fault.LengthMissing,
		})
	}
	return all
}

// malformations says what they are.
func malformations() map[fault.Malformed]string {
	return map[fault.Malformed]string{
		fault.BadStatusLine: "`HTTP/1.1 abc`", fault.BadHeader: "a header without a colon", fault.LengthTwice: "two lengths that differ",
		fault.LengthNegative: "`Content-Length: -1`", fault.LengthTooLong: "more announced than sent, FIN",
		fault.LengthMissing: "no length, half of the body, FIN", fault.BadChunk: "a chunk whose size is no number",
		fault.NoLastChunk: "chunks without the last, FIN", fault.BadGzip: "called gzip, and is none", fault.BadJSON: "half of the JSON, soundly framed",
		fault.WrongType: "JSON called `text/html`", fault.FlippedBytes: "one byte in 16 is another",
		fault.ContinueForNobody: "101 that nobody asked for, FIN",
	}
}

// cuts end an answer before its end.
func cuts(by ...fault.Action) []clientCase {
	var all []clientCase
	end := map[fault.Action]string{fault.ActionReset: "RST", fault.ActionClose: "FIN", fault.ActionHang: "nothing more"}
	for _, by := range by {
		for _, at := range []fault.CutAt{fault.CutHead, fault.CutBody} {
			cut, wire := fault.Cut{At: at, By: by}, "a status line and a header, then "
			if at == fault.CutBody {
				cut.Bytes, wire = 7, "the head and 7 of 20 bytes, then "
			}
			all = append(all, clientCase{
				name: fmt.Sprintf("cut-%s-%s", at, by), wire: wire + end[by], rules: []fault.Rule{passing(fault.Form{Cut: &cut})},
				broken: true, silent: by == fault.ActionHang,
			})
		}
	}
	return all
}

// usedConnections are those that a client may hide.
func usedConnections() []clientCase {
	all := slices.Concat(newConnections()[1:5], cuts(fault.ActionReset, fault.ActionClose))
	for _, c := range newConnections()[1:5] {
		c.name, c.body = c.name+" of a POST", 2
		all = append(all, c)
	}
	for n := range all {
		all[n].again = true
	}
	return all
}

// closedDoors are faults of all that connect.
func closedDoors() []clientCase {
	return []clientCase{
		{name: "refuse", wire: "nobody listens", rules: []fault.Rule{{Action: fault.ActionRefuse}}, broken: true},
		{name: "unreachable", wire: "no answer to a SYN", rules: []fault.Rule{{Action: fault.ActionUnreachable}}, broken: true, silent: true},
		{name: "deaf", wire: "connected, and nobody reads", rules: []fault.Rule{{Action: fault.ActionDeaf}}, broken: true, silent: true},
	}
}

// handshakes are faults of TLS.
func handshakes() []clientCase {
	does := func(do fault.TLSDo) fault.Rule { return fault.Rule{Action: fault.ActionTLS, TLS: &fault.TLS{Do: do}} }
	slow, refused, internal := does(fault.TLSSlow), does(fault.TLSAlert), does(fault.TLSAlert)
	slow.Latency = fault.Latency{Min: 100 * time.Millisecond, Max: 100 * time.Millisecond}
	refused.TLS.Alert, internal.TLS.Alert = 40, 80
	open := passing(fault.Form{Malformed: fault.LengthMissing})
	all := []clientCase{
		{name: "healthy", wire: "200 and 20 bytes", rules: []fault.Rule{{Action: fault.ActionPass}}},
		{name: "slow", wire: "100 ms before the ServerHello", rules: []fault.Rule{slow}},
		{name: "stall", wire: "no ServerHello", rules: []fault.Rule{does(fault.TLSStall)}, silent: true, broken: true},
		{name: "reset", wire: "RST instead of it", rules: []fault.Rule{does(fault.TLSReset)}, broken: true},
		{name: "close", wire: "FIN instead of it", rules: []fault.Rule{does(fault.TLSClose)}, broken: true},
		{name: "alert-40", wire: "handshake_failure", rules: []fault.Rule{refused}, broken: true},
		{name: "alert-80", wire: "internal_error", rules: []fault.Rule{internal}, broken: true},
		{name: "expired", wire: "a certificate that was good until yesterday", rules: []fault.Rule{does(fault.TLSExpired)}, broken: true},
		{name: "wrong_host", wire: "a certificate for another name", rules: []fault.Rule{does(fault.TLSWrongHost)}, broken: true},
		{name: "unknown_ca", wire: "a certificate of another CA", rules: []fault.Rule{does(fault.TLSUnknownCA)}, broken: true},
		{name: "old_version", wire: "TLS 1.0 and 1.1 alone", rules: []fault.Rule{does(fault.TLSOldVersion)}, broken: true},
		{name: "no_close_notify", wire: "the answer with its length, then FIN alone", rules: []fault.Rule{does(fault.TLSNoCloseNotify)}},
		{name: "half-notified", wire: "no length, half of the body, close_notify and FIN", rules: []fault.Rule{open}},
		{name: "half-unnotified", wire: "no length, half of the body, FIN alone", rules: []fault.Rule{does(fault.TLSNoCloseNotify), open}, broken: true},
	}
	for n := range all {
		all[n].tls = &injector.TLS{}
	}
	return all
}
