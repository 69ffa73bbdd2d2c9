package proxy

import (
	"net/http"
	"strconv"
	"time"
)

// answer tells the client what came of its call, or what there is instead.
func (s *service) answer(c *call, w http.ResponseWriter, r *http.Request, out outcome) {
	if out.good() && s.cache != nil {
		s.cache.put(cacheLine(r), out.answer, s.now())
	}
	if out.limit != nil && s.RateLimitTold {
		w = &limiting{w, out.limit}
	}
	if out.cause == limited && s.wrong.MutesLimited {
		<-r.Context().Done() // The client has left, or the proxy is stopping.
		abort()
	}
	switch {
	case out.good() && s.Paging != nil:
		s.Paging.write(w, r, SourcePrimary)
	case s.Paging != nil:
		s.Paging.write(w, r, SourceSecondary)
	case out.good() && !s.wrong.FallbackAlways:
		writeAnswer(w, r, out.answer, SourcePrimary)
	case s.fallBack(c, w, r):
	case out.answer != nil:
		writeAnswer(w, r, out.answer, SourcePrimary)
	case out.cause == refused:
		writeNone(w, http.StatusServiceUnavailable, "the circuit breaker is "+out.state.String())
	case out.cause == limited:
		writeLimited(w, out.limit)
	case out.cause.rejection():
		writeNone(w, http.StatusServiceUnavailable, string(out.cause))
	default:
		writeNone(w, http.StatusBadGateway, "the dependency did not answer: "+string(out.cause))
	}
}

// fallBack answers from the first source that has an answer, and reports whether one had.
func (s *service) fallBack(c *call, w http.ResponseWriter, r *http.Request) bool {
	if !s.wrong.EmptyFallback && (s.fromSecondary(c, w, r) || s.fromCache(w, r)) {
		return true
	}
	if s.Fallback == nil {
		return false
	}
	if !pause(r.Context(), s.FallbackDelay) {
		abort() // The client has left, or the proxy is stopping.
	}
	if s.wrong.EmptyFallback {
		writeCanned(w, &Answer{Headers: s.Fallback.Headers, Body: "[]"}, SourceFallback)
		return true
	}
	writeCanned(w, s.Fallback, SourceFallback)
	return true
}

// fromSecondary asks the secondary, if there is one. An answer with a status that counts
// as a failure is none.
func (s *service) fromSecondary(c *call, w http.ResponseWriter, r *http.Request) bool {
	if s.secondary == nil {
		return false
	}
	a, _ := s.secondary.send(c)
	if a == nil || s.Failure.Status(a.status) {
		return false
	}
	writeAnswer(w, r, a, SourceSecondary)
	return true
}

// fromCache looks for an answer that was kept.
func (s *service) fromCache(w http.ResponseWriter, r *http.Request) bool {
	if s.cache == nil {
		return false
	}
	k, ok := s.cache.get(cacheLine(r))
	age := max(0, s.now().Sub(k.at))
	if !ok || s.CacheMaxAge > 0 && age > s.CacheMaxAge {
		return false
	}
	old := *k.answer
	old.header = old.header.Clone()
	old.header.Set("Age", strconv.Itoa(int(age/time.Second)))
	writeAnswer(w, r, &old, SourceCache)
	return true
}
