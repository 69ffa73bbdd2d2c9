package experiments

import (
	"maps"
	"slices"
	"time"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putFault writes one rule of a script.
func putFault(o *yamldoc.Out, r fault.Rule) {
	if !r.Match.Everything() {
		o.Put("match", matchOut(r.Match))
	}
	putSelection(o, r.Select)
	putLatency(o, r.Latency)
	if h := r.Hold; h != nil {
		hold := &yamldoc.Out{}
		hold.Put("rejected", h.Rejected)
		hold.Put("max", h.Max)
		hold.PutIf(h.OneByOne, "one_by_one", true)
		o.Put("hold", hold)
	}
	switch r.Action {
	case fault.ActionRespond:
		putRespond(o, r.Respond)
	case fault.ActionReset, fault.ActionClose, fault.ActionHang, fault.ActionRefuse, fault.ActionUnreachable, fault.ActionDeaf:
		o.Put(string(r.Action), true)
	case fault.ActionGarbage:
		o.Put("garbage", yamldoc.FormatSize(int64(r.Garbage)))
	case fault.ActionTLS:
		o.Put("tls", handshakeOut(*r.TLS))
	case fault.ActionSettings:
		o.Put("settings", settingsOut(*r.Settings))
	case fault.ActionTCP:
		o.Put(tcpFault, tcpFaultOut(*r.TCP))
	case fault.ActionPass:
		o.PutIf(r.Latency.Longest() == 0 && r.Hold == nil && r.Form == (fault.Form{}) && r.ReadRate == 0 && r.H2 == nil && r.WebSocket == nil, "pass", true)
		putWebSocket(o, r.WebSocket)
	}
	o.PutIf(r.Stealth, "stealth", true)
	o.PutIf(r.ReadRate > 0, "read", yamldoc.FormatSize(r.ReadRate)+"/s")
	putForm(o, r.Form)
	putH2(o, r.H2)
}

// putForm writes how an answer is sent.
func putForm(o *yamldoc.Out, f fault.Form) {
	part := func(there bool, key string, fill func(o *yamldoc.Out)) {
		if there {
			one := &yamldoc.Out{}
			fill(one)
			o.Put(key, one)
		}
	}
	part(f.Cut != nil, "cut", func(o *yamldoc.Out) {
		o.Put("at", string(f.Cut.At))
		o.PutIf(f.Cut.At == fault.CutBody, "bytes", yamldoc.FormatSize(f.Cut.Bytes))
		o.Put("by", string(f.Cut.By))
	})
	o.PutIf(f.Malformed != "", "malformed", string(f.Malformed))
	part(f.Inform != nil, "inform", func(o *yamldoc.Out) {
		o.Put("status", f.Inform.Status)
		o.Put("times", f.Inform.Times)
		o.PutIf(f.Inform.Every > 0, "every", f.Inform.Every)
	})
	part(f.Drip != nil, "drip", func(o *yamldoc.Out) {
		o.Put("chunks", f.Drip.Chunks)
		o.Put("over", f.Drip.Over)
	})
	part(f.Slice != nil, "slice", func(o *yamldoc.Out) {
		o.Put("size", yamldoc.FormatSize(f.Slice.Size))
		o.PutIf(f.Slice.Gap > 0, "gap", f.Slice.Gap)
	})
	o.PutIf(f.Bandwidth > 0, "bandwidth", yamldoc.FormatSize(f.Bandwidth)+"/s")
	part(f.After != nil, "connection", func(o *yamldoc.Out) {
		o.Put("then", string(f.After.Do))
		o.PutIf(f.After.Wait > 0, "wait", f.After.Wait)
	})
}

// matchOut writes whom a rule hits.
func matchOut(m fault.Match) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.PutIf(m.Method != "", "method", m.Method)
	o.PutIf(m.Path != "", "path", m.Path)
	if m.PathRegex != "" {
		o.Put("path", regexOut(m.PathRegex))
	}
	o.PutIf(m.GRPC != "", "grpc", m.GRPC)
	o.PutIf(len(m.Query) > 0, "query", m.Query)
	if len(m.Header)+len(m.HeaderRegex) > 0 {
		header := &yamldoc.Out{}
		for _, key := range slices.Sorted(maps.Keys(m.Header)) {
			header.Put(key, m.Header[key])
		}
		for _, key := range slices.Sorted(maps.Keys(m.HeaderRegex)) {
			header.Put(key, regexOut(m.HeaderRegex[key]))
		}
		o.Put("header", header)
	}
	o.PutIf(len(m.JSONPath) > 0, "jsonpath", m.JSONPath)
	o.PutIf(m.Peer != "", "peer", m.Peer)
	o.PutIf(m.WebSocket, webSocketFault, true)
	o.PutIf(m.SNI != "", "sni", m.SNI)
	return o
}

func regexOut(expr string) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("regex", expr)
	return o
}

// putSelection writes which of the requests that match are hit.
func putSelection(o *yamldoc.Out, s fault.Select) {
	share := func() string { return yamldoc.FormatShare(yamldoc.Share{Num: s.Num, Den: s.Den}.Float()) }
	below := &yamldoc.Out{}
	switch s.Kind {
	case fault.SelectRatio:
		o.PutIf(s.Ramp == nil, "ratio", share())
	case fault.SelectShuffle:
		below.Put("of", share())
		below.Put("draw", drawShuffle)
		below.Put("block", s.Block)
		o.Put("ratio", below)
	case fault.SelectRandom:
		if s.Ramp != nil {
			break
		}
		below.Put("of", share())
		below.Put("draw", drawRandom)
		o.Put("ratio", below)
	case fault.SelectFirst:
		o.Put("first", s.First)
	case fault.SelectAfter:
		o.Put("after", s.After)
	case fault.SelectEvery:
		o.Put("every", s.Every)
	case fault.SelectScript:
		o.Put("script", s.Pattern)
	case fault.SelectBurst:
		below.Put("length", s.Length)
		below.Put("gap", s.Gap)
		o.Put("burst", below)
	case fault.SelectAll:
	}
	if s.Ramp != nil {
		o.Put("ratio", ratioRampOut(s))
	}
	switch key := s.Sticky; key.By {
	case fault.StickyHeader, fault.StickyCookie:
		named := &yamldoc.Out{}
		named.Put(string(key.By), key.Name)
		o.Put("sticky", named)
	case fault.StickyPath, fault.StickyPeer:
		o.Put("sticky", string(key.By))
	}
}

// assertionOut writes an assertion, its rule's key first after its id and phase.
func assertionOut(a PlanAssertion) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("id", a.ID)
	o.Put("phase", a.Phase)
	switch r := a.Rule.(type) {
	case assert.Opens:
		o.Put(a.Kind, r.Breaker)
		o.PutIf(r.AtCall > 0, "at_call", r.AtCall)
		o.PutIf(r.WithinCalls > 0, "within_calls", r.WithinCalls)
		o.PutIf(r.Within > 0, "within", r.Within)
		o.PutIf(r.NotBefore > 0, "not_before", r.NotBefore)
	case assert.StaysClosed:
		o.Put(a.Kind, r.Breaker)
	case assert.Leak:
		o.Put(a.Kind, r.Breaker)
		o.Put("max", r.Max)
	case assert.OpenDuration:
		putOpenDuration(o, r)
	case assert.HalfOpenProbes:
		o.Put(a.Kind, r.Breaker)
		o.PutIf(r.Exactly > 0, "exactly", r.Exactly)
		o.PutIf(r.Max > 0, "max", r.Max)
	case assert.ReopensOnFailedProbe:
		o.Put(a.Kind, r.Breaker)
	case assert.Closes:
		o.Put(a.Kind, r.Breaker)
		o.PutIf(r.Within > 0, "within", r.Within)
		o.PutIf(r.AfterSuccesses > 0, "after_successes", r.AfterSuccesses)
	case assert.NeverStuck:
		o.Put(a.Kind, r.Breaker)
		o.Put("tolerance", yamldoc.FormatShare(r.Tolerance))
	case assert.ShortLatency:
		putShortLatency(o, r)
	case assert.FallbackShare:
		putFallbackShare(o, r)
	default:
		putAnswerRule(o, a.Rule)
	}
	return o
}

func putOpenDuration(o *yamldoc.Out, r assert.OpenDuration) {
	o.Put(r.Kind(), r.Breaker)
	o.PutIf(r.Equals > 0, "equals", r.Equals)
	putSequence(o, r.Sequence)
	o.Put("tolerance", yamldoc.FormatShare(r.Tolerance))
}

func putShortLatency(o *yamldoc.Out, r assert.ShortLatency) {
	o.Put(r.Kind(), boundsOut(r.Bounds))
	o.Put("breaker", r.Breaker)
}

func putFallbackShare(o *yamldoc.Out, r assert.FallbackShare) {
	o.Put(r.Kind(), sharesOut(r.Min, r.Max))
	o.Put("breaker", r.Breaker)
	var sets []string
	for _, s := range r.Of {
		sets = append(sets, string(s))
	}
	o.Put("of", sets)
}

// putSequence writes how long each lasts, if that is said.
func putSequence(o *yamldoc.Out, all []time.Duration) {
	var sequence []string
	for _, d := range all {
		sequence = append(sequence, yamldoc.FormatDuration(d))
	}
	o.PutIf(len(sequence) > 0, "sequence", sequence)
}
