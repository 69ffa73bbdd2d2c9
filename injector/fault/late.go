package fault

// LatencyAt is the place of a latency in a request.
type LatencyAt string

// The places.
const (
	LatencyAtRequest  LatencyAt = ""         // before the action: an upstream is asked after it
	LatencyAtResponse LatencyAt = "response" // when the stub or the upstream has done its work, before the first byte of its answer is sent
)

// LatencyMode is what a latency does to a request's time.
type LatencyMode string

// The modes.
const (
	LatencyAdd   LatencyMode = ""      // it is added
	LatencyFloor LatencyMode = "floor" // the request takes at least so long: what the stub or the upstream takes counts. Its place is always [LatencyAtResponse]
)

// Late reports whether the latency passes after the stub or the upstream has done its work.
func (l Latency) Late() bool { return l.At == LatencyAtResponse || l.Mode == LatencyFloor }

// placed says in words when a time passes that is said in words.
func (l Latency) placed(time string) string {
	switch {
	case l.Mode == LatencyFloor:
		return "at least " + time + ", the work included"
	case l.Late():
		return time + ", after the work"
	}
	return time
}

// checkLate looks at the words.
func (l Latency) checkLate(laws int, ps *problems) {
	if l.At != LatencyAtRequest && l.At != LatencyAtResponse {
		ps.add("latency.at", "%q is not %s; leave it out for a latency before the action", l.At, LatencyAtResponse)
	}
	if l.Mode != LatencyAdd && l.Mode != LatencyFloor {
		ps.add("latency.mode", "%q is not %s; leave it out for a latency that is added", l.Mode, LatencyFloor)
	}
	if l.Late() && laws == 0 {
		ps.add("latency", "says when it passes, and not how long it is")
	}
}

// placeless refuses a place and a mode, for latencies of what is no request.
func (l Latency) placeless(field, of string, ps *problems) {
	if l.Late() {
		ps.add(field, "at and mode are of requests, and this is a latency of %s; leave them out", of)
	}
}

// Workless names what of the rule leaves no work of a stub or an upstream, whose answer could
// be late; empty: there is such an answer.
func (r Rule) Workless() string {
	switch {
	case r.Action != ActionPass:
		return string(r.Action)
	case r.H2.Unanswered():
		return "this h2"
	}
	return ""
}

// checkLate looks for an answer that a latency at the response could be before. With a canned
// answer nobody works, so that a latency before the action says it all.
func (r Rule) checkLate(ps *problems) {
	if what := r.Workless(); r.Latency.Late() && what != "" {
		ps.add("latency.at", "response, as well as mode floor, has no meaning with %s: no stub and no upstream works before it; leave it out", what)
	}
}
