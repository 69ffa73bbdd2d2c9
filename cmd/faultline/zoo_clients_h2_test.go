package main

import (
	"encoding/base64"
	"fmt"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
)

// framed are the faults that only HTTP/2 has.
func framed(h fault.H2) fault.Rule { return fault.Rule{Action: fault.ActionPass, H2: &h} }

// streams are faults over HTTP/2.
func streams() []clientCase {
	all := []clientCase{{name: "healthy", wire: "200 and 20 bytes", rules: []fault.Rule{{Action: fault.ActionPass}}}}
	all = append(all, streamResets()...)
	all = append(all, goAways()...)
	all = append(all,
		clientCase{name: "abort", wire: "RST of the connection, no byte", rules: []fault.Rule{framed(fault.H2{Abort: true})}, broken: true},
		clientCase{name: "close", wire: "GOAWAY that names the stream, FIN", rules: []fault.Rule{{Action: fault.ActionClose}}, broken: true},
		clientCase{name: "hang", wire: "nothing", rules: []fault.Rule{{Action: fault.ActionHang}}, silent: true, broken: true},
	)
	for _, c := range cuts(fault.ActionReset, fault.ActionClose, fault.ActionHang) {
		if c.rules[0].Form.Cut.At == fault.CutBody {
			c.wire = map[fault.Action]string{
				fault.ActionReset: "7 of 20 bytes, then RST_STREAM", fault.ActionClose: "7 of 20 bytes, then FIN", fault.ActionHang: "7 of 20 bytes, then nothing",
			}[c.rules[0].Form.Cut.By]
			all = append(all, c)
		}
	}
	long := passing(fault.Form{Malformed: fault.LengthTooLong})
	all = append(all, clientCase{name: "malformed-length_too_long", wire: "more announced than sent, END_STREAM", rules: []fault.Rule{long}, broken: true})
	late := fault.Rule{Action: fault.ActionPass, Latency: fault.Latency{Min: 150 * time.Millisecond, Max: 150 * time.Millisecond}}
	settings := func(s fault.H2Settings) []fault.Rule {
		return []fault.Rule{{Action: fault.ActionSettings, Settings: &s}}
	}
	all = append(all,
		clientCase{
			name: "no_window_updates", wire: "a POST of 200000 bytes, of which 65535 are taken", body: 200_000, silent: true, broken: true,
			rules: settings(fault.H2Settings{NoUpdates: true}),
		},
		clientCase{
			name: "initial_window_size-1", wire: "a POST of 100 bytes, of which one is taken at a time", body: 100,
			rules: settings(fault.H2Settings{InitialWindow: 1}),
		},
		clientCase{
			name: "max_concurrent_streams-1", wire: "one stream at a time, and two calls at once that take 150 ms each; ×2 is a second connection", twice: true,
			rules: append(settings(fault.H2Settings{MaxStreams: 1}), late),
		},
		clientCase{
			name: "settings_ack_delay", wire: "SETTINGS are acknowledged after 300 ms",
			rules: settings(fault.H2Settings{AckDelay: 300 * time.Millisecond}),
		},
	)
	for n := range all {
		all[n].h2, all[n].tls = true, &injector.TLS{Protocols: []string{"h2"}}
	}
	return all
}

// streamResets are RST_STREAM, before the head and within the body.
func streamResets() []clientCase {
	var all []clientCase
	for _, at := range []fault.StreamReset{{At: fault.CutStart}, {At: fault.CutBody, Bytes: 7}} {
		for _, code := range []fault.ErrCode{"NO_ERROR", "CANCEL", "INTERNAL_ERROR", "REFUSED_STREAM", "PROTOCOL_ERROR", "ENHANCE_YOUR_CALM"} {
			r := at
			r.Code = code
			c := clientCase{name: "reset-" + string(code), wire: "RST_STREAM, no head", rules: []fault.Rule{framed(fault.H2{Reset: &r})}, broken: true}
			if at.At == fault.CutBody {
				c.name, c.wire = c.name+"-7", "7 of 20 bytes, then RST_STREAM"
			}
			all = append(all, c)
		}
	}
	return all
}

// goAways are GOAWAY, with and without an answer.
func goAways() []clientCase {
	var all []clientCase
	for _, g := range []struct {
		last   fault.LastStream
		fin    bool
		wire   string
		silent bool
		codes  []fault.ErrCode
	}{
		{last: fault.LastThis, wire: "names the stream, which is answered", codes: []fault.ErrCode{"NO_ERROR", "ENHANCE_YOUR_CALM"}},
		{last: fault.LastThis, fin: true, wire: "names the stream, FIN", codes: []fault.ErrCode{"NO_ERROR", "INTERNAL_ERROR"}},
		{last: fault.LastNone, fin: true, wire: "names no stream, FIN", codes: []fault.ErrCode{"NO_ERROR", "ENHANCE_YOUR_CALM"}},
		{last: fault.LastNone, wire: "names no stream, and nothing follows", silent: true, codes: []fault.ErrCode{"NO_ERROR"}},
	} {
		for _, code := range g.codes {
			name := fmt.Sprintf("goaway-%s-%s", code, g.last)
			if g.fin {
				name += "-fin"
			}
			all = append(all, clientCase{
				name: name, wire: g.wire, silent: g.silent, broken: g.fin || g.last == fault.LastNone,
				rules: []fault.Rule{framed(fault.H2{GoAway: &fault.GoAway{Code: code, Last: g.last, FIN: g.fin}})},
			})
		}
	}
	return all
}

// priced is a healthy answer of gRPC.
func priced() fault.GRPC {
	return fault.GRPC{Messages: []string{base64.StdEncoding.EncodeToString([]byte("abc"))}}
}

// grpcCalls are faults of unary calls.
func grpcCalls() []clientCase {
	says := func(change func(*fault.GRPC)) []fault.Rule {
		g := priced()
		change(&g)
		return []fault.Rule{{Action: fault.ActionRespond, Respond: fault.Respond{GRPC: &g}}}
	}
	all := []clientCase{
		{name: "healthy", wire: "a message of 3 bytes, OK", rules: []fault.Rule{{Action: fault.ActionPass}}},
		{name: "UNAVAILABLE", wire: "trailers alone", rules: says(func(g *fault.GRPC) { *g = fault.GRPC{Status: "UNAVAILABLE"} })},
		{name: "no_message", wire: "OK, and no message", rules: says(func(g *fault.GRPC) { *g = fault.GRPC{} }), broken: true},
		{name: "no_trailers", wire: "the message, then END_STREAM", rules: says(func(g *fault.GRPC) { g.End = fault.GRPCNoTrailers }), broken: true},
	}
	for _, code := range []fault.ErrCode{"NO_ERROR", "INTERNAL_ERROR", "REFUSED_STREAM", "CANCEL"} {
		all = append(all, clientCase{
			name: "reset-" + string(code), wire: "the message, then RST_STREAM", broken: true,
			rules: says(func(g *fault.GRPC) { g.End, g.Code = fault.GRPCReset, code }),
		})
	}
	for _, lie := range []struct {
		frame fault.GRPCFrame
		wire  string
	}{
		{fault.GRPCTooLong, "16 bytes more announced than sent"},
		{fault.GRPCTooShort, "half of the bytes announced"},
		{fault.GRPCHuge, "2^32-1 bytes announced"},
		{fault.GRPCCompressed, "called compressed, without an encoding"},
	} {
		all = append(all, clientCase{
			name: "frame-" + string(lie.frame), wire: lie.wire, broken: true,
			rules: says(func(g *fault.GRPC) { g.Frame = lie.frame }),
		})
	}
	all = append(all, clientCase{name: "503", wire: "an answer that is not of gRPC", rules: []fault.Rule{{Action: fault.ActionRespond, Respond: fault.Respond{Status: 503}}}})
	for _, c := range streamResets()[:6] {
		c.name += "-start"
		all = append(all, c)
	}
	all = append(all,
		clientCase{
			name: "goaway-NO_ERROR-none-fin", wire: "names no stream, FIN", broken: true,
			rules: []fault.Rule{framed(fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR", Last: fault.LastNone, FIN: true}})},
		},
		clientCase{name: "abort", wire: "RST of the connection", rules: []fault.Rule{framed(fault.H2{Abort: true})}, broken: true},
		clientCase{name: "hang", wire: "nothing", rules: []fault.Rule{{Action: fault.ActionHang}}, broken: true, silent: true},
	)
	all = append(all, closedDoors()[:1]...)
	for n := range all {
		all[n].grpc, all[n].h2 = true, true
	}
	return all
}
