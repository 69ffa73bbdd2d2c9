package experiments

import (
	"encoding/base64"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// grpcAnswer reads what a gRPC server answers: a status alone, or all of an answer.
func grpcAnswer(v yamldoc.Value) fault.Respond {
	if !v.IsMap() {
		return fault.Respond{GRPC: &fault.GRPC{Status: grpcStatus(v)}}
	}
	m := v.Map("")
	defer m.Done()
	g := &fault.GRPC{
		Message: m.Get("message").Text(""),
		Details: base64Text(m.Get("details")),
		End:     fault.GRPCEnd(m.Get("end").OneOf("", string(fault.GRPCNoTrailers), string(fault.GRPCReset))),
		Frame:   fault.GRPCFrame(m.Get("frame").OneOf("", grpcFrames()...)),
	}
	status := m.Get("status")
	if messages := m.Get("messages"); messages.Exists() {
		for _, item := range messages.Items() {
			g.Messages = append(g.Messages, base64Text(item))
		}
	}
	if frame := m.Get("frame"); frame.Exists() && !m.Has("messages") {
		m.Lacks(frame, []string{"messages"}, "spoils the last of messages, and there is none")
		g.Frame = ""
	}
	grpcEnding(g, m)
	if g.End == "" {
		g.Status = grpcStatus(status)
	}
	r := fault.Respond{GRPC: g, Headers: headers(m.Get("headers"))}
	r.HeaderFill = headerFill(m.Get("header_fill"))
	return r
}

// grpcEnding reads how an answer ends, and what does not go with that.
func grpcEnding(g *fault.GRPC, m *yamldoc.Map) {
	code := m.Get("code")
	if g.End != "" {
		for _, key := range []string{"status", "message", "details"} {
			if v := m.Get(key); v.Exists() {
				v.Problemf("is not sent where end is %s; leave one of them out", g.End)
			}
		}
		g.Message, g.Details = "", ""
	}
	switch {
	case g.End == fault.GRPCReset:
		g.Code = errCode(m.Need("code"), string(fault.ErrCodes()[0]))
	case code.Exists():
		m.Lacks(code, []string{"end"}, "is that of a reset; it goes with end: reset")
	}
}

// grpcStatus reads a status by its name.
func grpcStatus(v yamldoc.Value) fault.GRPCCode {
	codes := wordsOf(fault.GRPCCodes())
	return fault.GRPCCode(v.OneOf(codes[0], codes...))
}

func grpcFrames() []string {
	return wordsOf([]fault.GRPCFrame{fault.GRPCTooLong, fault.GRPCTooShort, fault.GRPCHuge, fault.GRPCCompressed})
}

// base64Text reads bytes that are written as base64. An empty message has none.
func base64Text(v yamldoc.Value) string {
	s := v.Text("")
	if _, err := base64.StdEncoding.Strict().DecodeString(s); err != nil {
		v.Problemf("%q is not base64, in which bytes are written here, as aGVsbG8= for hello", s)
		return ""
	}
	return s
}

// headerFill reads how large a header is made.
func headerFill(v yamldoc.Value) int64 {
	n := v.Size(0, 1)
	if n > fault.MostHeader {
		v.Problemf("is more than %s, the most that is made", yamldoc.FormatSize(fault.MostHeader))
		return 0
	}
	return n
}

// httpAnswerKeys are the keys of an answer of HTTP in a stub.
func httpAnswerKeys() []string {
	return []string{"status", "headers", "body", "fill", "header_fill", "retry_after"}
}

// grpcStub reads the healthy answer of a gRPC server.
func grpcStub(m *yamldoc.Map) fault.Respond {
	for _, key := range httpAnswerKeys() {
		if v := m.Get(key); v.Exists() {
			v.Problemf("does not go with grpc, which says itself what is answered")
		}
	}
	return grpcAnswer(m.Get("grpc"))
}

// grpcBeside notes what ends an answer of gRPC beside its own end.
func grpcBeside(rule fault.Rule, m *yamldoc.Map) {
	g := rule.Respond.GRPC
	if g == nil || g.End == "" {
		return
	}
	for key, ends := range map[string]bool{"cut": rule.Form.Cut != nil, "h2": rule.H2 != nil && rule.H2.Reset != nil} {
		if ends {
			m.Get(key).Problemf("ends the answer in its own way, and end: %s of grpc in another; leave one of them out", g.End)
		}
	}
}
