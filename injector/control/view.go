package control

import (
	"encoding/json"
	"sync"
	"time"
)

// view is a state as streams have it. All readers have the same ones: a state of many faults
// takes long to be written, and those who send requests must not wait because others watch.
type view struct {
	n     int // it differs from view n-1
	state object
	delta []byte // a message with that difference
}

// since is the message that tells a reader of an earlier view of this one; nil: it is the same.
func (v view) since(last view) ([]byte, error) {
	switch v.n {
	case last.n:
		return nil, nil
	case last.n + 1:
		return v.delta, nil
	}
	return deltaOf(news(last.state, v.state), v.state)
}

// deltaOf is a message with a merge patch.
func deltaOf(patch, now object) ([]byte, error) {
	if len(patch) == 0 {
		return nil, nil
	}
	patch["now"] = now["now"]
	return json.Marshal(StreamMessage{Type: "delta", Patch: patch})
}

// views keeps the last one. Whoever has one must not change its state.
type views struct {
	mu   sync.Mutex
	at   time.Time
	last view // guarded by mu
}

// recent returns a view that is not older than a look of a stream.
func (v *views) recent(look func() (object, error)) (view, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if time.Since(v.at) < streamEvery {
		return v.last, nil
	}
	return v.look(look)
}

// fresh returns a view of now: a reader who comes must find what he has changed himself.
func (v *views) fresh(look func() (object, error)) (view, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.look(look)
}

// look makes a view, if something has changed. mu is held.
func (v *views) look(look func() (object, error)) (view, error) {
	at := time.Now()
	state, err := look()
	if err != nil {
		return view{}, err
	}
	next := view{n: v.last.n, state: state, delta: v.last.delta}
	if patch := news(v.last.state, state); len(patch) > 0 {
		next.n++
		if next.delta, err = deltaOf(patch, state); err != nil {
			return view{}, err
		}
	}
	v.at, v.last = at, next
	return next, nil
}
