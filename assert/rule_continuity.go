package assert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

// FallbackContinuity says that users who page through a list while the source
// switches, from the dependency to a second source or back, lose no item, see none
// twice and are not sent back without being told.
//
// It looks at the rounds of scripted sessions, and at the pages in them: the answers
// from which the value Items was captured. A page is of the first source if its call
// arrived at the breaker's injector and did not fail, of the second if it was rejected,
// failed, or is of class fallback. A round spans the switch if it has pages of both, or
// if its user was told. Told are users by an answer of a class in Told, by one that
// their script takes for the order to begin anew, and, with Source, by a page that
// names another source than the page before. A told page begins a new leg. Where pages
// of a class in Told follow one another, it is not known whether each says that the
// source has just switched or only which one answers, and what depends on that is
// inconclusive.
//
//   - repeated: an item that was on an earlier page of the same leg. If the page is
//     the list's first, the user was sent back.
//   - lost: an item of the list that is on no page of a round in which nobody was told
//     anything and that came to its end; in other rounds one that the pages before the
//     first switch that was told have left out, and no page brought.
//
// The list is what at least two rounds have seen, alike and each to its end, that were
// over before the first fault hit anything. If a round that met the first source alone
// sees another list, then the list changes by itself and nothing can be said; so that
// this would show, a failure needs such a round after the one that it speaks of. A pass
// needs three rounds that span the switch and came to their end; a round that ended
// early proves no loss.
type FallbackContinuity struct {
	Breaker string
	Items   string   // name of the captured list of the items' ids
	Source  string   // name of a captured value that says which source answers, or empty
	Told    []string // classes of answers that say that the source has switched
}

// Kind implements [Rule].
func (FallbackContinuity) Kind() string { return "fallback.continuity" }

// expected says what the rule asks.
func (r FallbackContinuity) expected() string {
	by := append([]string{}, r.Told...)
	if r.Source != "" {
		by = append(by, "another "+r.Source)
	}
	s := fmt.Sprintf("no %s lost, repeated or begun anew while the source switches", r.Items)
	if len(by) > 0 {
		s += ", unless the answer says so (" + strings.Join(by, ", ") + ")"
	}
	return s
}

// spanning is how many rounds a pass needs, and reference how many have to see the
// same list before.
const (
	spanning  = 3
	reference = 2
)

// judge implements [Rule].
func (r FallbackContinuity) judge(e *evidence, a Assertion) Verdict {
	if !e.ran(a) {
		return notRun(a)
	}
	all := r.rounds(e)
	list, out := r.list(e, all)
	if list == nil {
		return out
	}
	c := r.compare(e, a, all, list)
	out.Observed = fmt.Sprintf("%s spanned the switch and came to their end (%d told), %d ended early", plural(c.done, "round"), c.told, c.early)
	switch {
	case len(c.breaches) > 0:
		return c.fails(all)
	case len(c.doubts) > 0:
		out.Observed = fmt.Sprintf("%s: %s", plural(len(c.doubts), "round"), strings.Replace(c.doubts[0].what, " and nothing says so", "", 1))
		out.Reason = "answers of " + strings.Join(r.Told, ", ") + " follow one another: each may say that the source has just switched, or only which one answers; " + c.doubts[0].story
		out.Remedy = "capture the name of the source, and give it as source in place of told"
	case c.done < spanning:
		out.Reason = fmt.Sprintf("%s spanned the switch to their end, %d are needed", plural(c.done, "round"), spanning)
		out.Remedy = "let the fault begin while users page, as with after: 20 in a phase of sessions, and send more users"
		if c.early > 0 {
			out.Remedy = "see why rounds end early (session.why in the trace), and let the fault begin while more users page"
		}
	default:
		out.Result, out.Margin = Pass, "exact"
	}
	return out
}

// crossing is what became of the rounds that span the switch.
type crossing struct {
	breaches, doubts  []breach
	done, told, early int
}

// compare compares the rounds of a phase that span the switch with the list.
func (r FallbackContinuity) compare(e *evidence, a Assertion, all []*round, list []string) crossing {
	var c crossing
	for _, w := range all {
		if a.Phase != "" && w.phase != a.Phase || a.Phase == "" && !e.measured(w.phase) || !w.spans() {
			continue
		}
		if b, ok := w.breach(list); ok {
			b.over = w.over
			c.breaches = append(c.breaches, b)
		} else if other := w.once(); other != nil {
			if b, ok := other.breach(list); ok {
				c.doubts = append(c.doubts, b)
			}
		}
		switch {
		case w.end != trace.SessionDone:
			c.early++
		case slices.ContainsFunc(w.pages, func(p page) bool { return p.told }):
			c.done, c.told = c.done+1, c.told+1
		default:
			c.done++
		}
	}
	return c
}

// fails is the verdict about breaches, if the list was the same afterwards.
func (c crossing) fails(all []*round) Verdict {
	first := c.breaches[0]
	out := Verdict{
		Result:   Fail,
		Observed: fmt.Sprintf("%d of %s that spanned the switch: %s", len(c.breaches), plural(c.done+c.early, "round"), first.what),
		Reason:   first.story,
	}
	for _, b := range c.breaches {
		out.Evidence = append(out.Evidence, b.ids...)
	}
	out.Evidence = out.Evidence[:min(len(out.Evidence), 10)]
	if !slices.ContainsFunc(all, func(w *round) bool { return w.undisturbed() && w.pages[0].call.Send > first.over }) {
		out.Result = Inconclusive
		out.Reason = "no round saw the list at the first source afterwards, so it may have changed; " + out.Reason
		out.Remedy = "send sessions in a phase after the fault, when the first source answers again"
	}
	return out
}

// list is what undisturbed rounds see, or why that is not known.
func (r FallbackContinuity) list(e *evidence, all []*round) ([]string, Verdict) {
	out := Verdict{Result: Inconclusive, Observed: "no list to compare with"}
	harm := e.firstHarm()
	var calm []*round // Those that met the first source alone.
	for _, w := range all {
		if w.undisturbed() {
			calm = append(calm, w)
		}
	}
	i := slices.IndexFunc(calm, func(w *round) bool { return w.over >= harm })
	if i < 0 {
		i = len(calm)
	}
	seen := i // They are in the order of their beginning; later ones may have ended before, and are not needed.
	if seen < reference {
		out.Reason = fmt.Sprintf("%s saw the list to its end before the first fault, %d are needed", plural(seen, "round"), reference)
		out.Remedy = "send sessions that list " + r.Items + " in a phase before the first fault, to the end of the list"
		return nil, out
	}
	list := calm[0].items()
	if i := slices.IndexFunc(calm, func(w *round) bool { return !slices.Equal(w.items(), list) }); i >= 0 {
		out.Observed = "the list changes by itself"
		out.Reason = fmt.Sprintf("%s saw another list than others, without any switch", calm[i].name())
		out.Remedy = "let nobody change the list during the run, or list what does not change"
		return nil, out
	}
	if twice := firstTwice(list); twice != "" || len(list) == 0 {
		out.Observed = fmt.Sprintf("a list of %s", plural(len(list), "item"))
		out.Reason = "it is empty"
		if twice != "" {
			out.Reason = "it has " + twice + " twice, without any switch"
		}
		out.Remedy = "capture as " + r.Items + " what tells the items of the list apart"
		return nil, out
	}
	return list, out
}

// firstTwice is the first text that is in a list twice.
func firstTwice(list []string) string {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s] {
			return s
		}
		seen[s] = true
	}
	return ""
}

// name tells a round from others, for a person.
func (w *round) name() string {
	return fmt.Sprintf("round %d of user %d in phase %s", w.n, w.user, w.phase)
}

// breach is what is wrong with one round.
type breach struct {
	what  string
	story string
	ids   []string
	over  time.Duration // when the round was
}

// breach finds what is wrong with a round that spans the switch.
func (w *round) breach(list []string) (breach, bool) {
	if b, ok := w.repeated(list); ok {
		return b, true
	}
	return w.lost(list)
}

// repeated finds the first page that repeats an item of its leg.
func (w *round) repeated(list []string) (breach, bool) {
	on := map[string]int{}
	for i, p := range w.pages {
		if p.told {
			on = map[string]int{}
		}
		for _, item := range p.items {
			first, twice := on[item]
			on[item] = i
			if !twice {
				continue
			}
			what := fmt.Sprintf("%s comes twice and nothing says so", item)
			if p.items[0] == list[0] {
				what = "sent back to the first page and nothing says so"
			}
			return breach{what: what, story: w.story(), ids: slices.Compact([]string{w.pages[first].call.ID, p.call.ID})}, true
		}
	}
	return breach{}, false
}

// lost finds the items of the list that never came although nobody was told.
func (w *round) lost(list []string) (breach, bool) {
	told := slices.IndexFunc(w.pages, func(p page) bool { return p.told })
	first := w.pages // Those of the first leg.
	if told >= 0 {
		first = w.pages[:told]
	}
	due := len(list) // So much of the list has to be there.
	switch {
	case told >= 0:
		due = reach(first, list)
	case w.end != trace.SessionDone:
		return breach{}, false // The rest might have come.
	}
	seen := map[string]bool{}
	for _, item := range w.items() {
		seen[item] = true
	}
	var missing []string
	for _, item := range list[:due] {
		if !seen[item] {
			missing = append(missing, item)
		}
	}
	if len(missing) == 0 {
		return breach{}, false
	}
	what := fmt.Sprintf("%s never came and nothing says so", extent(missing))
	return breach{what: what, story: w.story(), ids: w.around(missing[0], list)}, true
}

// reach is how much of the list, from its start, some pages should have gone through;
// nothing if they do not follow the order of the list, so that the rest might have come.
func reach(pages []page, list []string) int {
	to := 0
	for _, p := range pages {
		for _, item := range p.items {
			at := slices.Index(list, item)
			if at < to {
				return 0
			}
			to = at + 1
		}
	}
	return to
}

// around is the ids of the page after which an item should have come, and of the one
// that came instead.
func (w *round) around(item string, list []string) []string {
	before := list[:slices.Index(list, item)]
	last := -1
	for i, p := range w.pages {
		if slices.ContainsFunc(p.items, func(it string) bool { return slices.Contains(before, it) }) {
			last = i
		}
	}
	var ids []string
	for _, i := range []int{last, last + 1} {
		if i >= 0 && i < len(w.pages) {
			ids = append(ids, w.pages[i].call.ID)
		}
	}
	return ids
}

// story tells a round page by page, the source with its pages.
func (w *round) story() string {
	words := map[side]string{sideFirst: "first source", sideSecond: "second source", sideUnknown: "unknown source"}
	var parts []string
	last := side(-1)
	for _, p := range w.pages {
		part := extent(p.items) + " (" + p.call.ID + ")"
		if p.told {
			part = "told: " + part
		}
		if p.side != last {
			part = words[p.side] + " " + part
		}
		last = p.side
		parts = append(parts, part)
	}
	if n := len(parts); n > 12 {
		parts = append(append(parts[:9:9], fmt.Sprintf("%d more pages", n-11)), parts[n-2:]...)
	}
	return w.name() + ": " + strings.Join(parts, ", ")
}

// extent sums up items, for a person.
func extent(items []string) string {
	switch len(items) {
	case 0:
		return "nothing"
	case 1:
		return items[0]
	}
	return fmt.Sprintf("%s to %s (%d)", items[0], items[len(items)-1], len(items))
}
