package trace

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"hash/fnv"
	"slices"
)

// LedgerHash names what was decided for every request, injector by injector in the order of
// arrival: its phase, method and path, the rule that hit it with its action and the latency
// that was drawn, or the limit that spared it. With the same plan, seed and order of arrival
// it is the same. When things happened, who called, and how it ended, since a caller may
// leave, are not in it; nor are attempts that were no request.
func (t *Trace) LedgerHash() string {
	var requests []Attempt
	for _, a := range t.Attempts {
		if !a.Unread() {
			requests = append(requests, a)
		}
	}
	slices.SortStableFunc(requests, func(a, b Attempt) int {
		return cmp.Or(cmp.Compare(a.Injector, b.Injector), cmp.Compare(a.Seq, b.Seq))
	})
	sum := newLedgerSum()
	for i := range requests {
		sum.add(&requests[i])
	}
	return sum.String()
}

// LedgerHash is that of a snapshot, without the room of one. Recorders of other goroutines wait
// only while it copies what has no end.
func (r *Recorder) LedgerHash() string {
	r.mu.Lock()
	attempts := r.attempts.read()
	r.mu.Unlock()
	sum := newLedgerSum()
	for _, injector := range attempts.injectors() {
		for place := range attempts.n { // In the order of arrival at each.
			if attempts.injector(place) != injector {
				continue
			}
			if a := attempts.at(place); !a.Unread() {
				sum.add(&a)
			}
		}
	}
	return sum.String()
}

// ledgerSum is a hash to which requests are added in their order.
type ledgerSum struct{ hash.Hash }

// newLedgerSum returns one whose hash is to tell runs apart, not to resist anyone.
func newLedgerSum() ledgerSum { return ledgerSum{fnv.New128a()} }

func (s ledgerSum) add(a *Attempt) {
	for _, field := range []string{a.Injector, a.Phase, a.Method, a.Path, a.Rule, a.Action, a.Spared} {
		// With its length, so that no two lists of fields read the same.
		s.Write(binary.AppendUvarint(nil, uint64(len(field))))
		s.Write([]byte(field))
	}
	s.Write(binary.BigEndian.AppendUint64(nil, uint64(a.Delay)))
}

func (s ledgerSum) String() string { return hex.EncodeToString(s.Sum(nil)) }
