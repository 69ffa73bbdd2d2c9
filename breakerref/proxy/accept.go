package proxy

import (
	"cmp"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// anything is the media range that covers all types.
const anything = "*/*"

// mediaRange is one of those that a request accepts.
type mediaRange struct {
	name    string // such as application/json, text/*, application/*+json
	quality float64
}

// ranges returns what a request accepts, best first: by quality, then the narrower ones,
// then as they came. What cannot be read is left out. Without an Accept header that says
// anything it is anything.
func ranges(r *http.Request) []mediaRange {
	text := strings.Join(r.Header.Values("Accept"), ",")
	if strings.TrimSpace(text) == "" {
		return []mediaRange{{anything, 1}}
	}
	var all []mediaRange
	for part := range strings.SplitSeq(text, ",") {
		name, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		if name == "*" {
			name = anything
		}
		quality := 1.0
		if q, given := params["q"]; given {
			if quality, err = strconv.ParseFloat(q, 64); err != nil {
				continue
			}
		}
		all = append(all, mediaRange{name, quality})
	}
	slices.SortStableFunc(all, func(a, b mediaRange) int {
		return cmp.Or(cmp.Compare(b.quality, a.quality), cmp.Compare(a.breadth(), b.breadth()))
	})
	return all
}

// breadth is 0 for a type, 1 for several and 2 for all.
func (m mediaRange) breadth() int {
	switch {
	case m.name == anything:
		return 2
	case strings.Contains(m.name, "*"):
		return 1
	}
	return 0
}

// covers reports whether a type is within the range.
func (m mediaRange) covers(media string) bool {
	before, after, open := strings.Cut(m.name, "*")
	return m.name == anything || m.name == media ||
		open && strings.HasPrefix(media, before) && strings.HasSuffix(media, after)
}

// jsonTypes are the types that the actuator's JSON goes by, the preferred one first.
func jsonTypes() []string {
	return []string{actuatorJSON, "application/vnd.spring-boot.actuator.v2+json", "application/json"}
}

// pickJSON returns the type of an answer in JSON, or "" if none is accepted.
func pickJSON(accepted []mediaRange) string {
	for _, m := range accepted {
		for _, media := range jsonTypes() {
			if m.covers(media) {
				return media
			}
		}
	}
	return ""
}

// The types that series go by.
const (
	seriesText  = "text/plain;version=0.0.4;charset=utf-8"
	openMetrics = "application/openmetrics-text;version=1.0.0;charset=utf-8"
)

// pickSeries returns the type of an answer with series, or "" if none is accepted. As
// Spring Boot does, it takes the newer format wherever it is named, however low its quality.
func pickSeries(accepted []mediaRange) string {
	picked := ""
	for _, m := range accepted {
		switch {
		case m.name != anything && m.covers("application/openmetrics-text"):
			return openMetrics
		case m.covers("text/plain"):
			picked = seriesText
		}
	}
	return picked
}
