package experiments

import (
	"time"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// The keys of a share or a latency that changes over the phase: from, to and over, or
// steps.
const (
	rampFrom  = "from"
	rampTo    = "to"
	rampOver  = "over"
	rampSteps = "steps"
)

// ratioShapes are the keys of a ratio of which it has one.
func ratioShapes() []string { return []string{"of", rampFrom, rampSteps} }

// straight asks for the keys beside from, which go with nothing else.
func straight(m *yamldoc.Map, key string) (to, over yamldoc.Value) {
	if key == rampFrom {
		return m.Need(rampTo), m.Need(rampOver)
	}
	to, over = m.Get(rampTo), m.Get(rampOver)
	for _, v := range []yamldoc.Value{to, over} {
		if v.Exists() {
			m.Lacks(v, []string{rampFrom}, "goes with from, as {from: ..., to: ..., over: 30s}")
		}
	}
	return to, over
}

// stages reads a list of what holds from an instant on.
func stages(v yamldoc.Value, key string, read func(at time.Duration, v yamldoc.Value)) {
	for _, item := range v.Items() {
		m := item.Map(map[string]string{"ratio": "{at: 10s, ratio: 30%}", "latency": "{at: 10s, latency: 200ms}"}[key])
		read(m.Need("at").DurationOrZero(0), m.Need(key))
		m.Done()
	}
}

// corners reads the points of what changes, of steps or of a straight line.
func corners(m *yamldoc.Map, key, what string, add func(at time.Duration, v yamldoc.Value)) {
	to, over := straight(m, key)
	if key == rampSteps {
		stages(m.Get(key), what, add)
		return
	}
	add(0, m.Get(key))
	add(over.Duration(0), to)
}

// ratioRamp reads a share that changes; key is from or steps.
func (r *reader) ratioRamp(m *yamldoc.Map, key string, kind fault.SelectKind) fault.Select {
	flawed := r.flawed()
	ramp := &fault.Ramp{Stairs: key == rampSteps}
	add := func(at time.Duration, v yamldoc.Value) {
		share, _ := v.ExactShare()
		ramp.Points = append(ramp.Points, fault.RampPoint{At: at, Num: share.Num, Den: share.Den})
	}
	corners(m, key, "ratio", add)
	s := fault.Select{Kind: kind, Ramp: ramp}
	if kind == fault.SelectShuffle {
		m.Get("draw").Problemf("shuffle deals a block of requests before anybody knows when they will come; a share that changes is drawn even or random")
	}
	if flawed() {
		return fault.Select{Kind: kind}
	}
	for _, p := range ramp.Problems() {
		m.Get(key).Problemf("%s", p.Text)
	}
	if num, _ := s.Peak(); !flawed() && num == 0 {
		m.Get(key).Problemf("0%% at all times hits nothing, so this fault would never fire")
	}
	return s
}

// latencyRamp reads a latency that changes; key is from or steps.
func (r *reader) latencyRamp(m *yamldoc.Map, key string) fault.Latency {
	flawed := r.flawed()
	ramp := &fault.LatencyRamp{Stairs: key == rampSteps}
	add := func(at time.Duration, v yamldoc.Value) {
		ramp.Points = append(ramp.Points, fault.LatencyPoint{At: at, Latency: v.DurationOrZero(0)})
	}
	corners(m, key, "latency", add)
	l := fault.Latency{Ramp: ramp}
	if flawed() {
		return fault.Latency{}
	}
	for _, p := range l.Problems() {
		m.Get(key).Problemf("%s", p.Text)
	}
	if !flawed() && l.Longest() == 0 {
		m.Get(key).Problemf("0s at all times adds nothing")
	}
	if flawed() {
		return fault.Latency{}
	}
	return l
}

// rampsFit looks for ramps of a fault that come to their end after the phase's.
func (p Phase) rampsFit(m *yamldoc.Map, rule fault.Rule) {
	short := func(key string, stairs bool, end time.Duration) {
		has := yamldoc.FormatDuration(p.Duration)
		switch {
		case p.Duration == 0:
		case stairs && end >= p.Duration:
			m.Key(key).Problemf("its last step is at %s, which never comes: the phase lasts %s", yamldoc.FormatDuration(end), has)
		case !stairs && end > p.Duration:
			m.Key(key).Problemf("takes %s to its end, which never comes: the phase lasts %s", yamldoc.FormatDuration(end), has)
		}
	}
	if ramp := rule.Select.Ramp; ramp != nil && len(ramp.Points) > 0 {
		short("ratio", ramp.Stairs, ramp.Points[len(ramp.Points)-1].At)
	}
	for _, l := range latenciesOf(rule.TCP) {
		if ramp := l.Ramp; ramp != nil && len(ramp.Points) > 0 {
			short(tcpFault, ramp.Stairs, ramp.Points[len(ramp.Points)-1].At)
		}
	}
	if ramp := rule.Latency.Ramp; ramp != nil && len(ramp.Points) > 0 {
		short("latency", ramp.Stairs, ramp.Points[len(ramp.Points)-1].At)
	}
}

// ratioRampOut writes a share that changes.
func ratioRampOut(s fault.Select) *yamldoc.Out {
	o := &yamldoc.Out{}
	share := func(p fault.RampPoint) any {
		return yamldoc.FormatShare(yamldoc.Share{Num: p.Num, Den: p.Den}.Float())
	}
	putRamp(o, "ratio", s.Ramp.Stairs, s.Ramp.Points, func(p fault.RampPoint) (time.Duration, any) { return p.At, share(p) })
	o.PutIf(s.Kind == fault.SelectRandom, "draw", drawRandom)
	return o
}

// latencyRampOut writes a latency that changes.
func latencyRampOut(r *fault.LatencyRamp) *yamldoc.Out {
	o := &yamldoc.Out{}
	putRamp(o, "latency", r.Stairs, r.Points, func(p fault.LatencyPoint) (time.Duration, any) {
		return p.At, yamldoc.FormatDuration(p.Latency)
	})
	return o
}

// putRamp writes the points of a ramp.
func putRamp[P any](o *yamldoc.Out, key string, stairs bool, points []P, of func(P) (time.Duration, any)) {
	if !stairs {
		over, to := of(points[len(points)-1])
		_, from := of(points[0])
		o.Put(rampFrom, from)
		o.Put(rampTo, to)
		o.Put(rampOver, over)
		return
	}
	o.Put(rampSteps, each(points, func(p P) *yamldoc.Out {
		step := &yamldoc.Out{}
		at, value := of(p)
		step.Put("at", yamldoc.FormatDuration(at))
		step.Put(key, value)
		return step
	}))
}

// rampSchema is a ramp beside what else a mapping may have: the keys, and what of them
// goes together.
func rampSchema(key string, value schema) (props keys, together map[string][]string) {
	step := object(keys{"at": ref(durationDef), key: value}, "at", key)
	return keys{rampFrom: value, rampTo: value, rampOver: ref(durationDef), rampSteps: list(step).with("minItems", 1)},
		map[string][]string{rampFrom: {rampTo, rampOver}, rampTo: {rampFrom}, rampOver: {rampFrom}}
}
