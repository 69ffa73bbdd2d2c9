package differential_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
)

// tell writes a case as the stories in the testdata of package breakerref are
// written, with the answers of the library, and below it what the machine says
// instead.
func tell(r run, library, machine []byte) string {
	var b strings.Builder
	b.WriteString(r.setting.remarks())
	fmt.Fprintf(&b, "config%s\n----\n%v\n\ndo\n", r.setting.words(), r.setting.Initial)
	for _, o := range r.ops {
		b.WriteString(strings.Join(o.words(), "\n"))
		b.WriteString("\n")
	}
	b.WriteString("----\n")
	now := r.setting.start
	theirs, ours := lines(library), lines(machine)
	last := ""
	for i, o := range r.ops {
		start := now
		now += o.passes(at(theirs, i))
		fmt.Fprintln(&b, show(o, start, now, at(theirs, i)))
		last = show(o, start, now, at(ours, i))
	}
	fmt.Fprintf(&b, "# The machine instead:\n%s\n", last)
	b.WriteString("# Both in full, with the distance of the next timer before the events:\n")
	fmt.Fprintf(&b, "# %s# %s",
		at(theirs, len(r.ops)-1), at(ours, len(r.ops)-1))
	return b.String()
}

// at returns a line of answers, which may have ended early.
func at(answers [][]byte, i int) string {
	if i < len(answers) {
		return string(answers[i])
	}
	return "nothing\n"
}

// passes returns how far an operation moves the clock.
func (o op) passes(answer string) time.Duration {
	switch {
	case o.kind == advance:
		return o.wait
	case (o.kind == calls || o.kind == callFails) && !strings.HasPrefix(answer, "f "):
		return o.end.took
	}
	return 0
}

// remarks are what no setting of a story can say.
func (s setting) remarks() string {
	var b strings.Builder
	by := map[byte]string{'c': "by class", 'p': "by a predicate"}
	if s.record != '-' {
		fmt.Fprintf(&b, "# Recorded errors are told %s.\n", by[s.record])
	}
	if s.ignore != '-' {
		fmt.Fprintf(&b, "# Ignored errors are told %s.\n", by[s.ignore])
	}
	if s.results {
		b.WriteString("# Bad values are failures.\n")
	}
	if s.verdicts {
		b.WriteString("# transitionOnResult says what the step does.\n")
	}
	return b.String()
}

// words are the settings that differ from the defaults.
func (s setting) words() string {
	d := breakerref.Default()
	var b strings.Builder
	say := func(is bool, name string, value any) {
		if is {
			fmt.Fprintf(&b, " %s=%v", name, value)
		}
	}
	say(s.WindowType == breakerref.CountBased, "count", s.Window)
	say(s.WindowType == breakerref.TimeBased, "time", s.Window)
	say(s.MinimumCalls != d.MinimumCalls, "min", s.MinimumCalls)
	say(s.FailureRate != d.FailureRate, "failure", s.FailureRate)
	say(s.SlowRate != d.SlowRate, "slow", s.SlowRate)
	say(s.SlowDuration != d.SlowDuration, "slow-after", s.SlowDuration)
	say(s.Wait != d.Wait && len(s.Waits) == 0, "wait", s.Wait)
	say(s.WaitMultiplier != 0, "growth", s.WaitMultiplier)
	say(s.WaitMax != 0, "wait-max", s.WaitMax)
	say(len(s.Waits) > 0, "waits", strings.ReplaceAll(strings.Trim(fmt.Sprint(s.Waits), "[]"), " ", "/"))
	say(s.AutoHalfOpen, "auto", true)
	say(s.Permitted != d.Permitted, "permitted", s.Permitted)
	say(s.HalfOpenMaxWait != 0, "half-open-max", s.HalfOpenMaxWait)
	say(s.HalfOpenMaxWaitCloses, "half-open-then", breakerref.Closed)
	say(s.Initial != d.Initial, "initial", s.Initial)
	say(s.LockFree, "lock-free", true)
	say(s.start != 0, "start", s.start)
	say(true, "strict", true)
	return b.String()
}

// words are an operation as steps of a story, of which the last one is answered.
func (o op) words() []string {
	switch o.kind {
	case tryAcquire:
		return []string{"acquire"}
	case acquire:
		return []string{"acquire or throw"}
	case success:
		return []string{"ok" + o.end.time()}
	case failed:
		if o.end == (ending{class: 'r', wrap: '-', verdict: '-', took: o.end.took}) {
			return []string{"err" + o.end.time()}
		}
		return []string{o.end.words("err")}
	case returned:
		return []string{o.end.words("value")}
	case calls:
		return []string{o.end.words("call value")}
	case callFails:
		return []string{o.end.words("call err")}
	case release:
		return []string{"release"}
	case advance:
		return []string{"wait " + o.wait.String(), "look"}
	case transition:
		return []string{"to " + o.to.String()}
	case openFor:
		return []string{"open-for " + o.wait.String()}
	case openTill:
		return []string{"open-till now+" + o.wait.String()}
	case reset:
		return []string{"reset"}
	}
	return []string{fmt.Sprintf("operation %q", o.kind)}
}

func (e ending) time() string {
	if e.took == 0 {
		return ""
	}
	return " " + e.took.String()
}

func (e ending) words(what string) string {
	class := map[byte]string{'g': "good", 'b': "bad", 'n': "none", 'r': "recorded", 'i': "ignored", 'u': "other"}
	wrap := map[byte]string{'c': " in a CompletionException", 'x': " in an ExecutionException"}
	verdict := map[byte]string{'o': " then open", 'f': " then open-for " + e.wait.String(), 'u': " then open-till now+" + e.wait.String()}
	return what + " " + class[e.class] + e.time() + wrap[e.wrap] + verdict[e.verdict]
}

// show writes an answer as a story does.
func show(o op, start, now time.Duration, answer string) string {
	words := o.words()
	fields := strings.Split(strings.TrimSuffix(answer, "\n"), " ")
	if len(fields) < 5 {
		return answer
	}
	state, published := fields[1], fields[len(fields)-1]
	result := strings.NewReplacer("!", "", "-", "").Replace(fields[0])
	if yes, ok := map[string]string{"t": "true", "f": "false"}[result]; ok {
		result = yes
	}
	numbers := strings.Join(fields[2:len(fields)-2], " ")
	if m := fields[2 : len(fields)-2]; len(m) == 7 {
		numbers = fmt.Sprintf("%9v %9v  %s  %s", rate(m[0]), rate(m[1]), strings.Join(m[2:6], "/"), m[6])
	}
	var events []string
	for e := range strings.SplitSeq(published, ",") {
		events = append(events, event(e, start, now))
	}
	return strings.TrimRight(fmt.Sprintf("%-12s %-15s %-6s %-12s %s  %s", now, words[len(words)-1],
		result, stateNamed(state), numbers, strings.TrimSpace(strings.Join(events, " "))), " ")
}

// rate reads the bits of a rate.
func rate(hex string) any {
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		return hex
	}
	return math.Float32frombits(uint32(n))
}

func stateNamed(letter string) string {
	for s := breakerref.Closed; s <= breakerref.ForcedOpen; s++ {
		if s.String()[:1] == letter {
			return s.String()
		}
	}
	return letter
}

// event writes an event as a story does.
func event(code string, start, now time.Duration) string {
	what, away, _ := strings.Cut(code, "@")
	if what == "" {
		return ""
	}
	name := what
	for k := breakerref.EventSuccess; k <= breakerref.EventReset; k++ {
		if what[0] == letter(k) {
			name = k.String()
		}
	}
	switch what[0] {
	case 'T':
		name += ":" + stateNamed(what[1:2]) + "_TO_" + stateNamed(what[2:])
	case 'F', 'L':
		name += fmt.Sprintf("(%v)", rate(what[1:]))
	}
	at := start
	if n, err := strconv.ParseInt(away, 10, 64); err == nil {
		at += time.Duration(n)
	}
	if at != now {
		name += "@" + at.String()
	}
	return name
}
