package experiments

import (
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// tcpOut writes a dependency whose connections are passed on.
func tcpOut(t TCP) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("upstream", t.Upstream)
	o.Put("undialled", string(t.Undialled))
	return o
}

// tcpFaultOut writes what becomes of a connection.
func tcpFaultOut(t fault.TCP) *yamldoc.Out {
	o := &yamldoc.Out{}
	putStream(o, "up", t.Up)
	putStream(o, "down", t.Down)
	if t.Life != nil {
		life := &yamldoc.Out{}
		life.Put("for", t.Life.For)
		life.Put("by", string(t.Life.By))
		o.Put("life", life)
	}
	return o
}

// putStream writes one direction, if anything becomes of it.
func putStream(o *yamldoc.Out, key string, s *fault.Stream) {
	if s == nil {
		return
	}
	one := &yamldoc.Out{}
	putLatency(one, s.Latency)
	putBandwidth(one, s)
	if s.Slice != nil {
		slice := &yamldoc.Out{}
		slice.Put("size", yamldoc.FormatSize(s.Slice.Size))
		slice.PutIf(s.Slice.Gap > 0, "gap", s.Slice.Gap)
		one.Put("slice", slice)
	}
	if s.End != nil {
		cut := &yamldoc.Out{}
		cut.Put("after", yamldoc.FormatSize(s.End.After))
		cut.Put("by", string(s.End.By))
		one.Put("cut", cut)
	}
	o.Put(key, one)
}

// putBandwidth writes a bandwidth, and who shares it.
func putBandwidth(o *yamldoc.Out, s *fault.Stream) {
	rate := yamldoc.FormatSize(s.Bandwidth) + "/s"
	switch {
	case s.Bandwidth == 0:
	case s.Scope == fault.ScopeConnection:
		o.Put("bandwidth", rate)
	default:
		below, by := &yamldoc.Out{}, sharedByFault
		if s.Scope == fault.ScopeAll {
			by = sharedByAll
		}
		below.Put("rate", rate)
		below.Put("shared", by)
		o.Put("bandwidth", below)
	}
}
