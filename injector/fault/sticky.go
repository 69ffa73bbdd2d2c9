package fault

import (
	"hash/fnv"
	"net/netip" //nolint:depguard // It reads addresses and opens nothing.
	"strings"
)

// Sticky gives all requests with the same key the verdict of the key's first
// request: the index of the rule then counts keys. A request without a key (no
// such header) is one by itself. The zero value is not sticky.
type Sticky struct {
	By   StickyBy `json:"by" yaml:"by"`
	Name string   `json:"name,omitempty" yaml:"name,omitempty"` // of the header or cookie
}

// StickyBy is where a key comes from.
type StickyBy string

// The keys.
const (
	StickyHeader StickyBy = "header" // the value of the header Name
	StickyCookie StickyBy = "cookie" // the value of the cookie Name
	StickyPath   StickyBy = "path"   // the path, without the query
	StickyPeer   StickyBy = "peer"   // the caller's address without its port, as a retry may come from another
)

// StickyKeys is how many keys a rule remembers in a phase; rules that share a draw
// remember them together. It hits no request of any further key, and counts those
// in [Count.Forgotten]: to forget a key would give it two verdicts.
const StickyKeys = 100_000

// digest stands for a key (FNV-1a of 128 bits), so that a long one takes no more
// memory than another.
type digest [16]byte

// key returns what r is remembered by.
func (s Sticky) key(r Request) (key digest, ok bool) {
	text := ""
	switch s.By {
	case StickyHeader:
		text = r.header(s.Name)
	case StickyCookie:
		text = cookie(r.header("Cookie"), s.Name)
	case StickyPath:
		text = r.Path
	case StickyPeer:
		if ip, found := r.peer(); found {
			text = ip.String()
		}
	default:
		return key, false
	}
	h := fnv.New128a()
	h.Write([]byte(text))
	h.Sum(key[:0])
	return key, text != ""
}

// cookie finds a cookie in the header of that name.
func cookie(line, name string) string {
	for part := range strings.SplitSeq(line, ";") {
		if key, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && key == name {
			return strings.Trim(value, `"`)
		}
	}
	return ""
}

// header is a header of the request, or nothing.
func (r Request) header(key string) string {
	if r.Header == nil {
		return ""
	}
	return r.Header(key)
}

// peer is the caller's address.
func (r Request) peer() (netip.Addr, bool) {
	if at, err := netip.ParseAddrPort(r.Peer); err == nil {
		return at.Addr().Unmap(), true
	}
	ip, err := netip.ParseAddr(r.Peer)
	return ip.Unmap(), err == nil
}

// remembered is the verdict of a key.
type remembered struct {
	rule  int // in the phase; -1: none
	index uint64
	nth   uint64
}
