package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/faultline-go/faultline/experiments/run"
)

// progress tells a person how a run goes: on a terminal by one line that is
// written anew every second, elsewhere by one line at the start of every phase.
type progress struct {
	w      io.Writer
	screen screen

	mu    sync.Mutex
	phase int
	drawn bool // a live line stands on the terminal
}

// eraseLine brings the cursor to the start of the line and clears it.
const eraseLine = "\r\x1b[K"

// show is told of the run.
func (p *progress) show(now run.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now.Note != "" {
		p.line(printable(now.Note))
	}
	if now.PhaseNo != p.phase && now.PhaseNo > 0 {
		p.phase = now.PhaseNo
		if !p.screen.terminal {
			p.line(phaseLine(now))
		}
	}
	if p.screen.terminal && now.PhaseNo > 0 {
		// A line that reaches the last column would move to the next one.
		p.write(eraseLine + cut(liveLine(now), p.screen.width-1))
		p.drawn = true
	}
}

// line prints a line that stays.
func (p *progress) line(s string) {
	p.erase()
	p.write(s + "\n")
}

// done removes the live line.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *progress) erase() {
	if p.drawn {
		p.write(eraseLine)
		p.drawn = false
	}
}

// write tells nobody where standard error leads nowhere.
func (p *progress) write(s string) { _, _ = io.WriteString(p.w, s) }

// phaseLine says that a phase begins.
func phaseLine(now run.Progress) string {
	s := fmt.Sprintf("  phase %d of %d: %s", now.PhaseNo, now.Phases, printable(now.Phase))
	if now.Duration > 0 {
		s += ", " + now.Duration.String()
	}
	return s
}

// liveLine says all that fits.
func liveLine(now run.Progress) string {
	phase := fmt.Sprintf("[%d/%d %s %s]", now.PhaseNo, now.Phases, printable(now.Phase), elapsed(now))
	parts := []string{
		fmt.Sprintf("%s %d sent, %d arrived, %d in flight", phase, now.Sent, now.Arrived, now.InFlight),
	}
	if len(now.State) > 0 {
		parts = append(parts, pairs(now.State, " "))
	}
	if len(now.Statuses) > 0 {
		parts = append(parts, pairs(now.Statuses, ":"))
		parts = append(parts, fmt.Sprintf("p50 %s p99 %s", rounded(now.P50), rounded(now.P99)))
	}
	return strings.Join(parts, " | ")
}

func elapsed(now run.Progress) string {
	s := now.Elapsed.Round(100 * time.Millisecond).String()
	if now.Duration > 0 {
		s += "/" + now.Duration.String()
	}
	return s
}

// pairs writes a map in the order of its keys.
func pairs[V any](m map[string]V, sep string) string {
	words := make([]string, 0, len(m))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		words = append(words, fmt.Sprintf("%s%s%v", printable(k), sep, m[k]))
	}
	return strings.Join(words, " ")
}

// rounded is a latency as precise as a glance is.
func rounded(d time.Duration) time.Duration {
	if d < 10*time.Millisecond {
		return d.Round(100 * time.Microsecond)
	}
	return d.Round(time.Millisecond)
}

// printable leaves out what would move the cursor.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// cut shortens a line to width columns and shows that it did.
func cut(s string, width int) string {
	if utf8.RuneCountInString(s) <= width {
		return s
	}
	return string([]rune(s)[:max(width-2, 0)]) + ".."
}
