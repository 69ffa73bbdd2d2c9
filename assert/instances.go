package assert

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/target/trace"
)

// instancesOf names the instances of the SUT that are looked at by themselves for a breaker,
// in order: those that the experiment declares and those that have answered. Of one instance,
// and of a breaker that all instances share, there is one view without a name.
//
// A call that was not answered names nobody. It is the instance's from which its attempts came:
// a connection to the dependency, told by the peer's address and port, is one instance's, and
// whose it is the answered calls say that came over it; or else the peer's host, where each
// host is one instance. A proxy between the SUT and its dependency has connections over
// which calls of several instances come; those tell nothing.
//
// Where no call names an instance, but attempts come from several hosts, the hosts are the
// instances: then it is not known whose breaker answered a call by itself, and only what came
// to the dependency can be judged.
func (e *evidence) instancesOf(b Breaker, join trace.Join) (names []string, byPeer bool) {
	if b.Shared {
		return []string{""}, false
	}
	if b.Injector != "" {
		byPeer = e.peers(join)
	}
	names = slices.Clone(e.spec.Instances)
	for i := range join.Calls {
		if in := join.Calls[i].Call.Instance; in != "" && !slices.Contains(names, in) {
			names = append(names, in)
		}
	}
	slices.Sort(names)
	if len(names) < 2 {
		return []string{""}, false
	}
	return names, byPeer
}

// peers names the instances of calls that do not, by the peers of their attempts. It reports
// whether nothing but these names any.
func (e *evidence) peers(join trace.Join) (alone bool) {
	whole, host := owners{}, owners{}
	alone = true
	for i := range join.Calls {
		c := &join.Calls[i]
		if c.Call.Instance == "" {
			continue
		}
		alone = false
		for _, at := range c.Attempts {
			whole.own(at.Peer, c.Call.Instance)
			host.own(hostOf(at.Peer), c.Call.Instance)
		}
	}
	if alone {
		return e.hosts(join)
	}
	for i := range join.Calls {
		c := &join.Calls[i]
		if c.Call.Instance != "" {
			continue
		}
		if c.Call.Instance = whole.of(c.Attempts, func(p string) string { return p }); c.Call.Instance == "" && host.clear() {
			c.Call.Instance = host.of(c.Attempts, hostOf)
		}
	}
	return false
}

// hosts names instances by the hosts of peers, if there are several.
func (e *evidence) hosts(join trace.Join) bool {
	seen := owners{}
	for i := range join.Calls {
		for _, at := range join.Calls[i].Attempts {
			if h := hostOf(at.Peer); h != "" {
				seen.own(h, h)
			}
		}
	}
	if len(seen) < 2 {
		return false
	}
	for i := range join.Calls {
		c := &join.Calls[i]
		c.Call.Instance = seen.of(c.Attempts, hostOf)
	}
	return true
}

// owners says whose a peer is; one that is nobody's alone has the empty owner.
type owners map[string]string

func (o owners) own(peer, instance string) {
	if was, ok := o[peer]; ok && was != instance {
		instance = ""
	}
	if peer != "" {
		o[peer] = instance
	}
}

// of is the one owner of the peers of all attempts, or nobody.
func (o owners) of(as []trace.Attempt, key func(string) string) string {
	found := ""
	for _, at := range as {
		in := o[key(at.Peer)]
		if in == "" || found != "" && in != found {
			return ""
		}
		found = in
	}
	return found
}

// clear reports whether every peer is one instance's.
func (o owners) clear() bool {
	for _, in := range o {
		if in == "" {
			return false
		}
	}
	return len(o) > 0
}

// hostOf is the host of a peer, or nothing where it tells nothing: on this machine all
// processes have the same.
func hostOf(peer string) string {
	i := strings.LastIndexByte(peer, ':')
	if i < 0 {
		return ""
	}
	host, _, _ := strings.Cut(strings.Trim(peer[:i], "[]"), "%")
	host = strings.TrimPrefix(host, "::ffff:")
	if host == "::1" || strings.HasPrefix(host, "127.") {
		return ""
	}
	return host
}

// unnamed adds to a verdict that could not be had what stands in its way where instances
// are known by the peers of their attempts alone.
func unnamed(v Verdict) Verdict {
	if v.Result != Inconclusive {
		return v
	}
	why := "instances are known by the addresses of their attempts alone, so whose breaker rejected a call is not known"
	if v.Reason != "" {
		why += "; " + v.Reason
	}
	v.Reason, v.Remedy = why, "name the instances: sut.replicas with an address each, or sut.instance_header; or declare the breaker shared"
	return v
}

// total is what a number of each instance is together.
func (e *evidence) total(breaker string, n int) string {
	if k := len(e.groups(breaker)); k > 1 {
		return fmt.Sprintf("; %d in total, over %d instances", n*k, k)
	}
	return ""
}

// instances are those of the SUT that can be told apart, sorted; none: not known.
func (e *evidence) instances() []string {
	names := slices.Clone(e.spec.Instances)
	for i := range e.trace.Calls {
		if in := e.trace.Calls[i].Instance; in != "" && !slices.Contains(names, in) {
			names = append(names, in)
		}
	}
	slices.Sort(names)
	return names
}
