package trace

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
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
	h := fnv.New128a() // To tell runs apart, not to resist anyone.
	for _, a := range requests {
		for _, field := range []string{a.Injector, a.Phase, a.Method, a.Path, a.Rule, a.Action, a.Spared} {
			// With its length, so that no two lists of fields read the same.
			h.Write(binary.AppendUvarint(nil, uint64(len(field))))
			h.Write([]byte(field))
		}
		h.Write(binary.BigEndian.AppendUint64(nil, uint64(a.Delay)))
	}
	return hex.EncodeToString(h.Sum(nil))
}
