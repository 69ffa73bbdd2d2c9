package match

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Failure says which outcomes at the dependency a breaker is said to count as
// failures. The zero value counts nothing; see [DefaultFailure].
type Failure struct {
	Classes  []int         `json:"classes,omitempty" yaml:"classes,omitempty"` // 5 means 500 to 599
	Statuses []int         `json:"statuses,omitempty" yaml:"statuses,omitempty"`
	Reset    bool          `json:"reset" yaml:"reset"`                             // RST
	EOF      bool          `json:"eof" yaml:"eof"`                                 // closed without a complete answer
	Abandon  bool          `json:"abandon" yaml:"abandon"`                         // the caller gave up: its own timeout
	GRPC     bool          `json:"grpc,omitempty" yaml:"grpc,omitempty"`           // every answer of gRPC but one with status OK
	Codes    []string      `json:"codes,omitempty" yaml:"codes,omitempty"`         // of gRPC: some of GRPCStatuses, no_status, unreadable
	Slow     time.Duration `json:"slow_over,omitempty" yaml:"slow_over,omitempty"` // 0: no limit
}

// DefaultFailure is what an HTTP client that throws on 5xx, and a gRPC client that throws on
// every status but OK, make a breaker count: 5xx, reset, eof, its own timeout and grpc.
func DefaultFailure() Failure {
	return Failure{Classes: []int{5}, Reset: true, EOF: true, Abandon: true, GRPC: true}
}

// ParseFailure reads the words of `failure:`: 5xx, 4xx, a status such as 429,
// reset, eof, timeout, grpc, grpc:UNAVAILABLE, slow>2s. Spaces do not count; upper and lower case do. An
// error names the first word that is not one of them, and what is known.
func ParseFailure(words []string) (Failure, error) {
	var f Failure
	for _, w := range words {
		if err := f.add(strings.ReplaceAll(w, " ", "")); err != nil {
			return Failure{}, err
		}
	}
	return f, nil
}

// add puts one word into the failure.
func (f *Failure) add(w string) error {
	switch {
	case w == "reset":
		f.Reset = true
	case w == "eof":
		f.EOF = true
	case w == "timeout":
		f.Abandon = true
	case w == "grpc":
		f.GRPC = true
	case strings.HasPrefix(w, grpcPrefix):
		return f.addCode(strings.TrimPrefix(w, grpcPrefix))
	case len(w) == 3 && strings.HasSuffix(w, "xx") && w[0] >= '1' && w[0] <= '5':
		f.Classes = append(f.Classes, int(w[0]-'0'))
	case strings.HasPrefix(w, "slow>"):
		d, err := time.ParseDuration(strings.TrimPrefix(w, "slow>"))
		if err != nil || d <= 0 {
			return fmt.Errorf("%q: after slow> comes a duration such as 2s", w)
		}
		f.Slow = d
	default:
		n, err := strconv.Atoi(w)
		if err != nil || len(w) != 3 || n < 100 || n > 599 {
			return fmt.Errorf("%q is not a kind of failure; known are 5xx, a status such as 429, reset, eof, timeout, grpc, grpc:UNAVAILABLE, slow>2s", w)
		}
		f.Statuses = append(f.Statuses, n)
	}
	return nil
}

// Words lists what counts, in the words that ParseFailure reads.
func (f Failure) Words() []string {
	var words []string
	for _, c := range f.Classes {
		words = append(words, strconv.Itoa(c)+"xx")
	}
	for _, s := range f.Statuses {
		words = append(words, strconv.Itoa(s))
	}
	for _, w := range []struct {
		on   bool
		word string
	}{{f.Reset, "reset"}, {f.EOF, "eof"}, {f.Abandon, "timeout"}, {f.GRPC, "grpc"}} {
		if w.on {
			words = append(words, w.word)
		}
	}
	for _, c := range f.Codes {
		words = append(words, grpcPrefix+c)
	}
	if f.Slow > 0 {
		words = append(words, "slow>"+f.Slow.String())
	}
	return words
}

// String is the Words, separated by ", "; it is "nothing" where nothing counts.
func (f Failure) String() string {
	if words := f.Words(); len(words) > 0 {
		return strings.Join(words, ", ")
	}
	return "nothing"
}

// Status reports whether an answer with this status is a failure.
func (f Failure) Status(code int) bool {
	return slices.Contains(f.Statuses, code) || slices.Contains(f.Classes, code/100)
}
