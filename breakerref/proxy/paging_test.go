package proxy_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/proxy"
)

// walk pages through a list whose dependency fails from page fails on, and returns the
// items of each page.
func walk(t *testing.T, w *world, fails int) (pages []string) {
	t.Helper()
	cursor := ""
	for n := 1; n < 12; n++ {
		if n == fails {
			w.dep.answers(status(503))
		}
		r, _ := w.asks(t, "/items"+cursor)
		if r.status != 200 {
			return append(pages, r.source+" "+http.StatusText(r.status))
		}
		var page struct {
			Source    string
			Items     []struct{ ID string }
			Next      string
			Restarted bool
		}
		if err := json.Unmarshal([]byte(r.body), &page); err != nil || page.Source != r.source {
			t.Fatalf("%s: %v", r.body, err)
		}
		line := []string{page.Source}
		for _, it := range page.Items {
			line = append(line, it.ID)
		}
		if page.Restarted {
			line = append(line, "restarted")
		}
		pages = append(pages, strings.Join(line, " "))
		if page.Next == "" {
			return pages
		}
		cursor = "?cursor=" + page.Next
	}
	return append(pages, "...")
}

// TestPagingSwitches walks through five items on pages of two while the first source
// fails after the first page.
func TestPagingSwitches(t *testing.T) {
	const one, two, three = "secondary i1 i2", "secondary i3 i4", "secondary i5"
	for how, rest := range map[proxy.Switch][]string{
		proxy.SwitchContinue: {two, three},
		proxy.SwitchRestart:  {one + " restarted", two, three},
		proxy.SwitchGone:     {"none Gone"},
		proxy.SwitchSkip:     {three},
		proxy.SwitchRepeat:   {one, two, three},
		proxy.SwitchRewind:   {one, two, three},
	} {
		t.Run(string(how), func(t *testing.T) {
			cfg := good()
			cfg.Fallback, cfg.Paging = nil, &proxy.Paging{Items: 5, Page: 2, Switch: how}
			bubble(t, cfg, func(t *testing.T, w *world) {
				if diff := cmp.Diff([]string{"primary i1 i2", "primary i3 i4", "primary i5"}, walk(t, w, 0)); diff != "" {
					t.Errorf("before: want -, got +:\n%s", diff)
				}
				if diff := cmp.Diff(append([]string{"primary i1 i2"}, rest...), walk(t, w, 2)); diff != "" {
					t.Errorf("switched: want -, got +:\n%s", diff)
				}
				if r, _ := w.asks(t, "/items?cursor=sx"); r.status != http.StatusBadRequest {
					t.Errorf("a cursor that is none: %+v", r)
				}
			})
		})
	}
}

// TestPagingIsChecked refuses what cannot be listed.
func TestPagingIsChecked(t *testing.T) {
	for want, change := range map[string]func(*proxy.Config){
		"0 items":          func(c *proxy.Config) { c.Paging.Items = 0 },
		"pages of 0":       func(c *proxy.Config) { c.Paging.Page = 0 },
		`switch "forward"`: func(c *proxy.Config) { c.Paging.Switch = "forward" },
		"no secondary":     func(c *proxy.Config) { c.Fallback = &proxy.Answer{} },
	} {
		cfg := good()
		cfg.Addr, cfg.Upstream = "127.0.0.1:0", "http://127.0.0.1:9"
		cfg.Fallback, cfg.Paging = nil, &proxy.Paging{Items: 5, Page: 2, Switch: proxy.SwitchSkip}
		change(&cfg)
		p, err := proxy.Start(t.Context(), cfg)
		if err == nil {
			closeProxy(t, p)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
