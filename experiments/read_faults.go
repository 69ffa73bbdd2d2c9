package experiments

import (
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// faults reads what goes wrong in a phase.
func (r *reader) faults(p *Phase, v yamldoc.Value) {
	items := v.List()
	if p.pause() && len(items) > 0 {
		v.Problemf("could never fire: the phase sends no calls (0/s)")
	}
	for i, item := range items {
		flawed := r.flawed()
		m := item.Map("{respond: {status: 503}}")
		at := m.Get("injector")
		injector := r.injectors.referOr(at)
		rule := r.fault(m, injector)
		rule.ID = p.Name + "/" + strconv.Itoa(i)
		p.rampsFit(m, rule)
		foreign(m)
		m.Done()
		if injector == "" {
			continue
		}
		if !r.reaches(*p, injector) {
			at.Problemf("no target of this phase depends on injector %s, so this fault could never fire", injector)
		}
		if !flawed() { // Else it may take other requests than it seems to.
			p.add(item, injector, rule)
		}
	}
}

// add gives a phase one more fault, which must get along with those before it.
func (p *Phase) add(v yamldoc.Value, injector string, rule fault.Rule) {
	earlier := p.Faults[injector]
	if text := besideDoor(earlier, rule); text != "" {
		v.Problemf("%s", text)
	} else if text := fault.Against(earlier, rule, func(i int) string { return "fault " + earlier[i].ID }); text != "" {
		v.Problemf("%s", text)
	}
	sharedRates(v, earlier, rule)
	if p.Faults == nil {
		p.Faults = map[string][]fault.Rule{}
	}
	p.Faults[injector] = append(earlier, rule)
}

func (r *reader) fault(m *yamldoc.Map, injector string) fault.Rule {
	rule := fault.Rule{
		Match:   requestMatch(m.Get("match")),
		Select:  r.selection(m),
		Latency: r.latency(m.Get("latency")),
	}
	r.action(&rule, m)
	rule.Stealth = m.Get("stealth").Bool(false)
	if rule.Stealth && rule.Action != fault.ActionReset && rule.Action != fault.ActionClose {
		m.Lacks(m.Get("stealth"), []string{"reset", "close"}, "goes with reset or close, the faults of a connection")
	}
	rule.ReadRate = m.Get("read").Throughput(0)
	rule.Form = form(m)
	r.fitsInjector(m, rule, injector)
	if none := answerless(rule); none != "" {
		for _, key := range formKeys() {
			if v := m.Get(key); v.Exists() {
				v.Problemf("is how an answer is sent, and %s gives none", none)
			}
		}
		rule.Form = fault.Form{}
	}
	r.http2(&rule, m)
	if rule.Action != fault.ActionTCP {
		rule.Hold = r.hold(m.Get("hold"), injector, rule.Latency.Longest())
	}
	if rule.Action == fault.ActionHang {
		for _, key := range []string{"latency", "hold"} {
			if v := m.Get(key); v.Exists() {
				v.Problemf("cannot be seen before a hang")
			}
		}
	}
	door(&rule, m)
	connections(&rule, m)
	r.speaks(rule, m, injector)
	return rule
}

// answerless names what a fault does where it gives no answer that could have a form.
func answerless(rule fault.Rule) string {
	switch {
	case rule.WebSocket != nil:
		return webSocketFault
	case rule.Action == fault.ActionRespond, rule.Action == fault.ActionPass:
		return ""
	}
	return string(rule.Action)
}

// actions are the keys of a fault that say what happens instead of the healthy answer.
func actions() []string {
	return slices.Concat([]string{
		"respond", "reset", "close", "hang", "garbage", "pass",
		"grpc", "settings", "tls",
		webSocketFault,
		tcpFault,
	}, doors())
}

// action reads what happens to a request that the rule hits.
func (r *reader) action(rule *fault.Rule, m *yamldoc.Map) {
	key := m.Choice(actions()...)
	switch key {
	case "respond":
		rm := m.Get(key).Map("{status: 503}")
		rule.Action = fault.ActionRespond
		rule.Respond = filled(rm, respond(rm, rm.Need("status")))
		rm.Done()
		return
	case "grpc":
		rule.Action, rule.Respond = fault.ActionRespond, grpcAnswer(m.Get(key))
		return
	case "settings":
		rule.Action, rule.Settings = fault.ActionSettings, settings(m.Get(key))
		return
	case "tls":
		rule.Action, rule.TLS = fault.ActionTLS, handshake(m.Get(key))
		return
	case "garbage":
		rule.Action, rule.Garbage = fault.ActionGarbage, garbage(m.Get(key))
		return
	case webSocketFault:
		rule.Action, rule.WebSocket = fault.ActionPass, r.webSocket(m.Get(key))
		toWebSockets(&rule.Match, m.Get("match"))
		return
	case tcpFault:
		rule.Action, rule.TCP = fault.ActionTCP, r.tcp(m.Get(key))
		return
	case "":
		rule.Action = fault.ActionPass
		does := slices.Concat(actions(), []string{"latency", "hold", "read", "h2"}, formKeys())
		if m.Exists() && !slices.ContainsFunc(does, m.Has) && !slices.ContainsFunc(m.Unknown(), isForeign) {
			m.Lacks(m.Value, does, "does nothing; give it %s, latency, hold or read, or say how the answer is sent", strings.Join(actions(), ", "))
		}
		return
	}
	rule.Action = fault.Action(key) // the keys are the actions' names
	if !m.Get(key).Bool(true) {
		m.Get(key).Problemf("is true or left out")
	}
}

// garbage reads how many random bytes are sent.
func garbage(v yamldoc.Value) int {
	n := v.Size(1, 1)
	if n > fault.MostGarbage {
		v.Problemf("is more than %s, the most that is made", yamldoc.FormatSize(fault.MostGarbage))
		n = 1
	}
	return int(n)
}
