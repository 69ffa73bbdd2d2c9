package experiments

import (
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// putRespond writes the answer of a fault: of HTTP, or of gRPC.
func putRespond(o *yamldoc.Out, r fault.Respond) {
	if r.GRPC != nil {
		o.Put("grpc", grpcOut(r))
		return
	}
	o.Put("respond", respondOut(r))
}

// stubOut writes the answer of a stub.
func stubOut(r fault.Respond) *yamldoc.Out {
	if r.GRPC == nil {
		return respondOut(r)
	}
	o := &yamldoc.Out{}
	o.Put("grpc", grpcOut(r))
	return o
}

func grpcOut(r fault.Respond) *yamldoc.Out {
	o, g := &yamldoc.Out{}, r.GRPC
	o.PutIf(g.Status != "", "status", string(g.Status))
	o.PutIf(g.Message != "", "message", g.Message)
	o.PutIf(g.Details != "", "details", g.Details)
	o.PutIf(len(g.Messages) > 0, "messages", g.Messages)
	o.PutIf(g.End != "", "end", string(g.End))
	o.PutIf(g.Code != "", "code", string(g.Code))
	o.PutIf(g.Frame != "", "frame", string(g.Frame))
	o.PutIf(len(r.Headers) > 0, "headers", r.Headers)
	o.PutIf(r.HeaderFill > 0, "header_fill", yamldoc.FormatSize(r.HeaderFill))
	return o
}

// putH2 writes what only HTTP/2 has beside an answer.
func putH2(o *yamldoc.Out, h *fault.H2) {
	if h == nil {
		return
	}
	if h.Abort {
		o.Put("h2", "abort")
		return
	}
	one, part := &yamldoc.Out{}, &yamldoc.Out{}
	if x := h.Reset; x != nil {
		part.Put("code", string(x.Code))
		part.Put("at", string(x.At))
		part.PutIf(x.At == fault.CutBody, "bytes", yamldoc.FormatSize(x.Bytes))
		one.Put("reset", part)
	} else {
		part.Put("code", string(h.GoAway.Code))
		part.Put("last", string(h.GoAway.Last))
		part.Put("fin", h.GoAway.FIN)
		one.Put("goaway", part)
	}
	o.Put("h2", one)
}

func settingsOut(s fault.H2Settings) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.PutIf(s.MaxStreams > 0, "max_concurrent_streams", int(s.MaxStreams))
	o.PutIf(s.InitialWindow > 0, "initial_window_size", yamldoc.FormatSize(int64(s.InitialWindow)))
	o.PutIf(s.NoUpdates, "no_window_updates", true)
	o.PutIf(s.AckDelay > 0, "settings_ack_delay", s.AckDelay)
	return o
}

// handshakeOut is one word, or an alert with its code.
func handshakeOut(t fault.TLS) any {
	if t.Do != fault.TLSAlert {
		return string(t.Do)
	}
	o := &yamldoc.Out{}
	o.Put("alert", t.Alert)
	return o
}

func tlsOut(t TLS) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.PutIf(len(t.Names) > 0, "names", t.Names)
	o.Put("protocols", t.Protocols)
	o.PutIf(t.CAFile != "", "ca_file", t.CAFile)
	return o
}
