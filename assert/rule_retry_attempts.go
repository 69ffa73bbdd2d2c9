package assert

import (
	"fmt"
	"slices"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// RetryAttempts says how many attempts the SUT makes of one request to a dependency: A_j of a
// call, of the same method and path. One of Exactly and Max is asked.
//
// An attempt counts as a retry if the one before had failed or was not answered yet. One
// that follows at once on a connection that broke without an answer may have been sent by the
// HTTP library itself (see docs/clients.md), and one that follows a good answer may be a
// further request: such may count or not, and where a verdict would hang on them there is
// none. It fails by a request with more attempts. Exactly fails also by three requests with
// fewer, although a fault had hit each attempt and made it fail, the client still waited, and
// no breaker can have rejected the next one. It passes by three such requests, as on others
// nothing was tried again that could have been too much.
//
// Rejections leave no attempt, so retries of them are not counted. What can be seen of them
// is that rejected calls take as long as a retry waits, which the verdict mentions and
// short.latency bounds.
type RetryAttempts struct {
	Injector string
	Exactly  int // 0: not asked
	Max      int // 0: not asked
}

// Kind implements [Rule].
func (RetryAttempts) Kind() string { return "retry.max_attempts" }

func (r RetryAttempts) dependency() string { return r.Injector }

// expected says what the rule asks.
func (r RetryAttempts) expected() string {
	if r.Exactly > 0 {
		return "exactly " + plural(r.Exactly, "attempt") + " of a request that fails each time"
	}
	return "at most " + plural(r.Max, "attempt") + " of a request"
}

// fewest is how many requests must have been given every reason to be tried once more.
const fewest = 3

// attemptsMade sums up the requests of a phase.
type attemptsMade struct {
	most   numbers  // attempts of the request with most of them
	over   []*tries // that certainly have too many
	may    []*tries // that have too many, if all of their attempts were the SUT's own retries
	due    []*tries // that had every reason to be tried once more
	under  []*tries // of these, the ones that certainly have too few
	vague  []*tries // of these, the ones that may have
	failed int      // requests whose attempts have all failed
}

// judge implements [Rule].
func (r RetryAttempts) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	rs := e.retriesOf(r.Injector, a)
	m := r.measure(rs)
	out := Verdict{Result: Inconclusive, Observed: r.observed(rs, m) + rs.retriedRejections()}
	if out.Reason, out.Remedy = rs.unsaid(); out.Reason != "" {
		return out
	}
	switch {
	case len(m.over) > 0:
		out.Result, out.Evidence = Fail, callIDs(m.over)
		out.Reason = fmt.Sprintf("%s with more attempts than that", plural(len(m.over), "request"))
	case len(m.may) > 0:
		out.Evidence, out.Remedy = callIDs(m.may), doubtRemedy
		out.Reason = doubtWords(doubts(m.may))
	case len(m.under) >= fewest:
		out.Result, out.Evidence = Fail, callIDs(m.under)
		out.Reason = fmt.Sprintf("%s with fewer attempts, although each had failed and the client still waited", plural(len(m.under), "request"))
	case len(m.due) < fewest:
		out.Reason, out.Remedy = r.undecided(rs, m)
	case len(m.under) > 0:
		out.Evidence, out.Reason = callIDs(m.under), fmt.Sprintf("%s of %d with fewer attempts; other limits of the SUT, or a pause, may have cut them short", plural(len(m.under), "request"), len(m.due))
		out.Remedy = "send more calls in this phase"
	case len(m.vague) > 0:
		out.Evidence, out.Remedy = callIDs(m.vague), doubtRemedy
		out.Reason = doubtWords(doubts(m.vague))
	default:
		out.Result, out.Margin, out.Evidence = Pass, "exact", callIDs(m.due[:fewest])
		if r.Max > 0 {
			out.Margin = fmt.Sprintf("%d below the most", r.Max-m.most.Hi)
		}
	}
	return out
}

// measure counts the attempts of each request.
func (r RetryAttempts) measure(rs *retries) *attemptsMade {
	m, limit := &attemptsMade{}, max(r.Exactly, r.Max)
	for _, t := range rs.all {
		n := t.count()
		m.most = numbers{max(m.most.Lo, n.Lo), max(m.most.Hi, n.Hi)}
		switch {
		case n.Lo > limit:
			m.over = append(m.over, t)
		case n.Hi > limit:
			m.may = append(m.may, t)
		}
		if rs.failed(t.last()) {
			m.failed++
		}
		if !rs.due(t) {
			continue
		}
		m.due = append(m.due, t)
		switch {
		case n.Hi < r.Exactly:
			m.under = append(m.under, t)
		case n.Lo < r.Exactly:
			m.vague = append(m.vague, t)
		}
	}
	m.settle()
	return m
}

// settle takes back what a pause of the SUT explains as well.
func (m *attemptsMade) settle() {
	if len(m.over) < fewest && !slices.ContainsFunc(m.over, func(t *tries) bool { return !t.shaky() }) {
		m.over, m.may = nil, append(m.over, m.may...)
	}
}

// observed words how many attempts were made.
func (r RetryAttempts) observed(rs *retries, m *attemptsMade) string {
	if len(rs.all) == 0 {
		return "no request"
	}
	s := fmt.Sprintf("at most %s of a request, of %s; %s had every reason to be tried once more", attemptsOf(m.most), plural(len(rs.all), "request"), plural(len(m.due), "request"))
	if resends, _ := doubts(rs.all); resends > 0 && rs.library {
		s += fmt.Sprintf("; %s the HTTP library may have sent by itself", plural(resends, "attempt"))
	}
	return s
}

// attemptsOf words a number of attempts.
func attemptsOf(n numbers) string {
	if n.Lo == n.Hi {
		return plural(n.Lo, "attempt")
	}
	return n.String() + " attempts"
}

// undecided says why too few requests tell.
func (r RetryAttempts) undecided(rs *retries, m *attemptsMade) (reason, remedy string) {
	reason = fmt.Sprintf("%s had every reason to be tried once more, %d are needed", plural(len(m.due), "request"), fewest)
	switch {
	case rs.after > 0:
		return reason + fmt.Sprintf("; the SUT goes on when it has answered (%s did), so when it is done is not known", plural(rs.after, "request")),
			"judge calls that are answered when all is done, or ask for max alone"
	case m.failed > len(m.due):
		return reason + fmt.Sprintf("; of %d more that failed it is not certain that the breaker was closed, that a fault had hit each attempt, or that the client waited", m.failed-len(m.due)),
			"let the dependency fail in a phase in which the breaker stays closed (fewer calls than open it), or say unit: call if it does not ask for each attempt; load.timeout must be longer than all attempts together"
	case rs.unclear > 0:
		return reason + fmt.Sprintf("; of %s attempts may have left no sign", plural(rs.unclear, "call")), doubtRemedy
	}
	return reason, "let the dependency fail in this phase, as by respond: {status: 503}"
}

// retriedRejections says that rejected calls took as long as a retry waits, which is all that
// can be seen of a rejection that is tried again.
func (r *retries) retriedRejections() string {
	var waits, took []time.Duration
	for _, t := range r.all {
		for i, l := range t.links {
			if gap := t.list[i+1].Arr - t.list[i].Done(); l == linkRetry && gap > 0 && t.list[i].Done() != trace.None {
				waits = append(waits, gap)
			}
		}
	}
	for _, c := range r.calls {
		if c.Kind == trace.Short {
			took = append(took, c.Call.End-c.Call.Send)
		}
	}
	if len(waits) < fewest || len(took) < timed {
		return ""
	}
	wait, rejected := quantile(waits, 0.5), quantile(took, 0.5)
	if rejected < wait || wait < 4*r.slack {
		return ""
	}
	return fmt.Sprintf("; rejected calls took %s at the median and a retry waits %s: rejections may be tried again, which short.latency below that would show", short(rejected), short(wait))
}
