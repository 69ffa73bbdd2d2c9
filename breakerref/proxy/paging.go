package proxy

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Paging makes a service that lists items page by page, out of two sources that both
// know all of them: the dependency, whose good answer stands for a page of the first
// source, and a second source where there is none. GET ?cursor=C answers
//
//	{"source": "primary", "items": [{"id": "i6"}, ...], "next": "p10"}
//
// without next on the last page. A cursor is its source's own: p10 means nothing to the
// second source, nor s10 to the first.
type Paging struct {
	Items  int // at least 1
	Page   int // items on a page, at least 1
	Switch Switch
}

// Switch says what a source does with the cursor of the other one.
type Switch string

// The ways of switching. The last three are wrong: the client is not told.
const (
	SwitchContinue Switch = "continue" // it is translated: the list goes on exactly
	SwitchRestart  Switch = "restart"  // the first page is answered, which says "restarted": true
	SwitchGone     Switch = "gone"     // 410: the client has to begin anew
	SwitchSkip     Switch = "skip"     // a page is lost
	SwitchRepeat   Switch = "repeat"   // a page is answered twice
	SwitchRewind   Switch = "rewind"   // the first page is answered, and nothing says so
)

// Switches are all of them.
func Switches() []Switch {
	return []Switch{SwitchContinue, SwitchRestart, SwitchGone, SwitchSkip, SwitchRepeat, SwitchRewind}
}

// check refuses a list that cannot be served.
func (p *Paging) check() error {
	switch {
	case p == nil:
		return nil
	case p.Items < 1 || p.Page < 1:
		return fmt.Errorf("the list has %d items on pages of %d, must have one at least", p.Items, p.Page)
	case !slices.Contains(Switches(), p.Switch):
		return fmt.Errorf("the switch %q is not one of %q", p.Switch, Switches())
	}
	return nil
}

// listed is a page of a list.
type listed struct {
	Source    string `json:"source"`
	Items     []item `json:"items"`
	Next      string `json:"next,omitempty"`
	Restarted bool   `json:"restarted,omitempty"`
}

type item struct {
	ID string `json:"id"`
}

// write answers the page of a source that a request asks for.
func (p *Paging) write(w http.ResponseWriter, r *http.Request, source string) {
	own := source[:1]
	page := listed{Source: source, Items: []item{}}
	from := 0
	if cursor := r.URL.Query().Get("cursor"); cursor != "" {
		n, err := strconv.Atoi(strings.TrimLeft(cursor, "ps"))
		if err != nil || n < 0 {
			writeNone(w, http.StatusBadRequest, "the cursor is none of this service's")
			return
		}
		from = n
		if !strings.HasPrefix(cursor, own) {
			if p.Switch == SwitchGone {
				writeNone(w, http.StatusGone, "the cursor is of another source: begin anew")
				return
			}
			from, page.Restarted = p.translate(n)
		}
	}
	for i := from; i < min(from+p.Page, p.Items); i++ {
		page.Items = append(page.Items, item{"i" + strconv.Itoa(i+1)})
	}
	if from+p.Page < p.Items {
		page.Next = own + strconv.Itoa(from+p.Page)
	}
	w.Header().Set(Source, source)
	writeJSON(w, http.StatusOK, page)
}

// translate is where the list goes on for the cursor of another source.
func (p *Paging) translate(n int) (from int, restarted bool) {
	switch p.Switch {
	case SwitchRestart:
		return 0, true
	case SwitchRewind:
		return 0, false
	case SwitchSkip:
		return n + p.Page, false
	case SwitchRepeat:
		return max(0, n-p.Page), false
	default:
		return n, false
	}
}
