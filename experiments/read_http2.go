package experiments

import (
	"math"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// errCodes are the names of HTTP/2's error codes.
func errCodes() []string { return wordsOf(fault.ErrCodes()) }

// wordsOf are names as plain text.
func wordsOf[S ~string](names []S) []string {
	words := make([]string, len(names))
	for i, n := range names {
		words[i] = string(n)
	}
	return words
}

// http2 reads what only HTTP/2 has beside an answer, once action and form are known.
func (r *reader) http2(rule *fault.Rule, m *yamldoc.Map) {
	v := m.Get("h2")
	flawed := r.flawed()
	h := h2(v)
	if flawed() {
		return // What goes with it is not known.
	}
	var ends []string
	for _, key := range formKeys() {
		if m.Has(key) && (key == "cut" || key == "connection" || key == "malformed" && rule.Form.Ends() != "") {
			ends = append(ends, key)
		}
	}
	switch {
	case h == nil:
	case rule.Action != fault.ActionPass && rule.Action != fault.ActionRespond:
		v.Problemf("is of requests that are answered, and %s gives no answer; leave one of them out", rule.Action)
	case len(ends) > 0:
		v.Problemf("ends the answer or its connection, and so does %s; leave one of them out", ends[0])
	case h.Unanswered() && rule.Form != (fault.Form{}):
		v.Problemf("gives no answer here, so how one is sent could never be seen")
	case h.Unanswered() && rule.Action == fault.ActionRespond:
		v.Problemf("gives no answer here, so the one of this fault could never be seen; leave one of them out")
	default:
		rule.H2 = h
	}
}

// h2 reads one fault of HTTP/2; nil: there is none, or a problem.
func h2(v yamldoc.Value) *fault.H2 {
	const abort = "abort"
	if !v.Exists() {
		return nil
	}
	if !v.IsMap() {
		if v.OneOf("", abort) == "" {
			return nil
		}
		return &fault.H2{Abort: true}
	}
	m := v.Map("")
	defer m.Done()
	switch key := m.Choice("reset", "goaway"); key {
	case "reset":
		return &fault.H2{Reset: streamReset(m.Get(key))}
	case "goaway":
		return &fault.H2{GoAway: goAway(m.Get(key))}
	}
	m.Lacks(v, []string{"reset", "goaway"}, "says neither reset nor goaway, as {reset: CANCEL}; or write abort")
	return nil
}

// errCode reads an error code by its name.
func errCode(v yamldoc.Value, def string) fault.ErrCode {
	return fault.ErrCode(v.OneOf(def, errCodes()...))
}

// streamReset reads how a stream is reset: the code alone, or with where.
func streamReset(v yamldoc.Value) *fault.StreamReset {
	if !v.IsMap() {
		return &fault.StreamReset{Code: errCode(v, string(fault.ErrCodes()[0])), At: fault.CutStart}
	}
	m := v.Map("")
	defer m.Done()
	r := &fault.StreamReset{
		Code: errCode(m.Need("code"), string(fault.ErrCodes()[0])),
		At:   fault.CutAt(m.Get("at").OneOf(string(fault.CutStart), string(fault.CutStart), string(fault.CutBody))),
	}
	bytes := m.Get("bytes")
	r.Bytes = bytes.Size(0, 0)
	if bytes.Exists() && r.At != fault.CutBody {
		m.Lacks(bytes, []string{"at"}, "are of the body; they go with at: body")
		r.Bytes = 0
	}
	return r
}

// goAway reads GOAWAY: the code alone, or with what it says of this request.
func goAway(v yamldoc.Value) *fault.GoAway {
	noError := string(fault.ErrCodes()[0])
	if !v.IsMap() {
		return &fault.GoAway{Code: errCode(v, noError), Last: fault.LastThis}
	}
	m := v.Map("")
	defer m.Done()
	return &fault.GoAway{
		Code: errCode(m.Get("code"), noError),
		Last: fault.LastStream(m.Get("last").OneOf(string(fault.LastThis), string(fault.LastThis), string(fault.LastNone))),
		FIN:  m.Get("fin").Bool(false),
	}
}

// settings reads how connections of HTTP/2 are served.
func settings(v yamldoc.Value) *fault.H2Settings {
	m := v.Map("{max_concurrent_streams: 1}")
	defer m.Done()
	window := m.Get("initial_window_size")
	size := window.Size(0, 1)
	if size > math.MaxInt32 {
		window.Problemf("is more than %d bytes, the most that HTTP/2 has", math.MaxInt32)
		size = 0
	}
	s := &fault.H2Settings{
		MaxStreams: uint32(m.Get("max_concurrent_streams").Count(0, 1)), InitialWindow: uint32(size),
		NoUpdates: onlyTrue(m.Get("no_window_updates")), AckDelay: m.Get("settings_ack_delay").Duration(0),
	}
	keys := settingsKeys()
	if m.Exists() && !slices.ContainsFunc(keys, m.Has) {
		m.Lacks(m.Value, keys, "says nothing; give it one of %s", strings.Join(keys, ", "))
	}
	return s
}

func settingsKeys() []string {
	return []string{"max_concurrent_streams", "initial_window_size", "no_window_updates", "settings_ack_delay"}
}

// onlyTrue reads a key that is true or left out.
func onlyTrue(v yamldoc.Value) bool {
	if !v.Exists() {
		return false
	}
	if !v.Bool(true) {
		v.Problemf("is true or left out")
	}
	return true
}

// overH2 says what of a form HTTP/2 does not know, by its key; empty: nothing.
func overH2(f fault.Form) (key, what string) {
	switch {
	case f.Slice != nil:
		return "slice", "where TCP cuts is not a stream's"
	case f.Cut != nil && f.Cut.At == fault.CutHead:
		return "cut", "a head is one block there, so there is no middle of it"
	case f.Malformed == fault.BadChunk || f.Malformed == fault.NoLastChunk:
		return "malformed", "there are no chunks"
	case f.After != nil && f.After.Do == fault.AfterHalf:
		return "connection", "a stream has no half of a connection"
	}
	return "", ""
}
