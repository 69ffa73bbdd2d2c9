package probe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/target/trace"
)

const (
	// DefaultEvery is how often a page is asked for when nothing else is said.
	DefaultEvery = 200 * time.Millisecond
	// MaxPage is the longest answer that is read, in bytes.
	MaxPage = 1 << 20
	// Timeout is how long a page may take.
	Timeout = 2 * time.Second
)

// idle is how many times longer the target is left alone than a round took it, and
// slowest the longest time that it is left alone for that.
const (
	idle    = 9
	slowest = 5 * time.Second
)

// Page is one page and what is looked for on it.
type Page struct {
	Path     string // and query
	Readings []Reading
}

// Add adds a reading, unless it is there already under the same form and subject.
func (p *Page) Add(r Reading) {
	for _, have := range p.Readings {
		if have.Form == r.Form && have.Subject == r.Subject {
			return
		}
	}
	p.Readings = append(p.Readings, r)
}

// Config says which server is asked for what.
type Config struct {
	BaseURL        string // of the server; the pages lie below it
	Pages          []Page // asked for in turn, in every round
	Every          time.Duration
	Instance       string // of the target, for the marks
	InstanceHeader string // or: the header of the answer that names it; empty: none
	Recorder       *trace.Recorder
	Dial           func(ctx context.Context, network, addr string) (net.Conn, error) // nil: the system's
}

// Poll asks for the pages in rounds until ctx ends, and then once more, so that what was
// counted at the end is told; no page is begun in that last round after [Timeout], and there
// is none if the one before it told nothing. It blocks meanwhile.
func Poll(ctx context.Context, cfg Config) {
	transport := &http.Transport{
		DialContext: cfg.Dial, MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true,
	}
	defer transport.CloseIdleConnections()
	p := &poller{cfg: cfg, events: map[string]bool{}, absent: map[string]bool{}, client: &http.Client{
		Transport: transport,
		// It may lead somewhere that asks the breaker.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	pause, told := cfg.Every, false
	for {
		took, tells, whole := p.round(ctx)
		if whole {
			told = tells
		}
		if ctx.Err() == nil {
			pause = after(cfg.Every, pause, took, told)
			next := time.NewTimer(pause)
			select {
			case <-next.C:
				continue
			case <-ctx.Done():
				next.Stop()
			}
		}
		if told {
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), Timeout)
			p.round(last)
			cancel()
		}
		return
	}
}

// after is how long the target is left alone after a round: the rest of the interval; nine
// times as long as it took, where that is longer; and twice as long as before, up to
// sixteen intervals, when it told nothing.
func after(every, before, took time.Duration, told bool) time.Duration {
	pause := max(every-took, min(idle*took, slowest))
	if !told {
		pause = max(pause, min(2*before, 16*every))
	}
	return pause
}

// poller asks one server.
type poller struct {
	cfg    Config
	client *http.Client
	events map[string]bool // those that were told before
	absent map[string]bool // pages of events that the target does not have, by path
}

// statusError is the answer with another status than 200.
type statusError struct {
	url    string
	status int
}

// Error implements error.
func (e *statusError) Error() string {
	return fmt.Sprintf("%s was answered with status %d", e.url, e.status)
}

// absence notes a page of events that was answered with something else. A service that passes
// what it does not know on to its dependency would go on doing so with each question.
func (p *poller) absence(page Page, text string, err error) {
	if slices.ContainsFunc(page.Readings, func(r Reading) bool { return r.Form != FormEvents }) {
		return
	}
	var status *statusError
	unread := func(r Reading) bool { _, err := r.read(text); return err != nil }
	if errors.As(err, &status) || err == nil && slices.ContainsFunc(page.Readings, unread) {
		p.absent[page.Path] = true
	}
}

// round asks for every page once and reports how long that took, whether any told
// something, and whether ctx let it come to its end.
func (p *poller) round(ctx context.Context) (took time.Duration, told, whole bool) {
	for _, page := range p.cfg.Pages {
		if ctx.Err() != nil {
			return took, told, false
		}
		if p.absent[page.Path] {
			continue
		}
		asked := p.now()
		// A question is not given up half-way: the target would go on with it beside the next.
		text, instance, err := p.get(context.WithoutCancel(ctx), page)
		answered := p.now()
		took += answered - asked
		told = told || err == nil
		p.absence(page, text, err)
		for _, r := range page.Readings {
			for _, m := range p.marks(r, text, err) {
				m.At, m.Dur, m.Instance = answered, answered-asked, instance
				p.cfg.Recorder.Mark(m)
			}
		}
	}
	return took, told, true
}

// now is the instant on the recorder's clock.
func (p *poller) now() time.Duration { return p.cfg.Recorder.Since(time.Now()) }

// marks are what a page tells of one reading, or why it tells nothing.
func (p *poller) marks(r Reading, page string, err error) []trace.Mark {
	var texts []string
	if err == nil {
		texts, err = r.read(page)
	}
	if err != nil && r.Form == FormEvents {
		return nil // They say more of what is told anyway; many services keep none.
	}
	if err != nil {
		return []trace.Mark{{Kind: trace.MarkUntold, Subject: r.Subject, Text: err.Error()}}
	}
	var marks []trace.Mark
	for _, text := range texts {
		m := trace.Mark{Kind: trace.MarkReported, Subject: r.Subject, Text: text}
		switch key := r.Subject + "\n" + text; {
		case r.Form == FormCounter:
			m.Kind = trace.MarkCounter
		case r.Form != FormEvents:
		case p.events[key]:
			continue
		default:
			m.Kind, p.events[key] = trace.MarkEvent, true
		}
		marks = append(marks, m)
	}
	return marks
}

// get asks for a page.
func (p *poller) get(ctx context.Context, page Page) (text, instance string, err error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	url := strings.TrimSuffix(p.cfg.BaseURL, "/") + page.Path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", "", fmt.Errorf("ask for %s: %w", url, err)
	}
	req.Header.Set("Accept", accepted(page))
	res, err := p.client.Do(req)
	if errors.Is(err, context.DeadlineExceeded) {
		return "", "", fmt.Errorf("%s was not answered within %s", url, Timeout)
	}
	if err != nil {
		return "", "", fmt.Errorf("ask the target: %w", err)
	}
	defer func() { _ = res.Body.Close() }() // It was read as far as is wanted.
	instance = p.cfg.Instance
	if p.cfg.InstanceHeader != "" && res.Header.Get(p.cfg.InstanceHeader) != "" {
		instance = res.Header.Get(p.cfg.InstanceHeader)
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, MaxPage+1))
	switch {
	case res.StatusCode != http.StatusOK:
		return "", instance, &statusError{url, res.StatusCode}
	case err != nil:
		return "", instance, fmt.Errorf("read %s: %w", url, err)
	case len(body) > MaxPage:
		return "", instance, fmt.Errorf("%s is longer than %d MiB", url, MaxPage>>20)
	}
	return string(body), instance, nil
}

// accepted is the media type of a page.
func accepted(page Page) string {
	for _, r := range page.Readings {
		if r.Form == FormPrometheus || r.Form == FormCounter {
			return "text/plain; version=0.0.4"
		}
	}
	return "application/json"
}
