package selftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// said is what the observer of a TCP connection sends: 20 bytes, which come back.
const said = "twenty bytes of text"

// tcpContracts are those of connections that are passed on byte by byte.
func tcpContracts() []contract {
	var all []contract
	for _, group := range [][]contract{passings(), tcpEnds(), tcpDoors()} {
		all = append(all, group...)
	}
	for i := range all {
		c := &all[i]
		c.protocol = "TCP"
		if c.setUp == nil {
			c.setUp = withTCP(echo)
		}
		if c.observer == nil {
			c.observer = half
		}
		if c.request == "" {
			c.request = said
		}
		if c.rule.TCP != nil {
			c.rule.Action = fault.ActionTCP
		}
	}
	return all
}

// withTCP has the injector pass bytes on to an upstream that does this with a connection.
func withTCP(serve func(net.Conn)) func(context.Context, *injector.Config) (func(), error) {
	return func(ctx context.Context, cfg *injector.Config) (func(), error) {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
		if err != nil {
			return nil, fmt.Errorf("listen as an upstream: %w", err)
		}
		var serving sync.WaitGroup
		serving.Go(func() {
			for {
				c, err := ln.Accept()
				if err != nil {
					return
				}
				serving.Go(func() {
					serve(c)
					_ = c.Close() // The other side is gone, or does not matter any more.
				})
			}
		})
		cfg.TCP = &injector.TCP{Upstream: ln.Addr().String()}
		return func() {
			_ = ln.Close() // Then it does not listen.
			serving.Wait()
		}, nil
	}
}

// echo sends back what comes.
func echo(c net.Conn) { _, _ = io.Copy(c, c) }

// prattle sends a byte every few milliseconds, for as long as anybody is there.
func prattle(c net.Conn) {
	for {
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
		time.Sleep(5 * ms)
	}
}

// nobody is an upstream that cannot be reached.
func nobody(undialled fault.Action) func(context.Context, *injector.Config) (func(), error) {
	return func(ctx context.Context, cfg *injector.Config) (func(), error) {
		tearDown, err := withTCP(echo)(ctx, cfg)
		if err == nil {
			tearDown()
			cfg.TCP.Undialled = undialled
		}
		return func() {}, err
	}
}

// half sends a request and FIN, and reads on.
func half(ctx context.Context, in *injector.Injector, request string, patience time.Duration) (Observation, error) {
	c, leave, err := reach(ctx, in)
	if err != nil {
		return Observation{}, err
	}
	defer leave()
	start := time.Now()
	_, err = io.WriteString(c, request)
	if tcp, ok := c.(interface{ CloseWrite() error }); err == nil && ok {
		err = tcp.CloseWrite()
	}
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) { // No read would say so again.
		return Observation{End: RST, Ended: time.Since(start)}, nil
	}
	o, ended := listen(c, start, patience)
	if err != nil && o.End == None {
		return o, fmt.Errorf("send to the injector: %w", err)
	}
	return o, ended
}

// passings are connections on which all bytes come through.
func passings() []contract {
	late := &fault.Stream{Latency: fault.Latency{Min: 80 * ms, Max: 80 * ms}}
	whole := looks(said, FIN)
	return []contract{
		{
			fault: "no fault, over TCP", expected: "the upstream's 20 bytes after the caller's FIN, then FIN",
			rule: fault.Rule{TCP: &fault.TCP{Up: late}, Select: fault.Select{Kind: fault.SelectRatio, Den: 1}}, holds: whole,
		},
		{
			fault: "tcp: {up: {latency: 80ms}}", expected: "no byte before 80 ms have passed, then all, then FIN",
			rule: fault.Rule{TCP: &fault.TCP{Up: late}}, holds: all(whole, func(o Observation) bool { return o.first() >= 80*ms }),
		},
		{
			fault: "tcp: {down: {latency: 80ms}}", expected: "no byte before 80 ms have passed, then all, then FIN",
			rule: fault.Rule{TCP: &fault.TCP{Down: late}}, holds: all(whole, func(o Observation) bool { return o.first() >= 80*ms }),
		},
		{
			fault: "tcp: {up, down: {latency: 80ms}}", expected: "no byte before 160 ms have passed, then all, then FIN",
			rule: fault.Rule{TCP: &fault.TCP{Up: late, Down: late}}, holds: all(whole, func(o Observation) bool { return o.first() >= 160*ms }),
		},
		{
			fault: "tcp: {down: {bandwidth: 100KB/s}}", expected: "30000 bytes, the last of them not before 290 ms have passed, then FIN",
			rule: fault.Rule{TCP: &fault.TCP{Down: &fault.Stream{Bandwidth: 100_000}}}, request: strings.Repeat("x", 30_000),
			holds: func(o Observation) bool { return o.End == FIN && len(o.Bytes) == 30_000 && o.last() >= 290*ms },
		},
		{
			fault: "tcp: {down: {slice: {size: 4, gap: 20ms}}}", expected: "20 bytes in 5 pieces, the last of them not before 80 ms have passed, then FIN",
			rule:  fault.Rule{TCP: &fault.TCP{Down: &fault.Stream{Slice: &fault.Slice{Size: 4, Gap: 20 * ms}}}},
			holds: all(whole, func(o Observation) bool { return o.last() >= 80*ms && len(o.Parts[0].Bytes) == 4 }),
		},
	}
}

// tcpEnds are connections that end, or go silent.
func tcpEnds() []contract {
	end := func(after int64, by fault.Action) *fault.Stream {
		return &fault.Stream{End: &fault.StreamEnd{After: after, By: by}}
	}
	seven := looks(`twenty `, RST)
	return []contract{
		{
			fault: "tcp: {down: {after: 7, reset}}", expected: "7 of the 20 bytes, then RST", recorded: trace.OutcomeReset,
			rule: fault.Rule{TCP: &fault.TCP{Down: end(7, fault.ActionReset)}}, holds: seven,
		},
		{
			fault: "tcp: {down: {after: 7, close}}", expected: "7 of the 20 bytes, then FIN", recorded: trace.OutcomeFIN,
			rule: fault.Rule{TCP: &fault.TCP{Down: end(7, fault.ActionClose)}}, holds: looks(`twenty `, FIN),
		},
		{
			fault: "tcp: {up: {after: 7, close}}, of 16 MiB", expected: "FIN and not RST, although the caller sends more", recorded: trace.OutcomeFIN,
			rule: fault.Rule{TCP: &fault.TCP{Up: end(7, fault.ActionClose)}}, request: strings.Repeat("x", 16<<20),
			holds: func(o Observation) bool { return o.End == FIN && len(o.Bytes) <= 7 },
		},
		{
			fault: "tcp: {up: {after: 0, reset}}", expected: "RST before any byte", recorded: trace.OutcomeReset, observer: socket,
			rule: fault.Rule{TCP: &fault.TCP{Up: end(0, fault.ActionReset)}}, holds: looks(``, RST),
		},
		{
			fault: "tcp: {down: {after: 7, hang}}", expected: "7 of the 20 bytes, then nothing", recorded: trace.OutcomeHang,
			rule: fault.Rule{TCP: &fault.TCP{Down: end(7, fault.ActionHang)}}, holds: looks(`twenty `, None),
		},
		{
			fault: "tcp: {down: {after: 7, hang}}, and the phase ends", expected: "7 of the 20 bytes; then FIN, when the phase ends", recorded: trace.OutcomeHang,
			rule: fault.Rule{TCP: &fault.TCP{Down: end(7, fault.ActionHang)}}, ends: true, holds: looks(`twenty `, FIN),
		},
		{
			fault: "tcp: {up: {after: 0, hang}}", expected: "no byte: none of the caller's arrives", recorded: trace.OutcomeHang, observer: socket,
			rule: fault.Rule{TCP: &fault.TCP{Up: end(0, fault.ActionHang)}}, holds: looks(``, None),
		},
		{
			fault: "tcp: {life: {for: 150ms, reset}}, under traffic", expected: "a byte every few milliseconds, then RST after 150 ms", recorded: trace.OutcomeReset,
			rule: fault.Rule{TCP: &fault.TCP{Life: &fault.Life{For: 150 * ms, By: fault.ActionReset}}}, setUp: withTCP(prattle), observer: socket,
			holds: func(o Observation) bool {
				return o.End == RST && o.Ended >= 145*ms && len(bytes.Trim(o.Bytes, "x")) == 0 && len(o.Bytes) > 0
			},
		},
		{
			fault: "tcp: {life: {for: 150ms, close}}, under traffic", expected: "a byte every few milliseconds, then FIN after 150 ms", recorded: trace.OutcomeFIN,
			rule: fault.Rule{TCP: &fault.TCP{Life: &fault.Life{For: 150 * ms, By: fault.ActionClose}}}, setUp: withTCP(prattle), observer: socket,
			holds: func(o Observation) bool { return o.End == FIN && o.Ended >= 145*ms && len(o.Bytes) > 0 },
		},
	}
}

// tcpDoors are connections that come to no upstream.
func tcpDoors() []contract {
	sound := fault.Rule{
		TCP:    &fault.TCP{Life: &fault.Life{For: time.Hour, By: fault.ActionClose}},
		Select: fault.Select{Kind: fault.SelectRatio, Den: 1},
	}
	return []contract{
		{
			fault: "an upstream that cannot be reached", expected: "RST", recorded: trace.OutcomeUpstream, observer: socket,
			rule: sound, setUp: nobody(""), holds: looks(``, RST),
		},
		{
			fault: "an upstream that cannot be reached, undialled: close", expected: "FIN", recorded: trace.OutcomeUpstream, observer: socket,
			rule: sound, setUp: nobody(fault.ActionClose), holds: looks(``, FIN),
		},
		{
			fault: "refuse, over TCP", expected: "connection refused, at once", unseen: true, observer: socket,
			rule: fault.Rule{Action: fault.ActionRefuse}, holds: func(o Observation) bool { return o.End == Refused },
		},
		{
			fault: "deaf, over TCP", expected: "a connection on which no byte comes", unseen: true, observer: socket,
			rule: fault.Rule{Action: fault.ActionDeaf}, holds: looks(``, None),
		},
	}
}
