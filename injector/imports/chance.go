package imports

import (
	"math/bits"
	"reflect"
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
)

// part is something that happens by chance, by itself.
type part struct {
	share share
	id    int
}

// outcomes calls f for each set of parts that may happen together, and how often exactly
// these do, which is above 0. The sets in which the first parts happen come first. It
// returns false if a share has no exact number.
func outcomes(parts []part, f func(happens []int, s share)) bool {
	for set := 1<<len(parts) - 1; set >= 0; set-- {
		all := always()
		var happens []int
		for n, p := range parts {
			s := p.share.not()
			if set>>(len(parts)-1-n)&1 == 1 {
				s = p.share
				happens = append(happens, p.id)
			}
			var ok bool
			if all, ok = all.times(s); !ok {
				return false
			}
		}
		if !all.none() {
			f(happens, all)
		}
	}
	return true
}

// times is the probability of both, if they are independent.
func (s share) times(other share) (share, bool) {
	a, b := share{s.num, other.den}.reduced(), share{other.num, s.den}.reduced()
	high, num := bits.Mul64(a.num, b.num)
	over, den := bits.Mul64(a.den, b.den)
	return share{num, den}.reduced(), high == 0 && over == 0
}

// plus is the probability of either, if they exclude each other.
func (s share) plus(other share) (share, bool) {
	common := share{s.den, other.den}.reduced() // of which both denominators are multiples
	high, den := bits.Mul64(s.den, common.den)
	over, a := bits.Mul64(s.num, common.den)
	more, b := bits.Mul64(other.num, common.num)
	num, carry := bits.Add64(a, b, 0)
	return share{num, den}.reduced(), high+over+more+carry == 0
}

// merged has one rule for those that do the same to the same.
func merged(rules []fault.Rule) []fault.Rule {
	var out []fault.Rule
	for _, r := range rules {
		i := slices.IndexFunc(out, func(o fault.Rule) bool {
			o.Select = r.Select
			return reflect.DeepEqual(o, r)
		})
		if i < 0 {
			out = append(out, r)
			continue
		}
		if sum, ok := chosen(out[i].Select).plus(chosen(r.Select)); ok {
			out[i].Select = sum.selects()
		} else {
			out = append(out, r)
		}
	}
	return out
}

// chosen is the share that a rule of this package selects.
func chosen(s fault.Select) share {
	if s.Kind == fault.SelectAll {
		return always()
	}
	return share{s.Num, s.Den}
}
