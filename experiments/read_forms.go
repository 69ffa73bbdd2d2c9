package experiments

import (
	"net/http"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// formKeys are the keys of a fault that say how an answer is sent.
func formKeys() []string {
	return []string{"cut", "malformed", "inform", "drip", "slice", "bandwidth", "connection"}
}

// form reads how an answer is sent.
func form(m *yamldoc.Map) fault.Form {
	f := fault.Form{
		Cut: cut(m.Get("cut")), Inform: inform(m.Get("inform")), Drip: drip(m.Get("drip")), Slice: slicing(m.Get("slice")),
		Bandwidth: m.Get("bandwidth").Throughput(0), After: connection(m.Get("connection")),
	}
	var words []string
	for _, w := range fault.Malformations() {
		words = append(words, string(w))
	}
	f.Malformed = fault.Malformed(m.Get("malformed").OneOf("", words...))
	if f.Cut != nil && (fault.Form{Malformed: f.Malformed}).Ends() != "" {
		m.Get("malformed").Problemf("ends the answer in its own way, and cut in another; leave one of them out")
	}
	if f.Ends() != "" && f.After != nil {
		m.Get("connection").Problemf("comes after a complete answer, which this is not; leave it out")
	}
	if f.Drip != nil && f.Slice != nil {
		m.Get("slice").Problemf("cuts the body into pieces, and so does drip; leave one of them out")
	}
	return f
}

// cut reads where an answer ends before its end.
func cut(v yamldoc.Value) *fault.Cut {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{at: body, bytes: 100B, by: reset}")
	defer m.Done()
	c := &fault.Cut{
		At: fault.CutAt(m.Need("at").OneOf(string(fault.CutBody), string(fault.CutStart), string(fault.CutLine), string(fault.CutHead), string(fault.CutBody))),
		By: fault.Action(m.Get("by").OneOf(string(fault.ActionReset), string(fault.ActionReset), string(fault.ActionClose), string(fault.ActionHang))),
	}
	c.Bytes = m.Get("bytes").Size(0, 0)
	if bytes := m.Get("bytes"); bytes.Exists() && c.At != fault.CutBody {
		bytes.Problemf("are of the body; they go with at: body")
		c.Bytes = 0
	}
	return c
}

// inform reads what comes before an answer.
func inform(v yamldoc.Value) *fault.Inform {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{status: 103, times: 2}")
	defer m.Done()
	status := m.Need("status")
	i := &fault.Inform{Status: status.Count(http.StatusEarlyHints, 0), Times: m.Get("times").Count(1, 1), Every: m.Get("every").DurationOrZero(0)}
	if i.Status != http.StatusContinue && i.Status != http.StatusProcessing && i.Status != http.StatusEarlyHints {
		status.Problemf("is 100, 102 or 103; a 101 that nobody asked for is malformed: unsolicited_101")
		i.Status = http.StatusEarlyHints
	}
	return i
}

// drip reads over what time a body is sent.
func drip(v yamldoc.Value) *fault.Drip {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{chunks: 10, over: 1s}")
	defer m.Done()
	return &fault.Drip{Chunks: m.Need("chunks").Count(1, 1), Over: m.Need("over").Duration(1)}
}

// slicing reads in what pieces an answer is sent.
func slicing(v yamldoc.Value) *fault.Slice {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{size: 16B, gap: 5ms}")
	defer m.Done()
	return &fault.Slice{Size: m.Need("size").Size(1, 1), Gap: m.Get("gap").DurationOrZero(0)}
}

// connection reads what becomes of it after an answer.
func connection(v yamldoc.Value) *fault.After {
	words := []string{string(fault.AfterTell), string(fault.AfterClose), string(fault.AfterReset), string(fault.AfterHalf)}
	switch {
	case !v.Exists():
		return nil
	case !v.IsMap():
		return &fault.After{Do: fault.AfterDo(v.OneOf(words[0], words...))}
	}
	m := v.Map("{then: close, wait: 50ms}")
	defer m.Done()
	return &fault.After{Do: fault.AfterDo(m.Need("then").OneOf(words[0], words...)), Wait: m.Get("wait").DurationOrZero(0)}
}

// filled reads what only a dependency's answer has beside status, headers and body.
func filled(m *yamldoc.Map, r fault.Respond) fault.Respond {
	fill := m.Get("fill")
	r.Fill, r.HeaderFill, r.RetryAfter = fill.Size(0, 1), headerFill(m.Get("header_fill")), retryAfter(m.Get("retry_after"))
	if r.Fill > 0 && (r.Status == http.StatusNoContent || r.Status == http.StatusNotModified) {
		fill.Problemf("an answer with status %d has no body", r.Status)
		r.Fill = 0
	}
	return r
}

// retryAfter reads when to try again.
func retryAfter(v yamldoc.Value) *fault.RetryAfter {
	if !v.Exists() {
		return nil
	}
	at, r := v, &fault.RetryAfter{}
	if v.IsMap() {
		m := v.Map("{date: 60s}")
		at, r.Date = m.Need("date"), true
		defer m.Done()
	}
	r.In = at.DurationOrZero(0)
	if r.In%1e9 != 0 {
		at.Problemf("%s is not in whole seconds, which is all that the header has room for", yamldoc.FormatDuration(r.In))
		r.In = 0
	}
	return r
}
