package trace

import (
	"strconv"
	"strings"
)

// ids finds calls by their ids. An id is phase/seq with numbers that begin at 0 in
// each phase, so most are found in a table by their number; what is not of that
// form, or far away from the others, is kept in a map.
type ids struct {
	phases map[string]int // by name, into tables
	last   string         // the phase that was asked for last, as most follow one of their own
	lastNo int
	tables [][]int32 // by phase and number: 1 + the call, or 0
	filled []int     // places of each table that are taken
	others map[string]int32
	again  []bool // by call: its id is another one's too; nil: none is
	calls  int
}

// owners numbers the calls of a trace by their ids.
func (t *Trace) owners() *ids {
	x := &ids{phases: map[string]int{}, others: map[string]int32{}, calls: len(t.Calls)}
	for i := range t.Calls {
		x.add(t.Calls[i].ID, int32(i))
	}
	return x
}

// spare bounds how far away a number may be: a table has at most twice as many
// places as the calls in it, and these.
const spare = 64

// add gives an id to a call.
func (x *ids) add(id string, call int32) {
	if before := x.lookUp(id); before != none {
		x.double(before, call)
		return
	}
	phase, seq, ok := x.split(id)
	if ok && phase == none {
		phase = len(x.tables)
		x.last, x.lastNo = id[:strings.LastIndexByte(id, '/')], phase
		x.phases[x.last] = phase
		x.tables, x.filled = append(x.tables, nil), append(x.filled, 0)
	}
	if !ok || seq > uint64(2*x.filled[phase]+spare) {
		x.others[id] = call
		return
	}
	table := x.tables[phase]
	if grow := int(seq) + 1 - len(table); grow > 0 {
		table = append(table, make([]int32, grow)...)
		x.tables[phase] = table
	}
	table[seq] = call + 1
	x.filled[phase]++
}

// double notes that two calls have one id.
func (x *ids) double(a, b int32) {
	if x.again == nil {
		x.again = make([]bool, x.calls)
	}
	x.again[a], x.again[b] = true, true
}

// find returns the one call with an id, or none. To give the attempts of two to
// either would make a short circuit of the other.
func (x *ids) find(id string) int32 {
	call := x.lookUp(id)
	if call != none && x.twice(int(call)) {
		return none
	}
	return call
}

// lookUp returns a call with an id, or none.
func (x *ids) lookUp(id string) int32 {
	if phase, seq, ok := x.split(id); ok && phase != none && seq < uint64(len(x.tables[phase])) {
		if call := x.tables[phase][seq]; call != 0 {
			return call - 1
		}
	}
	if call, found := x.others[id]; found {
		return call
	}
	return none
}

// twice reports whether a call shares its id.
func (x *ids) twice(call int) bool { return x.again != nil && x.again[call] }

// split reads an id. It is not ok if it has no place in a table; the phase is none
// if it is not known. Numbers that are not written as ID writes them are no
// numbers: "a/01" is not "a/1".
func (x *ids) split(id string) (phase int, seq uint64, ok bool) {
	slash := strings.LastIndexByte(id, '/')
	digits := id[slash+1:]
	if slash < 0 || len(digits) == 0 || len(digits) > 1 && digits[0] == '0' {
		return 0, 0, false
	}
	seq, err := strconv.ParseUint(digits, 10, 64)
	if err != nil {
		return 0, 0, false
	}
	name := id[:slash]
	if len(x.tables) > 0 && name == x.last {
		return x.lastNo, seq, true
	}
	phase, known := x.phases[name]
	if !known {
		return none, seq, true
	}
	x.last, x.lastNo = name, phase
	return phase, seq, true
}
