package simulate

import (
	"math"
	"slices"
	"sort"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/breakerref/retry"
	"github.com/faultline-go/faultline/breakerref/timelimit"
)

// brute is the simulator once more, without any haste: a list of things to do that is
// sorted anew each time, machines that are told everything, and the policies of the other
// packages. It shares with the engine only what chance says.
type brute struct {
	m        Model
	seed     uint64
	trial    uint64
	todo     []todo
	order    int
	machines []*breakerref.Machine
	start    time.Time
	free     []int64
	policy   *retry.Policy
	calls    uint64
	out      Trial
	loads    map[stage]map[int64]int64
	seen     []seen
}

type todo struct {
	at    int64
	order int
	do    func(at int64)
}

// seen is what is known of a machine.
type seen struct {
	turns    []turn
	outcomes []int64 // when each came
	told     []int   // how many there were at each turn
}

func (b *brute) later(at int64, do func(int64)) {
	b.order++
	b.todo = append(b.todo, todo{at, b.order, do})
}

func bruteTrial(m Model, seed, trial uint64) Trial {
	b := &brute{m: m, seed: seed, trial: trial, loads: map[stage]map[int64]int64{}}
	begin := newStream(seed, trial, ofStart)
	b.start = time.Unix(beginning, int64(begin.at(0)>>11)%int64(time.Second))
	for i := range m.Traffic.Replicas {
		c := m.Breaker
		c.Seed = newStream(seed, trial, ofWaits).at(uint64(i))
		machine, err := breakerref.New(c, b.start)
		if err != nil {
			panic(err)
		}
		b.machines = append(b.machines, machine)
		b.seen = append(b.seen, seen{turns: []turn{{0, machine.State()}}, told: []int{0}})
	}
	rc := m.Traffic.Retry
	rc.Seed = newStream(seed, trial, ofRetry).at(0)
	b.policy, _ = retry.New(rc, retry.Predicates{})
	b.free = make([]int64, m.Traffic.Workers)
	b.sources(begin)
	for len(b.todo) > 0 {
		sort.SliceStable(b.todo, func(i, j int) bool {
			if b.todo[i].at != b.todo[j].at {
				return b.todo[i].at < b.todo[j].at
			}
			return b.todo[i].order < b.todo[j].order
		})
		next := b.todo[0]
		b.todo = b.todo[1:]
		if next.at >= int64(m.Duration) {
			break
		}
		next.do(next.at)
	}
	return b.sum()
}

// arrivalOrder puts arrivals behind all else at the same instant.
const arrivalOrder = 1 << 40

func (b *brute) sources(begin stream) {
	t := b.m.Traffic
	for i := range t.Clients {
		b.later(int64(open01(begin.at(uint64(i)+2))*float64(t.Think)), b.call)
	}
	if t.Clients > 0 {
		return
	}
	gap := 1e9 / t.Rate
	dice := newDice(newStream(b.seed, b.trial, ofArrivals))
	at := int64(0)
	for n := 0; at < int64(b.m.Duration); n++ {
		if t.Arrivals == Even {
			at = int64((1-open01(begin.at(1)))*gap + float64(n)*gap)
		} else {
			at += int64(dice.rand.ExpFloat64() * gap)
		}
		b.todo = append(b.todo, todo{at, arrivalOrder + n, b.call})
	}
}

func (b *brute) stage(at int64) stage {
	o := b.m.outage()
	switch {
	case o.none() || time.Duration(at) < o.From:
		return before
	case time.Duration(at) < o.To:
		return during
	}
	return after
}

func (b *brute) wall(at int64) time.Time { return b.start.Add(time.Duration(at)) }

// look takes what a machine has to tell.
func (b *brute) look(i int) {
	for _, e := range b.machines[i].Events() {
		if e.Kind == breakerref.EventTransition {
			b.seen[i].turns = append(b.seen[i].turns, turn{int64(e.At.Sub(b.start)), e.To})
			b.seen[i].told = append(b.seen[i].told, len(b.seen[i].outcomes))
		}
	}
}

type oneCall struct {
	b       *brute
	n       uint64
	replica int
	began   int64
	stage   stage
}

func (b *brute) call(at int64) {
	c := &oneCall{b: b, n: b.calls, began: at, stage: b.stage(at)}
	b.calls++
	if r := uint64(len(b.machines)); r > 1 {
		c.replica = int(newStream(b.seed, b.trial, ofSpread).at(c.n) >> 32 * r >> 32)
		if b.m.Traffic.Arrivals == Even && b.m.Traffic.Clients == 0 {
			c.replica = int(c.n % r)
		}
	}
	c.attempt(at, 1)
}

type failure struct{}

func (failure) Error() string { return "failure" }

func (c *oneCall) attempt(at int64, n int) {
	b, t := c.b, c.b.m.Traffic
	if n == 1 || !t.Around {
		ok := b.machines[c.replica].Acquire(b.wall(at))
		b.look(c.replica)
		if !ok {
			d := b.policy.Next(c.n, n, retry.Outcome{Err: failure{}})
			if d.Again && !t.SparesRejected && !t.Around {
				b.later(at+int64(d.Wait), func(at int64) { c.attempt(at, n+1) })
				return
			}
			b.out.Ends[c.stage].Rejected++
			c.gone(at, true)
			return
		}
	}
	s := b.stage(at)
	b.out.Attempts[s]++
	if b.loads[s] == nil {
		b.loads[s] = map[int64]int64{}
	}
	b.loads[s][at-int64(b.begins(s))]++
	failed, takes := c.dependency(at, n)
	end := b.wall(at + takes)
	if t.Timeout > 0 {
		l, err := timelimit.New(timelimit.Config{Timeout: t.Timeout})
		if err != nil {
			panic(err)
		}
		o := l.Start(b.wall(at)).Outcome(end, timelimit.Success)
		end, failed = o.At, failed || o.Answer == timelimit.Timeout
	}
	b.later(int64(end.Sub(b.start)), func(end int64) { c.ends(at, end, n, failed) })
}

// begins is when a stage does.
func (b *brute) begins(s stage) time.Duration {
	return []time.Duration{0, b.m.outage().From, b.m.outage().To}[s]
}

func (c *oneCall) dependency(at int64, n int) (failed bool, takes int64) {
	b, t := c.b, c.b.m.Traffic
	share, lat := t.Background, t.Latency
	for _, p := range t.Phases {
		if time.Duration(at) >= p.From && time.Duration(at) < p.To {
			share = p.Failures[0] + (p.Failures[1]-p.Failures[0])*float64(at-int64(p.From))/float64(p.To-p.From)
			if p.Latency != nil {
				lat = *p.Latency
			}
		}
	}
	key := c.n
	if n > 1 {
		key = mix(key + uint64(n)*golden)
	}
	s := newSampler(lat)
	takes = s.draw(newDice(0).at(newStream(b.seed, b.trial, ofLatency), key))
	failed = float64(newStream(b.seed, b.trial, ofFailures).at(key)>>11)/whole < share
	if t.Workers > 0 {
		slices.Sort(b.free)
		b.free[0] = max(b.free[0], at) + takes
		takes = b.free[0] - at
	}
	return failed, takes
}

func (c *oneCall) ends(sent, at int64, n int, failed bool) {
	b, t := c.b, c.b.m.Traffic
	record := func(from int64) {
		b.machines[c.replica].Record(b.wall(at), failed, time.Duration(at-from))
		b.seen[c.replica].outcomes = append(b.seen[c.replica].outcomes, at)
		b.look(c.replica)
	}
	if !t.Around {
		record(sent)
	}
	if failed {
		if d := b.policy.Next(c.n, n, retry.Outcome{Err: failure{}}); d.Again {
			b.later(at+int64(d.Wait), func(at int64) { c.attempt(at, n+1) })
			return
		}
	}
	if t.Around {
		record(c.began)
	}
	if failed {
		b.out.Ends[c.stage].Failed++
	} else {
		b.out.Ends[c.stage].Answered++
	}
	c.gone(at, failed)
}

func (c *oneCall) gone(at int64, empty bool) {
	b, t := c.b, c.b.m.Traffic
	switch {
	case empty && t.Comeback > 0:
		b.out.Comeback++
		b.later(at+int64(t.Comeback), b.call)
	case t.Clients > 0:
		pause := newDice(0).at(newStream(b.seed, b.trial, ofThink), c.n).ExpFloat64() * float64(t.Think)
		b.later(at+1+int64(pause), b.call)
	}
}

// sum looks at all of it afterwards.
func (b *brute) sum() Trial {
	ended := int64(0)
	for _, e := range b.out.Ends {
		ended += e.Calls()
	}
	b.out.Pending = int64(b.calls) - ended
	b.out.PeakBefore, b.out.PeakAfter = b.peak(before), b.peak(after)
	for i, m := range b.machines {
		m.Advance(b.wall(int64(b.m.Duration)))
		b.look(i)
		b.out.Breakers = append(b.out.Breakers, b.watched(b.seen[i]))
	}
	return b.out
}

func (b *brute) peak(s stage) int64 {
	seconds := map[int64]int64{}
	most := int64(0)
	for at, n := range b.loads[s] {
		seconds[at/int64(time.Second)] += n
		most = max(most, seconds[at/int64(time.Second)])
	}
	return most
}

// stateAt is the state as of an instant.
func (s seen) stateAt(at time.Duration) breakerref.State {
	state := s.turns[0].to
	for _, t := range s.turns {
		if time.Duration(t.at) <= at {
			state = t.to
		}
	}
	return state
}

func (b *brute) watched(s seen) Watched {
	o := b.m.outage()
	w := Watched{States: map[breakerref.State]time.Duration{}}
	for i, t := range s.turns {
		until := b.m.Duration
		if i+1 < len(s.turns) {
			until = time.Duration(s.turns[i+1].at)
		}
		w.States[t.to] += until - time.Duration(t.at)
	}
	if !o.none() {
		w.ClosedBefore = s.stateAt(o.From-1) == breakerref.Closed
		w.ShutAtEnd = s.stateAt(o.To-1) != breakerref.Closed
	}
	if last := s.turns[len(s.turns)-1]; len(s.turns) > 1 && last.to == breakerref.Closed && !o.none() && time.Duration(last.at) >= o.To {
		d := time.Duration(last.at) - o.To
		w.Settled = &d
	}
	for i := 1; i < len(s.turns); i++ {
		t, from := s.turns[i], s.turns[i-1].to
		at := time.Duration(t.at)
		switch {
		case from == breakerref.Closed && t.to == breakerref.Open && (o.none() || at < o.From):
			w.False++
		case from == breakerref.Closed && t.to == breakerref.Open && at >= o.To:
			w.Late++
		case from == breakerref.Closed && t.to == breakerref.Open && w.Opened == nil && w.ClosedBefore:
			n := int64(0)
			for _, r := range s.outcomes[:s.told[i]] {
				if r >= int64(o.From) {
					n++
				}
			}
			w.Opened = &Opening{After: at - o.From, Outcomes: n}
		case t.to == breakerref.Closed && w.ShutAtEnd && at >= o.To && w.Recovered == nil:
			d := at - o.To
			w.Recovered = &d
		}
	}
	return w
}

// drawModel draws any model that is not too large for brute.
func drawModel(t *rapid.T) Model {
	ms := func(name string, from, to int64) time.Duration {
		return time.Duration(rapid.Int64Range(from, to).Draw(t, name)) * time.Millisecond
	}
	m := Default()
	m.Duration = ms("duration", 5000, 40000)
	drawBreaker(t, &m.Breaker, ms)
	tr := &m.Traffic
	tr.Rate = float64(rapid.IntRange(1, 40).Draw(t, "rate"))
	tr.Arrivals = rapid.SampledFrom([]Arrivals{Poisson, Even}).Draw(t, "arrivals")
	tr.Replicas = rapid.IntRange(1, 3).Draw(t, "replicas")
	if rapid.Bool().Draw(t, "closed loop") {
		tr.Rate, tr.Clients, tr.Think = 0, rapid.IntRange(1, 20).Draw(t, "clients"), ms("think", 50, 2000)
	}
	if rapid.Bool().Draw(t, "comes back") {
		tr.Comeback = ms("comeback", 1000, 9000)
	}
	if rapid.Bool().Draw(t, "patient") {
		tr.Timeout = ms("timeout", 1, 500)
	}
	if rapid.Bool().Draw(t, "retries") {
		tr.Retry.MaxAttempts = rapid.IntRange(2, 4).Draw(t, "attempts")
		tr.Retry.Wait = ms("wait", 1, 2000)
		tr.Retry.RandomFactor = rapid.SampledFrom([]float64{0, 0.5}).Draw(t, "random wait")
	}
	tr.Around = rapid.Bool().Draw(t, "around")
	tr.SparesRejected = rapid.Bool().Draw(t, "spares")
	if rapid.Bool().Draw(t, "limited") {
		tr.Workers = rapid.IntRange(1, 5).Draw(t, "workers")
	}
	tr.Background = rapid.SampledFrom([]float64{0, 0.01, 0.2, 0.5}).Draw(t, "background")
	tr.Latency = Latency{Median: ms("latency", 0, 300)}
	if rapid.Bool().Draw(t, "lognormal") {
		tr.Latency = Latency{Median: ms("median", 1, 200), P99: ms("p99", 200, 2000)}
	}
	tr.Phases = nil
	for at := ms("from", 0, 9000); len(tr.Phases) < 3; at += ms("pause", 0, 5000) {
		p := Phase{Span: Span{at, at + ms("length", 1, 9000)}}
		p.Failures = [2]float64{rapid.Float64Range(0, 1).Draw(t, "first"), rapid.Float64Range(0, 1).Draw(t, "last")}
		if rapid.Bool().Draw(t, "alike") {
			p.Failures = [2]float64{1, 1}
		}
		if rapid.Bool().Draw(t, "other latency") {
			p.Latency = &Latency{Median: ms("its latency", 0, 3000)}
		}
		if at = p.To; at > m.Duration {
			break
		}
		tr.Phases = append(tr.Phases, p)
	}
	return m
}

func drawBreaker(t *rapid.T, b *breakerref.Config, ms func(string, int64, int64) time.Duration) {
	b.WindowType = rapid.SampledFrom([]breakerref.WindowType{breakerref.CountBased, breakerref.TimeBased}).Draw(t, "type")
	b.LockFree = rapid.IntRange(0, 4).Draw(t, "lock") == 0
	b.Window = rapid.IntRange(1, 20).Draw(t, "window")
	b.MinimumCalls = rapid.IntRange(1, 25).Draw(t, "minimum")
	b.FailureRate = rapid.SampledFrom([]float32{1, 20, 33.333332, 50, 100}).Draw(t, "failure rate")
	b.SlowRate = rapid.SampledFrom([]float32{20, 50, 100}).Draw(t, "slow rate")
	b.SlowDuration = ms("slow", 1, 1000)
	b.Wait = ms("open", 1, 9000)
	if rapid.Bool().Draw(t, "grows") {
		b.WaitMultiplier = 1.5
	}
	if rapid.Bool().Draw(t, "varies") {
		b.WaitRandom = 0.3
	}
	b.AutoHalfOpen = rapid.Bool().Draw(t, "auto")
	b.Permitted = rapid.IntRange(1, 12).Draw(t, "permitted")
	if rapid.Bool().Draw(t, "half-open limit") {
		b.HalfOpenMaxWait = ms("half-open", 100, 3000)
		b.HalfOpenMaxWaitCloses = rapid.Bool().Draw(t, "closes")
	}
	b.Initial = rapid.SampledFrom([]breakerref.State{breakerref.Closed, breakerref.Closed, breakerref.Closed, breakerref.Open, breakerref.HalfOpen, breakerref.ForcedOpen, breakerref.MetricsOnly, breakerref.Disabled}).Draw(t, "initial")
}

// TestBrute holds the engine against brute.
func TestBrute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		if err := m.Validate(); err != nil {
			t.Fatal(err)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		got, want := Play(&m, seed, 3), bruteTrial(m, seed, 3)
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("(-brute +engine)\n%s", d)
		}
	})
}

// TestFastIsTheMachine holds the windows of this package against those of the machine, in
// longer trials than brute has time for.
func TestFastIsTheMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawModel(t)
		m.Duration *= 5
		m.Breaker.Window = rapid.IntRange(1, 200).Draw(t, "larger window")
		m.Breaker.MinimumCalls = rapid.IntRange(1, 200).Draw(t, "larger minimum")
		seed := rapid.Uint64().Draw(t, "seed")
		if d := cmp.Diff(PlayStepwise(&m, seed, 1), Play(&m, seed, 1)); d != "" {
			t.Fatalf("(-stepwise +fast)\n%s", d)
		}
	})
}

// The queue gives back what it got in order, whatever comes when.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := newQueue()
		var all []event
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			if len(all) == 0 || rapid.IntRange(0, 2).Draw(t, "put") > 0 {
				e := event{at: rapid.Int64Range(0, 50).Draw(t, "at")}
				q.put(&e)
				all = append(all, e)
				continue
			}
			sort.SliceStable(all, func(i, j int) bool { return all[i].before(&all[j]) })
			if q.next() != all[0].at {
				t.Fatalf("next is %d, want %d", q.next(), all[0].at)
			}
			var got event
			q.take(&got)
			if got != all[0] {
				t.Fatalf("got %+v, want %+v", got, all[0])
			}
			all = all[1:]
		}
	})
}

// The wait before one worker with work that always takes as long is that of the queue
// M/D/1: rho/(2(1-rho)) of the time of the work.
func TestWorkersQueue(t *testing.T) {
	const rho, takes, n = 0.7, 1e9, 2_000_000
	w := make(workers, 1)
	dice := newDice(newStream(1, 1, ofArrivals))
	at, waited := 0.0, 0.0
	for range n {
		at += dice.rand.ExpFloat64() * takes / rho
		waited += float64(w.serve(int64(at), takes)) - takes - math.Floor(at)
	}
	if got, want := waited/n/takes, rho/(2*(1-rho)); math.Abs(got/want-1) > 0.03 {
		t.Errorf("a mean wait of %.4f, want %.4f", got, want)
	}
}
