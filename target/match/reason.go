package match

import (
	"slices"
	"strconv"
	"strings"
)

// The reasons for which a service answers a call without its dependency, as far as an answer
// can say them.
const (
	ReasonOpen     = "open"     // the breaker rejected it
	ReasonLimited  = "limited"  // a rate limiter did
	ReasonBulkhead = "bulkhead" // too many calls were under way, or connections open
	ReasonCached   = "cached"   // the answer was kept from before
	ReasonRefused  = "refused"  // the dependency was called, and could not be connected to
)

// Reasons are all reasons.
func Reasons() []string {
	return []string{ReasonOpen, ReasonLimited, ReasonBulkhead, ReasonCached, ReasonRefused}
}

// declared begins what tells of a reason that the experiment says how to know.
const declared = "load.reasons."

// Teller reads from answers why a service gave them without its dependency. The zero value
// knows what is a convention only.
type Teller struct{ own Classifier }

// NewTeller prepares the classes that the experiment gives reasons by: each is named by one of
// [Reasons]. Its error joins all that is wrong with them.
func NewTeller(own Classes) (Teller, error) {
	c, err := own.Compile()
	return Teller{c}, err
}

// NeedBody reports whether any reason is told by the body.
func (t Teller) NeedBody() bool { return t.own.NeedBody() }

// Tell says why an answer was given, should it have been given without the dependency, and
// what of it says so; both are empty where it does not say. What the experiment declares comes
// first; then the headers that Envoy sets (x-envoy-overloaded, x-envoy-ratelimited, and its
// response flags UH, UO, RL and UF in a header that an access log's format puts there); then
// status 429 (RFC 6585) and a spent quota (X-RateLimit-Remaining, RateLimit-Remaining,
// RateLimit); then the headers of caches (Cache-Status of RFC 9211, X-Cache, X-Cache-Status,
// CF-Cache-Status, Age above 0 of RFC 9111). Retry-After with another status than 429 says
// nothing: breakers set it as well as limiters.
func (t Teller) Tell(status int, header func(string) string, body []byte) (reason, by string) {
	if name := t.own.Classify(status, header, body); name != Unclassified {
		return name, declared + name
	}
	for _, told := range []func(int, func(string) string) (string, string){envoy, quota, cache} {
		if reason, by = told(status, header); reason != "" {
			return reason, by
		}
	}
	return "", ""
}

// Certain reports whether what tells of a reason leaves no doubt: it is declared, or Envoy
// sets it for nothing else. A status of 429 may be the answer of somebody's open breaker, and a
// cache may be what is asked when the breaker is open.
func Certain(by string) bool {
	return strings.HasPrefix(by, declared) || strings.HasPrefix(by, "x-envoy-") || strings.HasPrefix(by, flagged)
}

// flagged begins what tells of a response flag.
const flagged = "response flag "

// envoy reads what Envoy says of itself.
func envoy(_ int, header func(string) string) (reason, by string) {
	switch {
	case header("X-Envoy-Overloaded") != "":
		return ReasonBulkhead, "x-envoy-overloaded"
	case header("X-Envoy-Ratelimited") != "":
		return ReasonLimited, "x-envoy-ratelimited"
	}
	// The names are spelt as Go keeps them, so that looking for them costs nothing.
	for _, name := range []string{"X-Envoy-Response-Flags", "X-Response-Flags", "Response-Flags"} {
		for flag := range strings.SplitSeq(header(name), ",") {
			if reason := flagReason(strings.TrimSpace(flag)); reason != "" {
				return reason, flagged + strings.TrimSpace(flag)
			}
		}
	}
	return "", ""
}

// flagReason is what a response flag of Envoy means, short or long.
func flagReason(flag string) string {
	switch flag {
	case "UH", "NoHealthyUpstream":
		return ReasonOpen
	case "UO", "UpstreamOverflow":
		return ReasonBulkhead
	case "RL", "RateLimited":
		return ReasonLimited
	case "UF", "UpstreamConnectionFailure":
		return ReasonRefused
	}
	return ""
}

// quota reads what limiters say.
func quota(status int, header func(string) string) (reason, by string) {
	if status == 429 {
		return ReasonLimited, "status 429"
	}
	if status < 400 {
		return "", ""
	}
	for _, name := range []string{"X-Ratelimit-Remaining", "Ratelimit-Remaining"} {
		if n, err := strconv.Atoi(strings.TrimSpace(header(name))); err == nil && n <= 0 {
			return ReasonLimited, name + ": " + strconv.Itoa(n)
		}
	}
	if words := strings.FieldsFunc(header("Ratelimit"), func(r rune) bool { return strings.ContainsRune(",; ", r) }); slices.Contains(words, "remaining=0") || slices.Contains(words, "r=0") {
		return ReasonLimited, "RateLimit: " + header("Ratelimit")
	}
	return "", ""
}

// cache reads what caches say.
func cache(_ int, header func(string) string) (reason, by string) {
	words := func(name string) []string {
		return strings.FieldsFunc(strings.ToLower(header(name)), func(r rune) bool { return strings.ContainsRune(",; ", r) })
	}
	if slices.Contains(words("Cache-Status"), "hit") {
		return ReasonCached, "Cache-Status: " + header("Cache-Status")
	}
	for _, name := range []string{"X-Cache", "X-Cache-Status", "Cf-Cache-Status"} {
		if w := words(name); slices.Contains(w, "hit") || slices.Contains(w, "stale") {
			return ReasonCached, name + ": " + header(name)
		}
	}
	if age, err := strconv.Atoi(strings.TrimSpace(header("Age"))); err == nil && age > 0 {
		return ReasonCached, "Age: " + strconv.Itoa(age)
	}
	return "", ""
}
