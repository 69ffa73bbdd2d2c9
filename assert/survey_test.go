package assert_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/assert"
)

type drawnCase struct {
	s  setup
	as []assert.Assertion
}

func TestSurvey(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("SURVEY"))
	from, _ := strconv.Atoi(os.Getenv("FROM"))
	only := os.Getenv("ONLY")
	show, _ := strconv.Atoi(os.Getenv("SHOW"))
	gen := rapid.Custom(func(rt *rapid.T) drawnCase {
		s, as := drawn{rt}.experiment()
		return drawnCase{s, as}
	})
	tally := map[string]map[string]int{}
	count := func(k, v string) {
		if tally[k] == nil {
			tally[k] = map[string]int{}
		}
		tally[k][v]++
	}
	first := map[string][]int{}
	for seed := from; seed < from+n; seed++ {
		c := gen.Example(seed)
		r, rep := judged(c.s, c.as)
		bad := map[string]bool{}
		for _, b := range untrue(r, rep) {
			f := strings.Fields(b)
			bad["truth "+f[7]] = true
			_ = f
		}
		for _, v := range rep.Verdicts {
			kind := v.ID[strings.Index(v.ID, " ")+1:]
			count(kind, string(v.Result))
			if v.Result == assert.Fail {
				bad[kind] = true
			}
		}
		for b := range bad {
			first[b] = append(first[b], seed)
			if (only == b) && show > 0 {
				show--
				fmt.Printf("seed %d %s\n%+v\n%v\n%s\n", seed, b, c.s, untrue(r, rep), describe(r, rep))
			}
		}
	}
	var ks []string
	for k := range tally {
		ks = append(ks, k)
	}
	slices.Sort(ks)
	for _, k := range ks {
		fmt.Printf("%-16s %v\n", k, tally[k])
	}
	for k, v := range first {
		fmt.Printf("BAD %-16s %d %v\n", k, len(v), v[:min(12, len(v))])
	}
}
