package proxy

import (
	"container/list"
	"net/http"
	"sync"
	"time"
)

// cache keeps the last good answer to each request line, at most so many of them. What
// was kept longest ago makes room.
type cache struct {
	most int

	mu    sync.Mutex
	kept  map[string]*list.Element
	order *list.List // of kept; the oldest in front
}

// kept is an answer in a cache.
type kept struct {
	line   string
	answer *answer
	at     time.Time
}

// newCache returns an empty cache, or nil for none.
func newCache(most int) *cache {
	if most == 0 {
		return nil
	}
	return &cache{most: most, kept: map[string]*list.Element{}, order: list.New()}
}

// cacheLine is what two requests have to have in common for one answer to do for both.
func cacheLine(r *http.Request) string { return r.Method + " " + r.URL.RequestURI() }

// put keeps an answer in place of the one before it.
func (c *cache) put(line string, a *answer, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.kept[line]; ok {
		c.order.Remove(old)
	}
	c.kept[line] = c.order.PushBack(kept{line, a, now})
	if c.order.Len() > c.most {
		if oldest, ok := c.order.Remove(c.order.Front()).(kept); ok {
			delete(c.kept, oldest.line)
		}
	}
}

// get returns what was kept.
func (c *cache) get(line string) (kept, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.kept[line]; ok {
		k, ok := e.Value.(kept)
		return k, ok
	}
	return kept{}, false
}
