package selftest

import (
	"context"
	"crypto/tls"
	"slices"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// overHTTP2 are the contracts of faults over HTTP/2 with prior knowledge.
func overHTTP2() []contract {
	all := slices.Concat(h2Answers(), h2Endings(), h2Cuts(), h2Malformations(), h2Shapes(), h2Resets(), h2GoAways(), h2Settings())
	for i := range all {
		all[i].protocol = "HTTP/2"
		if all[i].request == "" {
			all[i].request = get()
		}
		all[i].show = framesShown
	}
	return all
}

// overTLS are those of HTTP/2 that ALPN has chosen.
func overTLS() []contract {
	chosen := func(o Observation) bool { return o.TLS != nil && o.TLS.NegotiatedProtocol == "h2" }
	abort := fault.Rule{Action: fault.ActionPass, H2: &fault.H2{Abort: true}}
	made := []contract{
		{
			fault: "a healthy stub", expected: "the answer, and the connection stays open", stub: stub(),
			rule: fault.Rule{Action: fault.ActionPass}, holds: all(chosen, framed(h2Answer, None)),
		},
		{
			fault: "reset", expected: "RST_STREAM INTERNAL_ERROR; the connection stays open", recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset}, holds: all(chosen, framed(`RST_STREAM 1 INTERNAL_ERROR`, None)),
		},
		{
			fault: "close", expected: "GOAWAY, then close_notify and FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose}, holds: all(chosen, framed(`GOAWAY 1 NO_ERROR`, Notified)),
		},
		{
			fault: "h2: {abort: true}", expected: "RST of the connection without close_notify", recorded: trace.OutcomeReset,
			rule: abort, holds: all(chosen, framed(``, RST)),
		},
	}
	for i := range made {
		made[i].protocol, made[i].request, made[i].show = "HTTP/2 over TLS", get(), framesShown
		made[i].observer = caller(func(c *tls.Config) { c.NextProtos = []string{"h2"} })
		made[i].setUp = func(_ context.Context, cfg *injector.Config) (func(), error) {
			cfg.TLS = &injector.TLS{Names: []string{"selftest"}, Protocols: []string{"h2", "http/1.1"}}
			return func() {}, nil
		}
	}
	return made
}

// The frames of a healthy answer.
const (
	h2Head   = `HEADERS 1 :status=200 content-type=application/json content-length=20`
	h2Answer = h2Head + `; DATA 1 \{"charged":"twenty"\}; END 1`
)

// h2Answers are whole answers.
func h2Answers() []contract {
	late := fault.Latency{Min: 80 * ms, Max: 80 * ms}
	return []contract{
		{
			fault: "respond: 503", expected: "HEADERS with 503 and its length, DATA, END_STREAM; the connection stays open",
			rule:  fault.Rule{Action: fault.ActionRespond, Respond: fault.Respond{Status: 503, Body: "down"}},
			holds: framed(`HEADERS 1 :status=503 content-length=4; DATA 1 down; END 1`, None),
		},
		{
			fault: "latency: 80ms", expected: "no HEADERS before 80 ms have passed", stub: stub(),
			rule:  fault.Rule{Action: fault.ActionPass, Latency: late},
			holds: all(framed(h2Answer, None), came("HEADERS", 80*ms)),
		},
		{
			fault: "ratio: 0%", expected: "the healthy answer, and the connection stays open", stub: stub(),
			rule:  fault.Rule{Action: fault.ActionReset, Select: fault.Select{Kind: fault.SelectRatio, Den: 100}},
			holds: framed(h2Answer, None),
		},
		{
			fault: "slice: {size: 40B, gap: 10ms}", expected: "501 with a text that says that it has no meaning over HTTP/2", stub: stub(),
			rule:  passing(fault.Form{Slice: &fault.Slice{Size: 40, Gap: 10 * ms}}),
			holds: framed(`HEADERS 1 :status=501 .*; DATA 1 faultline: .*slice has no meaning over HTTP/2\.0.*; END 1`, None),
		},
	}
}

// h2Endings are streams, or connections, that end instead of an answer.
func h2Endings() []contract {
	return []contract{
		{
			fault: "reset", expected: "RST_STREAM INTERNAL_ERROR; the connection stays open", recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset}, holds: framed(`RST_STREAM 1 INTERNAL_ERROR`, None),
		},
		{
			fault: "reset, stealth", expected: "RST_STREAM REFUSED_STREAM; the connection stays open", recorded: trace.OutcomeReset,
			rule: fault.Rule{Action: fault.ActionReset, Stealth: true}, holds: framed(`RST_STREAM 1 REFUSED_STREAM`, None),
		},
		{
			fault: "close", expected: "GOAWAY NO_ERROR that calls the stream processed, then FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose}, holds: framed(`GOAWAY 1 NO_ERROR`, FIN),
		},
		{
			fault: "close, stealth", expected: "GOAWAY NO_ERROR that calls the stream not processed, then FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose, Stealth: true}, holds: framed(`GOAWAY 0 NO_ERROR`, FIN),
		},
		{
			fault: "close, while 16 MiB are on their way", expected: "FIN and not RST, although the client still sends", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionClose, Stealth: true}, holds: framed(`GOAWAY 0 NO_ERROR`, FIN),
			request: ask().request(1, "GET", "/charges", true).ignored(16 << 20).String(),
		},
		{
			fault: "hang", expected: "no frame and no end", recorded: trace.OutcomeHang,
			rule: fault.Rule{Action: fault.ActionHang}, holds: framed(``, None),
		},
		{
			fault: "hang, and the phase ends", expected: "no frame; then RST_STREAM CANCEL, when the phase ends", recorded: trace.OutcomeHang,
			rule: fault.Rule{Action: fault.ActionHang}, ends: true, holds: all(framed(`RST_STREAM 1 CANCEL`, None), came("RST_STREAM", patience/3)),
		},
		{
			fault: "garbage: 200", expected: "200 bytes that are no frame, then FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{Action: fault.ActionGarbage, Garbage: 200}, holds: framed(`200 bytes that are no frame`, FIN),
		},
	}
}

// h2Cuts are answers that end before their end.
func h2Cuts() []contract {
	cut := func(n int64, by fault.Action) fault.Rule {
		return passing(fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: n, By: by}})
	}
	return []contract{
		{
			fault: "cut: {at: body, bytes: 7, by: reset}", expected: "7 of the 20 bytes that are announced, then RST_STREAM INTERNAL_ERROR", recorded: trace.OutcomeReset,
			rule: cut(7, fault.ActionReset), stub: stub(), holds: framed(h2Head+`; DATA 1 \{"charg; RST_STREAM 1 INTERNAL_ERROR`, None),
		},
		{
			fault: "cut: {at: body, bytes: 7, by: close}", expected: "7 of the 20 bytes without END_STREAM, GOAWAY, then FIN", recorded: trace.OutcomeFIN,
			rule: cut(7, fault.ActionClose), stub: stub(), holds: framed(h2Head+`; DATA 1 \{"charg; GOAWAY 1 NO_ERROR`, FIN),
		},
		{
			fault: "cut: {at: body, bytes: 7, by: hang}", expected: "7 of the 20 bytes, then nothing", recorded: trace.OutcomeHang,
			rule: cut(7, fault.ActionHang), stub: stub(), holds: framed(h2Head+`; DATA 1 \{"charg`, None),
		},
	}
}

// h2Malformations are answers that break RFC 9113, section 8.2 or 8.1.1.
func h2Malformations() []contract {
	made := make([]contract, 0, len(fault.Malformations()))
	const data = `; DATA 1 \{"charged":"twenty"\}; END 1`
	for _, m := range []struct {
		is       fault.Malformed
		expected string
		pattern  string
	}{
		{fault.BadStatusLine, ":status is abc", `HEADERS 1 :status=abc .*` + data},
		{fault.BadHeader, "a field whose name is none", `malformed HEADERS 1 .*` + data},
		{fault.LengthTwice, "content-length 20 and 21", `.*content-length=20 content-length=21` + data},
		{fault.LengthNegative, "content-length -1", `.*content-length=-1` + data},
		{fault.LengthTooLong, "41 bytes announced, 20 sent, then END_STREAM", `.*content-length=41` + data},
		{fault.LengthMissing, "no content-length, half of the body, then END_STREAM", `HEADERS 1 :status=200 content-type=application/json; DATA 1 \{"charged"; END 1`},
		{fault.ContinueForNobody, "101, which HTTP/2 does not have, with END_STREAM", `HEADERS 1 :status=101 END`},
	} {
		made = append(made, contract{
			fault: "malformed: " + string(m.is), expected: m.expected, stub: stub(), recorded: trace.OutcomeFIN,
			rule: passing(fault.Form{Malformed: m.is}), holds: framed(m.pattern, None),
		})
	}
	return append(made, contract{
		fault: "malformed: json", expected: "half of the body, with its length", stub: stub(),
		rule: passing(fault.Form{Malformed: fault.BadJSON}), holds: framed(`.*content-length=10; DATA 1 \{"charged"; END 1`, None),
	}, contract{
		fault: "malformed: chunk", expected: "501 with a text that says that it has no meaning over HTTP/2", stub: stub(),
		rule: passing(fault.Form{Malformed: fault.BadChunk}), holds: framed(`HEADERS 1 :status=501 .*malformed chunk has no meaning.*; END 1`, None),
	})
}

// h2Shapes are answers that are sent slowly or in pieces, and what comes after them.
func h2Shapes() []contract {
	after := func(do fault.AfterDo) fault.Rule { return passing(fault.Form{After: &fault.After{Do: do, Wait: 0}}) }
	return []contract{
		{
			fault: "drip: {chunks: 5, over: 120ms}", expected: "the body in five parts, the last one 120 ms after the head", stub: stub(),
			rule:  passing(fault.Form{Drip: &fault.Drip{Chunks: 5, Over: 120 * ms}}),
			holds: all(framed(h2Answer, None), func(o Observation) bool { return came("END", o.first()+110*ms)(o) && len(o.Parts) >= 4 }),
		},
		{
			fault: "inform: {status: 103, times: 3}", expected: "three HEADERS with 103 before the answer", stub: stub(),
			rule:  passing(fault.Form{Inform: &fault.Inform{Status: 103, Times: 3}}),
			holds: framed(`(HEADERS 1 :status=103; ){3}`+h2Answer, None),
		},
		{
			fault: "bandwidth: 200KiB/s", expected: "40 KiB take 200 ms, and not three times that",
			stub:  injector.Stub{Respond: fault.Respond{Status: 200, Fill: 40 << 10}},
			rule:  passing(fault.Form{Bandwidth: 200 << 10}),
			holds: func(o Observation) bool { return came("END", 195*ms)(o) && !came("END", 600*ms)(o) },
		},
		{
			fault: "read_rate: 300KiB/s", expected: "a request of 60000 bytes is answered after 190 ms at the earliest", stub: stub(),
			rule: fault.Rule{Action: fault.ActionPass, ReadRate: 300 << 10}, request: post(60_000, true),
			holds: all(framed(h2Answer, None), came("HEADERS", 190*ms)),
		},
		{
			fault: "after: tell", expected: "GOAWAY NO_ERROR and a complete answer, then FIN", stub: stub(),
			rule: after(fault.AfterTell), holds: framed(`GOAWAY 1 NO_ERROR; `+h2Answer, FIN),
		},
		{
			fault: "after: close", expected: "a complete answer, then FIN without GOAWAY", stub: stub(),
			rule: after(fault.AfterClose), holds: framed(h2Answer, FIN),
		},
		{
			fault: "after: reset", expected: "a complete answer, then RST", stub: stub(),
			rule: after(fault.AfterReset), holds: framed(h2Answer, RST),
		},
	}
}

// h2Resets are RST_STREAM with any code.
func h2Resets() []contract {
	reset := func(code fault.ErrCode, at fault.CutAt, n int64) fault.Rule {
		return fault.Rule{Action: fault.ActionPass, H2: &fault.H2{Reset: &fault.StreamReset{Code: code, At: at, Bytes: n}}}
	}
	made := make([]contract, 0, len(fault.ErrCodes())+2)
	for _, code := range fault.ErrCodes() {
		made = append(made, contract{
			fault: "h2: {reset: " + string(code) + "}", expected: "RST_STREAM " + string(code) + " and no HEADERS; the connection stays open",
			recorded: trace.OutcomeReset, patience: 100 * ms,
			rule: reset(code, fault.CutStart, 0), holds: framed(`RST_STREAM 1 `+string(code), None),
		})
	}
	return append(made, contract{
		fault: "h2: {reset: {code: CANCEL, at: body}}", expected: "HEADERS, then RST_STREAM CANCEL", recorded: trace.OutcomeReset, stub: stub(),
		rule: reset("CANCEL", fault.CutBody, 0), holds: framed(h2Head+`; RST_STREAM 1 CANCEL`, None),
	}, contract{
		fault: "h2: {reset: {code: ENHANCE_YOUR_CALM, at: body, bytes: 7}}", expected: "HEADERS and 7 bytes, then RST_STREAM ENHANCE_YOUR_CALM",
		recorded: trace.OutcomeReset, stub: stub(),
		rule: reset("ENHANCE_YOUR_CALM", fault.CutBody, 7), holds: framed(h2Head+`; DATA 1 \{"charg; RST_STREAM 1 ENHANCE_YOUR_CALM`, None),
	})
}

// h2GoAways are connections that are told to go, or gone.
func h2GoAways() []contract {
	away := func(code fault.ErrCode, last fault.LastStream, fin bool) fault.Rule {
		return fault.Rule{Action: fault.ActionPass, H2: &fault.H2{GoAway: &fault.GoAway{Code: code, Last: last, FIN: fin}}}
	}
	two := ask().request(1, "GET", "/slow", true).request(3, "GET", "/charges", true).String()
	abort := fault.Rule{Action: fault.ActionPass, H2: &fault.H2{Abort: true}}
	beside := abort
	beside.Match.Path = "/charges"
	return []contract{
		{
			fault: "h2: {goaway: {code: NO_ERROR, last: this}}", expected: "GOAWAY, the complete answer, then FIN", stub: stub(),
			rule: away("NO_ERROR", fault.LastThis, false), holds: framed(`GOAWAY 1 NO_ERROR; `+h2Answer, FIN),
		},
		{
			fault: "h2: {goaway: {code: ENHANCE_YOUR_CALM, last: this, fin: true}}", expected: "GOAWAY that calls the stream processed, then FIN", recorded: trace.OutcomeFIN,
			rule: away("ENHANCE_YOUR_CALM", fault.LastThis, true), holds: framed(`GOAWAY 1 ENHANCE_YOUR_CALM`, FIN),
		},
		{
			fault: "h2: {goaway: {code: NO_ERROR, last: none}}", expected: "GOAWAY that calls no stream processed, then nothing", recorded: trace.OutcomeHang,
			rule: away("NO_ERROR", fault.LastNone, false), holds: framed(`GOAWAY 0 NO_ERROR`, None),
		},
		{
			fault: "h2: {goaway: {code: INTERNAL_ERROR, last: none, fin: true}}", expected: "GOAWAY that calls no stream processed, then FIN", recorded: trace.OutcomeFIN,
			rule: away("INTERNAL_ERROR", fault.LastNone, true), holds: framed(`GOAWAY 0 INTERNAL_ERROR`, FIN),
		},
		{
			fault: "h2: {abort: true}", expected: "RST of the connection before any frame of an answer", recorded: trace.OutcomeReset,
			rule: abort, holds: framed(``, RST),
		},
		{
			fault: "h2: {abort: true}, beside another stream", expected: "RST under both streams; the other one is recorded as reset, too",
			rule: beside, request: two, stub: injector.Stub{Respond: fault.Respond{Status: 200}, Latency: 10 * time.Second},
			records: []trace.Outcome{trace.OutcomeReset, trace.OutcomeReset}, holds: framed(``, RST),
		},
	}
}

// h2Settings are connections that are served in an odd way.
func h2Settings() []contract {
	settings := func(s fault.H2Settings) fault.Rule { return fault.Rule{Action: fault.ActionSettings, Settings: &s} }
	two := ask().request(1, "GET", "/one", true).request(3, "GET", "/two", true).String()
	slow := stub()
	slow.Latency = 50 * ms
	return []contract{
		{
			fault: "settings: {max_concurrent_streams: 1}", expected: "SETTINGS says so; the second of two streams gets RST_STREAM REFUSED_STREAM, the first its answer", stub: slow,
			rule: settings(fault.H2Settings{MaxStreams: 1}), request: two, records: []trace.Outcome{trace.OutcomeAnswered, trace.OutcomeReset},
			holds: all(has("SETTINGS window=262144 streams=1"), framed(`RST_STREAM 3 REFUSED_STREAM; `+h2Answer, None)),
		},
		{
			fault: "settings: {initial_window_size: 1}", expected: "SETTINGS says so", stub: stub(),
			rule: settings(fault.H2Settings{InitialWindow: 1}), holds: all(has("SETTINGS window=1 streams=250"), framed(h2Answer, None)),
		},
		{
			fault: "settings: {no_window_updates: true}", expected: "60000 bytes of a body are read and answered, and no WINDOW_UPDATE is sent, of connection or stream", stub: stub(),
			rule: settings(fault.H2Settings{NoUpdates: true}), request: post(60_000, true),
			holds: all(lacks("WINDOW_UPDATE"), framed(h2Answer, None)),
		},
		{
			fault: "settings: {settings_ack_delay: 100ms}", expected: "the client's SETTINGS are acknowledged 100 ms later; the answer comes at once", stub: stub(),
			rule:  settings(fault.H2Settings{AckDelay: 100 * ms}),
			holds: all(framed(h2Answer, None), came("SETTINGS ACK", 100*ms), func(o Observation) bool { return !came("END", 90*ms)(o) }),
		},
		{
			fault: "settings: {settings_ack_delay: 1h}, and the phase ends", expected: "the acknowledgement and GOAWAY when the phase ends, then FIN", stub: stub(), ends: true,
			rule:  settings(fault.H2Settings{AckDelay: time.Hour}),
			holds: all(framed(h2Answer+`; GOAWAY 1 NO_ERROR`, FIN), came("SETTINGS ACK", patience/3)),
		},
	}
}
