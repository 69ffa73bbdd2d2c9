package imports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Imported is what a file comes to.
type Imported struct {
	Rules     []fault.Rule // in their order; the first that takes a request decides
	Injectors []Dependency // with faults of their own, instead of Rules
	Notes     []Note       // what has no equivalent, or another meaning
}

// File reads a file of Toxiproxy or of a service mesh, whichever it is: see [Toxiproxy] and
// [Mesh].
func File(file string, src []byte) (Imported, error) {
	docs, err := yamldoc.Properties(file, untabbed(src))
	if err != nil {
		return Imported{}, err
	}
	if slices.ContainsFunc(docs, isToxiproxy) {
		return Toxiproxy(file, src)
	}
	got, err := Mesh(file, src)
	if err != nil && len(got.Notes)+len(got.Rules) == 0 {
		err = fmt.Errorf("%w; nor a proxy of Toxiproxy, with listen and upstream", err)
	}
	return got, err
}

// isToxiproxy reports whether there are proxies in it. A list that says of something where it
// listens was meant to be of some.
func isToxiproxy(doc []yamldoc.Property) bool {
	for _, above := range proxies(doc) {
		_, listens := valueOf(doc, under(above, "listen"))
		_, dials := valueOf(doc, under(above, "upstream"))
		if _, named := valueOf(doc, under(above, "name")); dials && (listens || named) || above != "" && above[0] == '[' {
			return true
		}
	}
	return false
}

// Note is something that the rules do not say, or say otherwise.
type Note struct {
	At   yamldoc.Pos
	Key  string
	Text string
}

// String is FILE-less: LINE:COL: KEY: TEXT.
func (n Note) String() string {
	return fmt.Sprintf("%d:%d: %s: %s", n.At.Line, n.At.Col, n.Key, n.Text)
}

// share is a probability as a fraction.
type share struct{ num, den uint64 }

// always hits everything.
func always() share { return share{1, 1} }

// none reports whether it hits nothing.
func (s share) none() bool { return s.num == 0 }

// not is the probability of the opposite.
func (s share) not() share { return share{s.den - s.num, s.den} }

// reduced has no common factor.
func (s share) reduced() share {
	a, b := s.num, s.den
	for b != 0 {
		a, b = b, a%b
	}
	return share{s.num / a, s.den / a}
}

// selects is a rule's choice by a probability.
func (s share) selects() fault.Select {
	if s.num == s.den {
		return fault.Select{Kind: fault.SelectAll}
	}
	return fault.Select{Kind: fault.SelectRatio, Num: s.num, Den: s.den}
}

// percent reads a decimal number of percent, exactly.
func percent(text string) (share, bool) {
	whole, decimals, _ := strings.Cut(text, ".")
	decimals = strings.TrimRight(decimals, "0")
	const most = 6 // A product of two such shares fits into 64 bits.
	if len(decimals) > most || len(whole) > 3 {
		return share{}, false
	}
	n, err := strconv.ParseUint(whole+decimals, 10, 64)
	if whole == "" || err != nil {
		return share{}, false
	}
	den := uint64(100)
	for range decimals {
		den *= 10
	}
	if n > den {
		return share{}, false
	}
	return share{n, den}.reduced(), true
}

// ofDenominator reads a numerator of Envoy's FractionalPercent.
func ofDenominator(numerator, denominator string) (share, bool) {
	den, ok := map[string]uint64{"": 100, "HUNDRED": 100, "TEN_THOUSAND": 10_000, "MILLION": 1_000_000}[denominator]
	n, err := strconv.ParseUint(numerator, 10, 32)
	if !ok || err != nil {
		return share{}, false
	}
	return share{min(n, den), den}.reduced(), true // Envoy takes more than all for all.
}
