package experiments

import (
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// webSocketFault is the key of the fault of a WebSocket.
const webSocketFault = "websocket"

// The words for where messages go.
const (
	wayClient = "client"
	wayServer = "server"
	wayBoth   = "both"
)

// webSocketStub reads what a healthy dependency says over a WebSocket.
func webSocketStub(v yamldoc.Value) *WebSocketStub {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{open: hello, answer: [one, two]}")
	defer m.Done()
	return &WebSocketStub{Open: texts(m.Get("open")), Answer: texts(m.Get("answer"))}
}

func texts(v yamldoc.Value) []string {
	var all []string
	for _, item := range v.Items() {
		all = append(all, item.Text(""))
	}
	return all
}

// speaksWebSocket notes a fault of a WebSocket at a stub that has none.
func (r *reader) speaksWebSocket(m *yamldoc.Map, rule fault.Rule, injector string) {
	if rule.WebSocket == nil {
		return
	}
	if read := m.Get("read"); read.Exists() {
		read.Problemf("is of a request's body, and who asks for a WebSocket sends none")
	}
	if h2 := m.Get("h2"); h2.Exists() {
		h2.Problemf("is of HTTP/2, and a WebSocket is asked for by HTTP/1.1")
	}
	if r.injectors.vague[injector] {
		return
	}
	for _, in := range r.plan.Injectors {
		if in.Name == injector && in.Stub != nil && in.Stub.WebSocket == nil {
			m.Get(webSocketFault).Problemf("is for WebSockets, which the stub of injector %s does not speak; give it websocket: {}, which sends back what it gets", injector)
		}
	}
}

// toWebSockets has a fault hit those who ask for a WebSocket, as nobody else gets one.
func toWebSockets(match *fault.Match, v yamldoc.Value) {
	if !match.WebSocket && (match.GRPC != "" || match.Method != "" && !strings.EqualFold(match.Method, http.MethodGet)) {
		v.Problemf("is for no GET, by which a WebSocket is asked for")
	}
	match.WebSocket = true
}

// asksForWebSocket reads whether a fault is for those who ask for a WebSocket.
func asksForWebSocket(m *yamldoc.Map) bool {
	v := m.Get(webSocketFault)
	asks := v.Bool(false)
	if v.Exists() && !asks {
		v.Problemf("is true or left out")
	}
	for _, beside := range []string{"grpc", "method"} {
		if other := m.Get(beside); asks && other.Exists() && !strings.EqualFold(other.Text(""), http.MethodGet) {
			other.Problemf("does not go with websocket, which is asked for by GET")
		}
	}
	return asks
}

// webSocket reads what becomes of a WebSocket. What is wrong with it as a whole, as two faults
// that want the same message, is told where fault finds it.
func (r *reader) webSocket(v yamldoc.Value) *fault.WebSocket {
	flawed := r.flawed()
	m := v.Map("{messages: [{to: client, at: 3, drop: true}]}")
	defer m.Done()
	messages := m.Get("messages")
	w := &fault.WebSocket{
		Accept: fault.BadAccept(m.Get("accept").OneOf("", string(fault.AcceptWrong), string(fault.AcceptMissing))),
		Close:  wsClose(m.Get("close")), Stall: wsStall(m.Get("stall")), NoPong: r.noPong(m.Get("no_pong")),
	}
	items := messages.List()
	for _, item := range items {
		w.Messages = append(w.Messages, r.message(item))
	}
	ignore := m.Get("ignore_close")
	if w.IgnoreClose = ignore.Bool(false); ignore.Exists() && !w.IgnoreClose {
		ignore.Problemf("is true or left out")
	}
	if does := []string{"accept", "messages", "close", "stall", "no_pong", "ignore_close"}; m.Exists() && !slices.ContainsFunc(does, m.Has) {
		m.Lacks(m.Value, does, "does nothing; give it %s", strings.Join(does, ", "))
	}
	if messages.Exists() && len(items) == 0 {
		messages.Problemf("has none; write what is done to which, as [{to: client, at: 3, drop: true}]")
	}
	if !flawed() {
		tellProblems(v, *w, items)
	}
	return w
}

// deeds are the keys of a message's fault that say what is done to it.
func deeds() []string {
	var all []string
	for _, do := range fault.WSDos() {
		all = append(all, string(do))
	}
	return all
}

// message reads what is done to some messages.
func (r *reader) message(v yamldoc.Value) fault.WSMessage {
	m := v.Map("{to: client, at: 3, drop: true}")
	defer m.Done()
	msg := fault.WSMessage{To: way(m.Need("to"), wayClient, wayServer), Control: m.Get("control").Bool(false)}
	at, kind := m.Get("at"), m.Choice(plainSelections()...)
	switch {
	case at.Exists() && kind != "":
		m.Get(kind).Problemf("messages are told by their numbers or by %s; leave one of them out", kind)
	case at.Exists():
		msg.At = numbers(at)
	default:
		msg.Select = r.plainly(m, kind)
	}
	do := m.Choice(deeds()...)
	if do == "" {
		if m.Exists() {
			m.Lacks(m.Value, deeds(), "does nothing to them; give it one of %s", strings.Join(deeds(), ", "))
		}
		return msg
	}
	msg.Do = fault.WSDo(do) // The keys are the names.
	deed := m.Get(do)
	switch msg.Do {
	case fault.WSDelay:
		msg.Delay = r.steady(deed)
	case fault.WSCut:
		msg.By = endBy(deed, fault.ActionReset, fault.ActionClose)
	case fault.WSOversize, fault.WSFragment:
		if msg.Size = deed.Size(1, 1); msg.Size > fault.MostMessage {
			deed.Problemf("is more than %s, the most that is made", yamldoc.FormatSize(fault.MostMessage))
			msg.Size = 1
		}
	default:
		if !deed.Bool(true) {
			deed.Problemf("is true or left out")
		}
	}
	return msg
}

// numbers reads which messages are meant.
func numbers(v yamldoc.Value) []uint64 {
	var all []uint64
	for _, item := range v.Items() {
		n := uint64(item.Count(1, 1))
		if slices.Contains(all, n) {
			item.Problemf("%d is there already", n)
			continue
		}
		all = append(all, n)
	}
	return all
}

// plainSelections are the selections that need neither seed nor key.
func plainSelections() []string { return []string{"ratio", "first", "after", "every", "script"} }

// plainly reads one of them; all is meant where there is none.
func (r *reader) plainly(m *yamldoc.Map, kind string) fault.Select {
	if kind == "ratio" {
		return shareOf(m.Get(kind), fault.SelectRatio)
	}
	return r.selected(m, kind)
}

// way reads where messages go; it is empty when that is wrong or absent.
func way(v yamldoc.Value, words ...string) fault.WSDirection {
	return map[string]fault.WSDirection{
		wayClient: fault.ToClient, wayServer: fault.ToServer, wayBoth: fault.BothWays,
	}[v.OneOf("", words...)]
}

// wsClose reads when and how a WebSocket ends.
func wsClose(v yamldoc.Value) *fault.WSClose {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{after: 3, code: 1011}")
	defer m.Done()
	code := m.Need("code")
	c := &fault.WSClose{
		After: uint64(m.Get("after").Count(0, 0)), Of: way(m.Get("of"), wayClient, wayServer, wayBoth),
		Reason: m.Get("reason").Text(""), By: endBy(m.Get("by"), fault.ActionClose, fault.ActionReset),
	}
	if c.Of == "" {
		c.Of = fault.ToClient
	}
	n := code.Count(fault.CloseAbnormal, 1)
	if n > math.MaxUint16 {
		code.Problemf("%d is no code; the largest is %d", n, math.MaxUint16)
		n = fault.CloseAbnormal
	}
	c.Code = uint16(n)
	return c
}

// wsStall reads from when on nothing comes through.
func wsStall(v yamldoc.Value) *fault.WSStall {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{after: 3, to: client}")
	defer m.Done()
	return &fault.WSStall{After: uint64(m.Get("after").Count(0, 0)), To: way(m.Need("to"), wayClient, wayServer, wayBoth)}
}

// noPong reads which pings get no pong: all, or a selection of them.
func (r *reader) noPong(v yamldoc.Value) *fault.Select {
	switch {
	case !v.Exists():
		return nil
	case !v.IsMap():
		if !v.Bool(true) {
			v.Problemf("is true or left out")
		}
		return &fault.Select{Kind: fault.SelectAll}
	}
	m := v.Map("")
	defer m.Done()
	kind := m.Choice(plainSelections()...)
	if kind == "" {
		m.Lacks(m.Value, plainSelections(), "says none of %s; for all pings write true", strings.Join(plainSelections(), ", "))
	}
	return new(r.plainly(m, kind))
}

// tellProblems tells what fault finds wrong with a WebSocket's parts as a whole.
func tellProblems(v yamldoc.Value, w fault.WebSocket, messages []yamldoc.Value) {
	rule := fault.Rule{
		Match: fault.Match{WebSocket: true}, Select: fault.Select{Kind: fault.SelectAll}, Action: fault.ActionPass, WebSocket: &w,
	}
	for _, p := range fault.Validate(fault.Script{Phases: map[string][]fault.Rule{"p": {rule}}}) {
		at, field := v, strings.TrimPrefix(p.Field, webSocketFault+".")
		if rest, ok := strings.CutPrefix(field, "messages."); ok {
			number, part, _ := strings.Cut(rest, ".")
			if n, err := strconv.Atoi(number); err == nil && n <= len(messages) {
				at, field = messages[n-1], strings.Replace(part, "by", string(fault.WSCut), 1)
			}
		}
		at.Problemf("%s", inSentence(field, besideOther(p.Text)))
	}
}

// besideOther names another fault of messages as the path of a problem does.
func besideOther(text string) string {
	rest, ok := strings.CutPrefix(text, "beside messages ")
	number, why, found := strings.Cut(rest, ":")
	if n, err := strconv.Atoi(number); ok && found && err == nil {
		return fmt.Sprintf("beside messages[%d]:%s", n-1, why)
	}
	return text
}

// inSentence puts a key before what is said of it.
func inSentence(key, text string) string {
	word, _, _ := strings.Cut(text, " ")
	switch {
	case key == "":
		return text
	case slices.Contains([]string{"is", "has", "must"}, word):
		return key + " " + text
	}
	return key + ": " + text
}
