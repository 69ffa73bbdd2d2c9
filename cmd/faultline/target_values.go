package main

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// window is a sliding window as a flag: 10 is a number of calls, 10s of seconds.
type window struct {
	kind breakerref.WindowType
	size int
}

// String implements pflag.Value.
func (w *window) String() string {
	if w.kind == breakerref.TimeBased {
		return strconv.Itoa(w.size) + "s"
	}
	return strconv.Itoa(w.size)
}

// Type implements pflag.Value.
func (w *window) Type() string { return "calls|duration" }

// Set implements pflag.Value.
func (w *window) Set(s string) error {
	if n, err := strconv.Atoi(s); err == nil {
		*w = window{breakerref.CountBased, n}
		return nil
	}
	d, err := yamldoc.ParseDuration(s)
	if err != nil || d%time.Second != 0 {
		return errors.New("write a number of calls, as 10, or of whole seconds, as 10s")
	}
	*w = window{breakerref.TimeBased, int(d / time.Second)}
	return nil
}

// percent is a share as a flag, written with its unit.
type percent float32

// String implements pflag.Value.
func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'f', -1, 32) + "%" }

// Type implements pflag.Value.
func (p *percent) Type() string { return "percent" }

// Set implements pflag.Value.
func (p *percent) Set(s string) error {
	share, err := yamldoc.ParseShare(s)
	*p = percent(100 * share.Float())
	return err
}

// timespan is a duration as a flag, written with its unit.
type timespan time.Duration

// String implements pflag.Value.
func (t *timespan) String() string { return yamldoc.FormatDuration(time.Duration(*t)) }

// Type implements pflag.Value.
func (t *timespan) Type() string { return "duration" }

// Set implements pflag.Value.
func (t *timespan) Set(s string) error {
	d, err := yamldoc.ParseDuration(s)
	*t = timespan(d)
	return err
}

// routeFlag is a path that is served otherwise.
type routeFlag struct {
	path string
	to   string // URL of another dependency, or the body of an answer
	flag string // that it was given by
}

// routes are the values of --route and --respond, in the order in which they were
// given, since the first that matches a path serves it.
type routes []routeFlag

// routeValue is one of these two flags.
type routeValue struct {
	all  *routes
	flag string
	kind string // of what follows the path
}

// String implements pflag.Value; there are none to begin with.
func (routeValue) String() string { return "" }

// Type implements pflag.Value.
func (v routeValue) Type() string { return "PATH=" + v.kind }

// Set implements pflag.Value.
func (v routeValue) Set(s string) error {
	path, to, ok := strings.Cut(s, "=")
	if !ok {
		return errors.New("write a path, = and the " + v.kind + ", as /pay*=" + v.example())
	}
	*v.all = append(*v.all, routeFlag{path: path, to: to, flag: v.flag})
	return nil
}

func (v routeValue) example() string {
	if v.flag == routeToURL {
		return "http://127.0.0.1:9902"
	}
	return "products"
}
