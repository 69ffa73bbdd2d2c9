package experiments

import (
	"fmt"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// ProtocolWords says what a rule does that is of HTTP/2, gRPC or TLS alone, in a few
// words; empty: nothing.
func ProtocolWords(r fault.Rule) string {
	var parts []string
	if r.TLS != nil {
		parts = append(parts, "TLS "+tlsWords(*r.TLS))
	}
	if r.Settings != nil {
		parts = append(parts, settingsWords(*r.Settings))
	}
	if r.Respond.GRPC != nil {
		parts = append(parts, grpcWords(*r.Respond.GRPC))
	}
	if r.H2 != nil {
		parts = append(parts, h2Words(*r.H2))
	}
	return strings.Join(parts, ", ")
}

func tlsWords(t fault.TLS) string {
	if t.Do == fault.TLSAlert {
		return fmt.Sprintf("alert %d", t.Alert)
	}
	return strings.ReplaceAll(string(t.Do), "_", " ")
}

func settingsWords(s fault.H2Settings) string {
	var parts []string
	if s.MaxStreams > 0 {
		parts = append(parts, fmt.Sprintf("max_concurrent_streams %d", s.MaxStreams))
	}
	if s.InitialWindow > 0 {
		parts = append(parts, "a window of "+yamldoc.FormatSize(int64(s.InitialWindow)))
	}
	if s.NoUpdates {
		parts = append(parts, "no WINDOW_UPDATE")
	}
	if s.AckDelay > 0 {
		parts = append(parts, "SETTINGS acknowledged after "+yamldoc.FormatDuration(s.AckDelay))
	}
	return "HTTP/2 with " + strings.Join(parts, ", ")
}

func grpcWords(g fault.GRPC) string {
	var parts []string
	if g.Status != "" {
		parts = append(parts, string(g.Status))
	}
	if g.Frame != "" {
		parts = append(parts, "with the last message "+strings.ReplaceAll(string(g.Frame), "_", " "))
	}
	switch g.End {
	case fault.GRPCNoTrailers:
		parts = append(parts, "without trailers")
	case fault.GRPCReset:
		parts = append(parts, "that ends by RST_STREAM "+string(g.Code))
	}
	return "gRPC " + strings.Join(parts, " ")
}

func h2Words(h fault.H2) string {
	switch {
	case h.Abort:
		return "RST under all streams"
	case h.Reset != nil && h.Reset.At == fault.CutBody:
		return fmt.Sprintf("RST_STREAM %s after %d bytes of the body", h.Reset.Code, h.Reset.Bytes)
	case h.Reset != nil:
		return "RST_STREAM " + string(h.Reset.Code)
	}
	s := "GOAWAY " + string(h.GoAway.Code)
	if h.GoAway.Last == fault.LastNone {
		s += " for all requests"
	}
	if h.GoAway.FIN {
		s += " and FIN"
	}
	return s
}
