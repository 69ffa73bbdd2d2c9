package predict

import (
	"slices"
	"time"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// kept are the last good answers of a dependency.
type kept struct {
	cache   experiments.Cache
	answers map[string]keptAnswer
	order   []string // of the requests, the one that was kept longest ago first
}

type keptAnswer struct {
	respond *fault.Respond
	at      time.Duration
}

// old is an answer that was kept, and for how long.
type old struct {
	respond *fault.Respond
	age     time.Duration
}

// remember keeps a good answer, and returns the one that there is in place of a bad one;
// nil: none.
func (w *way) remember(r *request, o outcome) *old {
	k := w.kept
	if k == nil {
		return nil
	}
	line := r.target.Method + " " + filled(r, r.target.Path)
	if o.good() {
		k.put(line, keptAnswer{o.reply.answer, w.in.now})
		return nil
	}
	had, ok := k.answers[line]
	age := w.in.now - had.at
	switch {
	case !ok, k.cache.MaxAge > 0 && age > k.cache.MaxAge:
		return nil
	case had.respond == nil: // Of a dependency that faultline does not play.
		return &old{&fault.Respond{}, age}
	}
	return &old{had.respond, age}
}

// put keeps an answer in place of the one before it.
func (k *kept) put(line string, a keptAnswer) {
	if i := slices.Index(k.order, line); i >= 0 {
		k.order = slices.Delete(k.order, i, i+1)
	}
	k.answers[line], k.order = a, append(k.order, line)
	if len(k.order) > k.cache.Answers {
		delete(k.answers, k.order[0])
		k.order = k.order[1:]
	}
}
