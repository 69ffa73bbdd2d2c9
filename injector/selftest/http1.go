package selftest

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// http1 is what the protocol is called.
const http1 = "HTTP/1.1"

// ms is a millisecond.
const ms = time.Millisecond

// stubBody is what a healthy dependency answers here: 20 bytes.
const stubBody = `{"charged":"twenty"}`

// contracts are all of them.
func contracts() []contract {
	all := slices.Concat(answers(), latencies(), lateAnswers(), endings(), cuts(), malformations(), afterwards(), shapes(), doors())
	for i := range all {
		all[i].protocol = http1
	}
	return slices.Concat(all, webSockets(), tlsContracts(), tcpContracts(), overHTTP2(), overTLS(), grpc())
}

// looks reports whether what came matches a pattern as a whole, and how it ended.
func looks(pattern string, end End) func(Observation) bool {
	re := regexp.MustCompile(`^(?s:` + pattern + `)$`)
	return func(o Observation) bool { return o.End == end && re.Match(o.Bytes) }
}

// all reports whether all hold.
func all(checks ...func(Observation) bool) func(Observation) bool {
	return func(o Observation) bool {
		return !slices.ContainsFunc(checks, func(c func(Observation) bool) bool { return !c(o) })
	}
}

// notBefore reports whether the last byte, or the end if there is none, came no earlier.
func notBefore(d time.Duration) func(Observation) bool {
	return func(o Observation) bool { return o.last() >= d }
}

// afterThePhase reports whether the last byte, or the end if there is none, came when the
// phase was to end, and not earlier.
func afterThePhase(o Observation) bool { return o.Over > 0 && o.last() >= o.Over }

// stub is the healthy dependency.
func stub() injector.Stub { return injector.Stub{Respond: fault.Respond{Status: 200, Body: stubBody}} }

// passing is the healthy answer in a form.
func passing(f fault.Form) fault.Rule { return fault.Rule{Action: fault.ActionPass, Form: f} }

// answers are canned answers.
func answers() []contract {
	respond := func(r fault.Respond) fault.Rule { return fault.Rule{Action: fault.ActionRespond, Respond: r} }
	return []contract{
		{
			fault: "respond: 503", expected: "a complete 503 of its length; the connection stays open",
			rule:  respond(fault.Respond{Status: 503, Body: "down"}),
			holds: looks(`HTTP/1\.1 503 Service Unavailable\r\n.*Content-Length: 4\r\n.*\r\n\r\ndown`, None),
		},
		{
			fault: "respond: {status: 429, headers, body}", expected: "status, header and body as given",
			rule:  respond(fault.Respond{Status: 429, Headers: map[string]string{"X-Limit": "5"}, Body: `{"error":1}`}),
			holds: looks(`HTTP/1\.1 429 .*X-Limit: 5\r\n.*\r\n\r\n\{"error":1\}`, None),
		},
		{
			fault: "respond: {status: 503, retry_after: 2s}", expected: "Retry-After: 2",
			rule:  respond(fault.Respond{Status: 503, RetryAfter: &fault.RetryAfter{In: 2 * time.Second}}),
			holds: looks(`HTTP/1\.1 503 .*Retry-After: 2\r\n.*`, None),
		},
		{
			fault: "respond: {status: 503, retry_after: {date: 60s}}", expected: "Retry-After: a date 60 s after the one in Date",
			rule:  respond(fault.Respond{Status: 503, RetryAfter: &fault.RetryAfter{In: time.Minute, Date: true}}),
			holds: dated(time.Minute),
		},
		{
			fault: "respond: {status: 200, fill: 1MiB}", expected: "a complete body of 1048576 bytes",
			rule: respond(fault.Respond{Status: 200, Fill: 1 << 20}),
			holds: func(o Observation) bool {
				_, body, _ := bytes.Cut(o.Bytes, []byte("\r\n\r\n"))
				return o.End == None && len(body) == 1<<20
			},
		},
		{
			fault: "respond: {status: 200, header_fill: 64KiB}", expected: "a header of 65536 bytes",
			rule: respond(fault.Respond{Status: 200, HeaderFill: 64 << 10}),
			holds: func(o Observation) bool {
				_, rest, _ := bytes.Cut(o.Bytes, []byte("X-Faultline-Fill: "))
				value, _, _ := bytes.Cut(rest, []byte("\r\n"))
				return o.End == None && len(value) == 64<<10
			},
		},
		{
			fault: "ratio: 0%", expected: "the healthy answer, and the connection stays open",
			rule: fault.Rule{Action: fault.ActionReset, Select: fault.Select{Kind: fault.SelectRatio, Den: 100}}, stub: stub(),
			holds: looks(`HTTP/1\.1 200 .*\r\n\r\n`+regexp.QuoteMeta(stubBody), None),
		},
	}
}

// dated reports whether Retry-After is so long after Date.
func dated(d time.Duration) func(Observation) bool {
	return func(o Observation) bool {
		value := func(name string) time.Time {
			_, rest, _ := strings.Cut(string(o.Bytes), name+": ")
			text, _, _ := strings.Cut(rest, "\r\n")
			at, err := http.ParseTime(text)
			if err != nil {
				return time.Time{}
			}
			return at
		}
		// The two may have been written in two different seconds.
		late := value("Retry-After").Sub(value("Date"))
		return late >= d-time.Second && late <= d+time.Second
	}
}

// latencies are answers that come late.
func latencies() []contract {
	late := fault.Latency{Min: 80 * ms, Max: 80 * ms}
	return []contract{
		{
			fault: "latency: 80ms", expected: "no byte before 80 ms have passed", stub: stub(),
			rule: fault.Rule{Action: fault.ActionPass, Latency: late},
			holds: func(o Observation) bool {
				return o.first() >= 80*ms && bytes.HasPrefix(o.Bytes, []byte("HTTP/1.1 200 "))
			},
		},
		{
			fault: "latency: 80ms, reset", expected: "RST, not before 80 ms have passed", recorded: trace.OutcomeReset,
			rule:  fault.Rule{Action: fault.ActionReset, Latency: late, Stealth: true},
			holds: func(o Observation) bool { return o.End == RST && o.Ended >= 80*ms },
		},
		{
			fault: "hang", expected: "no byte and no end", recorded: trace.OutcomeHang,
			rule: fault.Rule{Action: fault.ActionHang}, holds: looks(``, None),
		},
		{
			fault: "hang, and the phase ends", expected: "no byte of an answer; then FIN, when the phase ends", recorded: trace.OutcomeHang,
			rule: fault.Rule{Action: fault.ActionHang, Stealth: true}, ends: true, holds: all(looks(``, FIN), afterThePhase),
		},
	}
}

// endings are connections that end instead of an answer.
func endings() []contract {
	return []contract{
		{
			fault: "reset", expected: `"HTTP/1.1 ", then RST`, recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset}, holds: looks(`HTTP/1\.1 `, RST),
		},
		{
			fault: "reset, stealth", expected: "RST before any byte", recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset, Stealth: true}, holds: looks(``, RST),
		},
		{
			fault: "close", expected: `"HTTP/1.1 ", then FIN`, recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose}, holds: looks(`HTTP/1\.1 `, FIN),
		},
		{
			fault: "close, stealth", expected: "FIN before any byte", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose, Stealth: true}, holds: looks(``, FIN),
		},
		{
			fault: "close, after 1 MiB of a request", expected: "FIN and not RST, although the request has a large body", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose, Stealth: true}, holds: looks(``, FIN),
			request: "POST /charges HTTP/1.1\r\nHost: selftest\r\nContent-Length: 1048576\r\n\r\n" + strings.Repeat("x", 1<<20),
		},
		{
			fault: "garbage: 200", expected: "200 bytes that are no HTTP, then FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionGarbage, Garbage: 200},
			holds: func(o Observation) bool {
				return o.End == FIN && len(o.Bytes) == 200 && !bytes.Contains(o.Bytes, []byte("HTTP/")) && len(bytes.TrimLeft(o.Bytes, string(o.Bytes[:1]))) > 100
			},
		},
	}
}

// cuts are answers that end before their end.
func cuts() []contract {
	cut := func(at fault.CutAt, n int64, by fault.Action) fault.Rule {
		return passing(fault.Form{Cut: &fault.Cut{At: at, Bytes: n, By: by}})
	}
	const head = `HTTP/1\.1 200 OK\r\n.*Content-Length: 20\r\n.*\r\n\r\n`
	return []contract{
		{
			fault: "cut: {at: head, by: reset}", expected: "status line and a header, no end of the head, then RST", recorded: trace.OutcomeReset,
			rule: cut(fault.CutHead, 0, fault.ActionReset), stub: stub(), holds: looks(`HTTP/1\.1 200 OK\r\n[^\r]+\r\n`, RST),
		},
		{
			fault: "cut: {at: head, by: hang}", expected: "status line and a header, then nothing", recorded: trace.OutcomeHang,
			rule: cut(fault.CutHead, 0, fault.ActionHang), stub: stub(), holds: looks(`HTTP/1\.1 200 OK\r\n[^\r]+\r\n`, None),
		},
		{
			fault: "cut: {at: body, by: hang}", expected: "a whole head that announces 20 bytes, then nothing", recorded: trace.OutcomeHang,
			rule: cut(fault.CutBody, 0, fault.ActionHang), stub: stub(), holds: looks(head, None),
		},
		{
			fault: "cut: {at: body, bytes: 7, by: reset}", expected: "7 of the 20 bytes that are announced, then RST", recorded: trace.OutcomeReset,
			rule: cut(fault.CutBody, 7, fault.ActionReset), stub: stub(), holds: looks(head+`\{"charg`, RST),
		},
		{
			fault: "cut: {at: body, bytes: 7, by: close}", expected: "7 of the 20 bytes that are announced, then FIN", recorded: trace.OutcomeFIN,
			rule: cut(fault.CutBody, 7, fault.ActionClose), stub: stub(), holds: looks(head+`\{"charg`, FIN),
		},
		{
			fault: "respond: 500, cut: {at: body, bytes: 2, by: reset}", expected: "2 of the 4 bytes of the canned answer, then RST", recorded: trace.OutcomeReset,
			rule: fault.Rule{
				Action: fault.ActionRespond, Respond: fault.Respond{Status: 500, Body: "down"},
				Form: fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: 2, By: fault.ActionReset}},
			},
			holds: looks(`HTTP/1\.1 500 .*Content-Length: 4\r\n.*\r\n\r\ndo`, RST),
		},
	}
}

// malformations are answers that are not what HTTP, or their head, says.
func malformations() []contract {
	made := make([]contract, 0, len(fault.Malformations()))
	body := regexp.QuoteMeta(stubBody)
	for _, m := range []struct {
		is       fault.Malformed
		expected string
		pattern  string
		end      End
	}{
		{fault.BadStatusLine, "a status line without a status, then FIN", `HTTP/1\.1 abc .*\r\n\r\n` + body, FIN},
		{fault.BadHeader, "a header line without a colon, then FIN", `HTTP/1\.1 200 OK\r\na header without a colon\r\n.*` + body, FIN},
		{fault.LengthTwice, "Content-Length 20 and 21, then FIN", `.*Content-Length: 20\r\nContent-Length: 21\r\n.*` + body, FIN},
		{fault.LengthNegative, "Content-Length -1, then FIN", `.*Content-Length: -1\r\n.*` + body, FIN},
		{fault.LengthTooLong, "41 bytes announced, 20 sent, then FIN", `.*Content-Length: 41\r\n.*\r\n\r\n` + body, FIN},
		{fault.LengthMissing, "neither length nor chunks, half of the body, then FIN", `HTTP/1\.1 200 OK\r\n.*Connection: close\r\n\r\n\{"charged"`, FIN},
		{fault.BadChunk, "a chunk of half of the body, then one whose size is ZZ, then FIN", `.*Transfer-Encoding: chunked\r\n.*\r\n\r\na\r\n\{"charged"\r\nZZ\r\n`, FIN},
		{fault.NoLastChunk, "the body as a chunk and no last chunk, then FIN", `.*\r\n\r\n14\r\n` + body + `\r\n`, FIN},
		{fault.BadGzip, "called gzip, and is none; its length is right", `.*Content-Encoding: gzip\r\n.*Content-Length: 29\r\n.*\r\n\r\nno gzip: ` + body, None},
		{fault.BadJSON, "half of the body, with its length", `.*Content-Length: 10\r\n.*\r\n\r\n\{"charged"`, None},
		{fault.WrongType, "called text/html, and is JSON", `.*Content-Type: text/html; charset=utf-8\r\n.*` + body, None},
		{fault.ContinueForNobody, "101 Switching Protocols that nobody asked for, then FIN", `HTTP/1\.1 101 .*\r\n\r\n`, FIN},
	} {
		c := contract{
			fault: fmt.Sprintf("malformed: %s", m.is), expected: m.expected, stub: stub(),
			rule: passing(fault.Form{Malformed: m.is}), holds: looks(m.pattern, m.end),
		}
		if m.end == FIN {
			c.recorded = trace.OutcomeFIN
		}
		made = append(made, c)
	}
	return append(made, contract{
		fault: "malformed: flipped_bytes", expected: "20 bytes of which two are others", stub: stub(),
		rule: passing(fault.Form{Malformed: fault.FlippedBytes}),
		holds: func(o Observation) bool {
			_, got, _ := bytes.Cut(o.Bytes, []byte("\r\n\r\n"))
			differ := 0
			for i := range min(len(got), len(stubBody)) {
				if got[i] != stubBody[i] {
					differ++
				}
			}
			return o.End == None && len(got) == len(stubBody) && differ == 2
		},
	})
}

// afterwards are what becomes of a connection after a complete answer.
func afterwards() []contract {
	after := func(do fault.AfterDo, wait time.Duration) fault.Rule {
		return passing(fault.Form{After: &fault.After{Do: do, Wait: wait}})
	}
	body := regexp.QuoteMeta(stubBody)
	silent := func(o Observation) bool { return !bytes.Contains(o.Bytes, []byte("Connection:")) }
	return []contract{
		{
			fault: "connection: tell", expected: "a complete answer with Connection: close, then FIN", stub: stub(),
			rule: after(fault.AfterTell, 0), holds: looks(`.*Connection: close\r\n.*`+body, FIN),
		},
		{
			fault: "connection: {then: close, wait: 60ms}", expected: "a complete answer that keeps the connection, then FIN after 60 ms of idling", stub: stub(),
			rule:  after(fault.AfterClose, 60*ms),
			holds: all(looks(`HTTP/1\.1 200 .*`+body, FIN), silent, func(o Observation) bool { return o.Ended >= 60*ms }),
		},
		{
			fault: "connection: reset", expected: "a complete answer that keeps the connection, then RST", stub: stub(),
			rule: after(fault.AfterReset, 20*ms), holds: all(looks(`HTTP/1\.1 200 .*`+body, RST), silent),
		},
		{
			fault: "connection: half", expected: "a complete answer, then FIN; what is sent after that is still read", stub: stub(),
			rule: after(fault.AfterHalf, 0), holds: looks(`HTTP/1\.1 200 .*`+body, FIN),
		},
	}
}

// doors are what becomes of those who connect.
func doors() []contract {
	return []contract{
		{
			fault: "refuse", expected: "connection refused, at once", unseen: true,
			rule: fault.Rule{Action: fault.ActionRefuse}, holds: func(o Observation) bool { return o.End == Refused },
		},
		{
			fault: "unreachable", expected: "no answer to the connection", unseen: true,
			rule: fault.Rule{Action: fault.ActionUnreachable}, holds: func(o Observation) bool { return o.End == Unanswered },
		},
		{
			fault: "deaf", expected: "a connection on which no byte comes", unseen: true,
			rule: fault.Rule{Action: fault.ActionDeaf}, holds: looks(``, None),
		},
		{
			fault: "deaf, and the phase ends", expected: "no byte until the phase ends, then the healthy answer", stub: stub(), ends: true,
			rule:  fault.Rule{Action: fault.ActionDeaf},
			holds: all(looks(`HTTP/1\.1 200 .*`+regexp.QuoteMeta(stubBody), None), afterThePhase),
		},
	}
}

// shapes are answers that are sent slowly or in pieces.
func shapes() []contract {
	body := regexp.QuoteMeta(stubBody)
	return []contract{
		{
			fault: "inform: {status: 103, times: 3}", expected: "three 103 before the answer", stub: stub(),
			rule:  passing(fault.Form{Inform: &fault.Inform{Status: 103, Times: 3}}),
			holds: looks(`(HTTP/1\.1 103 Early Hints\r\n\r\n){3}HTTP/1\.1 200 .*`+body, None),
		},
		{
			fault: "inform: {status: 102, times: 2, every: 40ms}", expected: "102 at once and after 40 ms, the answer after 80 ms", stub: stub(),
			rule:  passing(fault.Form{Inform: &fault.Inform{Status: 102, Times: 2, Every: 40 * ms}}),
			holds: all(looks(`(HTTP/1\.1 102 Processing\r\n\r\n){2}HTTP/1\.1 200 .*`+body, None), notBefore(80*ms)),
		},
		{
			fault: "drip: {chunks: 5, over: 120ms}", expected: "the body in five parts, the last one 120 ms after the head", stub: stub(),
			rule: passing(fault.Form{Drip: &fault.Drip{Chunks: 5, Over: 120 * ms}}),
			holds: all(looks(`HTTP/1\.1 200 .*`+body, None), func(o Observation) bool {
				return o.last() >= 120*ms && len(o.Parts) >= 2
			}),
		},
		{
			fault: "slice: {size: 40B, gap: 10ms}", expected: "head and body in pieces of 40 bytes, 10 ms apart, then FIN", stub: stub(),
			rule: passing(fault.Form{Slice: &fault.Slice{Size: 40, Gap: 10 * ms}}),
			holds: all(looks(`HTTP/1\.1 200 .*`+body, FIN), func(o Observation) bool {
				return o.last() >= time.Duration(len(o.Bytes)/40)*10*ms && len(o.Parts) >= 2
			}),
		},
		{
			fault: "bandwidth: 200KiB/s", expected: "40 KiB take 200 ms, and not ten times that",
			stub: injector.Stub{Respond: fault.Respond{Status: 200, Fill: 40 << 10}},
			rule: passing(fault.Form{Bandwidth: 200 << 10}),
			holds: func(o Observation) bool {
				return o.last() >= 195*ms && o.last() < 2*time.Second && len(o.Bytes) > 40<<10
			},
		},
		{
			fault: "read: 8MiB/s", expected: "of a request of 2 MiB, the last byte is taken in after 150 ms at the earliest, and it is answered after 245 ms", stub: stub(),
			rule: fault.Rule{Action: fault.ActionPass, ReadRate: 8 << 20}, patience: time.Second,
			request: "POST / HTTP/1.1\r\nHost: selftest\r\nContent-Length: 2097152\r\n\r\n" + strings.Repeat("x", 2<<20),
			holds:   all(looks(`HTTP/1\.1 200 .*`+body, None), notBefore(245*ms), func(o Observation) bool { return o.Sent >= 150*ms }),
		},
	}
}
