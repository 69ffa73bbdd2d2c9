package injector

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// EnvoyRule is the ID under which the ledger has faults that requests asked for themselves,
// see Config.EnvoyHeaders.
const EnvoyRule = "header/envoy"

// The headers by which a request asks for a fault, as those of Envoy's fault filter.
const (
	envoyAbort     = "X-Envoy-Fault-Abort-Request"
	envoyAbortGRPC = "X-Envoy-Fault-Abort-Grpc-Request"
	envoyDelay     = "X-Envoy-Fault-Delay-Request"
	envoyRate      = "X-Envoy-Fault-Throughput-Response"
	envoyShare     = "-Percentage"
)

// envoyText is the body of an abort, or its grpc-message.
const envoyText = "fault filter abort"

// envoyFaults are those that requests ask for.
type envoyFaults struct {
	seed  uint64
	guard storm

	seen, hit, spared atomic.Uint64 // requests that asked for a fault; of these, those that got it, and those that a limit kept from it

	mu     sync.Mutex
	shares map[envoyDraw]*fault.Phase // at most one for each percentage of each header
}

// envoyDraw is a header, and how many percent of the requests that say so are to be hit.
type envoyDraw struct {
	header  string
	percent uint64
}

// envoyFault is what one request gets.
type envoyFault struct {
	verdict fault.Verdict
	answer  answer // of an abort
}

// checkEnvoy prepares the faults that requests ask for.
func (i *Injector) checkEnvoy() error {
	if !i.cfg.EnvoyHeaders {
		return nil
	}
	if i.cfg.TCP != nil {
		return errors.New("envoy headers are those of requests, and this injector passes bytes on as they are")
	}
	i.envoy = &envoyFaults{seed: i.cfg.Seed, guard: storm{most: i.cfg.Limits.PerSecond}, shares: map[envoyDraw]*fault.Phase{}}
	return nil
}

// checkEnvoyRule looks for a rule that the ledger could not tell from what requests ask for.
func (i *Injector) checkEnvoyRule(rules []*fault.Rule) error {
	for _, r := range rules {
		if i.cfg.EnvoyHeaders && r.ID == EnvoyRule {
			return fmt.Errorf("fault %s: the id is that of faults that requests ask for", r.ID)
		}
	}
	return nil
}

// decideEnvoy asks the request itself for its fault, before all rules; false: it has none.
func (x *exchange) decideEnvoy(s *stage) bool {
	if x.envoy == nil || s.off || x.overdue(x.arrived) || s.isOver() {
		return false
	}
	f, asks := x.askEnvoy()
	if asks {
		x.envoy.seen.Add(1)
	}
	if f == nil {
		return false
	}
	x.phase = s.phase
	rule := f.verdict.Rule
	if limit := x.envoy.guard.within(func() Limit { return x.budget.take(false) }); limit != "" {
		x.spared = fmt.Sprintf("rule %s: limit %s", EnvoyRule, limit)
		x.envoy.spared.Add(1)
		x.tellLimit(limit, EnvoyRule)
		return true
	}
	x.envoy.hit.Add(1)
	x.uses, x.verdict, x.own = true, f.verdict, f.answer
	x.meter.hit(rule.Action)
	return true
}

// askEnvoy reads the request's headers, and whether it asks for anything by them; nil: it does not,
// or is not drawn.
func (x *exchange) askEnvoy() (f *envoyFault, asks bool) {
	rule := &fault.Rule{ID: EnvoyRule, Action: fault.ActionPass}
	f = &envoyFault{verdict: fault.Verdict{Rule: rule}}
	asked := false
	drawn := func(header string) bool {
		asks = true
		return x.drawnEnvoy(header)
	}
	if kib, ok := x.envoyNumber(envoyRate, 64); ok && kib > 0 && drawn(envoyRate) {
		rule.Form.Bandwidth, asked = int64(min(kib, math.MaxInt64>>10))<<10, true
	}
	if ms, ok := x.envoyNumber(envoyDelay, 64); ok && ms > 0 && drawn(envoyDelay) {
		const longest = uint64(10 * 365 * day / time.Millisecond)
		f.verdict.Latency, asked = time.Duration(min(ms, longest))*time.Millisecond, true
	}
	if r, ok := x.envoyAnswer(); ok && drawn(envoyAbort) {
		rule.Action, rule.Form, asked = fault.ActionRespond, fault.Form{}, true
		f.answer = newAnswer(r)
		if x.stream != nil && r.Body == "" {
			f.answer.header.Del("Content-Length") // One HEADERS frame says it all.
		}
	}
	if !asked {
		return nil, asks
	}
	return f, true
}

// envoyNumber reads the first value of a header as Envoy does; false: there is none.
func (x *exchange) envoyNumber(name string, bits int) (uint64, bool) {
	values := x.r.Header.Values(name)
	if len(values) == 0 {
		return 0, false
	}
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(values[0]), "+"), 10, bits)
	if err != nil {
		x.ignored(name, values[0], "is no number")
	}
	return n, err == nil
}

// ignored has the ledger tell of a value that is not followed, as Envoy does not.
func (x *exchange) ignored(name, value, why string) {
	x.notes = append(x.notes, fmt.Sprintf("%s %.40q %s and is ignored", strings.ToLower(name), value, why))
}

// drawnEnvoy reports whether the request is among those of its percentage.
func (x *exchange) drawnEnvoy(header string) bool {
	percent := uint64(100)
	if n, ok := x.envoyNumber(header+envoyShare, 32); ok {
		percent = min(n, percent) // More than all is all.
	}
	return percent == 100 || percent > 0 && x.envoy.draw(envoyDraw{header, percent})
}

// draw says whether the next request is hit. Of each hundred that ask for the same percentage
// as many are; at which places the seed decides, for each header otherwise, so that a delay and
// an abort of 50 % do not always come together.
func (e *envoyFaults) draw(d envoyDraw) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	phase := e.shares[d]
	if phase == nil {
		const name = "envoy"
		player, err := fault.NewPlayer(fault.Script{Phases: map[string][]fault.Rule{name: {{
			ID: d.header + strconv.FormatUint(d.percent, 10), Action: fault.ActionHang,
			Select: fault.Select{Kind: fault.SelectShuffle, Num: d.percent, Den: 100, Block: 100},
		}}}}, e.seed)
		if err != nil {
			return false // A percentage from 1 to 99 is a valid share.
		}
		phase = player.Phase(name)
		e.shares[d] = phase
	}
	return phase.Decide(fault.Request{}).Rule != nil
}

// envoyAnswer is the answer that the request asks to be aborted with. A status of HTTP comes
// before one of gRPC, and callers of gRPC are told either in their own terms.
func (x *exchange) envoyAnswer() (fault.Respond, bool) {
	kind := x.r.Header.Get("Content-Type")
	grpc := kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
	status, ok := x.envoyNumber(envoyAbort, 64)
	if ok && (status < 200 || status > 599) {
		x.ignored(envoyAbort, strconv.FormatUint(status, 10), "is no status from 200 to 599")
		ok = false
	}
	code := envoyCode(status)
	if !ok {
		if code, ok = x.envoyNumber(envoyAbortGRPC, 64); !ok {
			return fault.Respond{}, false
		}
		status = http.StatusOK
	}
	switch {
	case grpc:
		return fault.Respond{Status: http.StatusOK, Headers: map[string]string{
			"Content-Type": "application/grpc", "Grpc-Status": strconv.FormatUint(code, 10), "Grpc-Message": envoyText,
		}}, true
	case !mayHaveBody(int(status)):
		return fault.Respond{Status: int(status)}, true
	}
	return fault.Respond{Status: int(status), Headers: map[string]string{"Content-Type": "text/plain"}, Body: envoyText}, true
}

// envoyCode is the status of gRPC that a caller of gRPC is told for one of HTTP.
func envoyCode(status uint64) uint64 {
	codes := map[uint64]fault.GRPCCode{
		http.StatusBadRequest: "INTERNAL", http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "UNIMPLEMENTED",
		http.StatusTooManyRequests: "UNAVAILABLE", http.StatusBadGateway: "UNAVAILABLE", http.StatusServiceUnavailable: "UNAVAILABLE", http.StatusGatewayTimeout: "UNAVAILABLE",
	}
	code, ok := codes[status]
	if !ok {
		code = "UNKNOWN"
	}
	return uint64(code.Number())
}

// answerOf is the answer of a rule that responds.
func (x *exchange) answerOf(rule *fault.Rule) answer {
	if x.own.status != 0 {
		return x.own
	}
	return x.phase.answers[rule]
}

// state is what became of those that asked, since Start.
func (e *envoyFaults) state() RuleState {
	return RuleState{ID: EnvoyRule, Action: fault.ActionPass, Seen: e.seen.Load(), Hit: e.hit.Load(), Spared: e.spared.Load()}
}

// told is an ending's detail with what the request's headers had of their own.
func (x *exchange) told(detail string) string {
	if detail != "" {
		return strings.Join(append(x.notes, detail), "; ")
	}
	return strings.Join(x.notes, "; ")
}
