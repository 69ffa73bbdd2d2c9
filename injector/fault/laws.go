package fault

import (
	"math"
	"slices"
	"time"
)

// Normal is a normal distribution of latencies, drawn again where one would be
// below 0 or above Cap. That moves the mean a little: [Latency.Mean] is the true one.
type Normal struct {
	Mean time.Duration `json:"mean" yaml:"mean"`
	SD   time.Duration `json:"sd" yaml:"sd"`
	Cap  time.Duration `json:"cap,omitempty" yaml:"cap,omitempty"` // 0: none
}

// Lognormal is a lognormal distribution, whose logarithm is normal. It is given by
// its median and either its 99th percentile or Sigma, the deviation of the
// logarithm; both are those before Cap, above which it is drawn again.
type Lognormal struct {
	Median time.Duration `json:"median" yaml:"median"`
	P99    time.Duration `json:"p99,omitempty" yaml:"p99,omitempty"`
	Sigma  float64       `json:"sigma,omitempty" yaml:"sigma,omitempty"`
	Cap    time.Duration `json:"cap,omitempty" yaml:"cap,omitempty"` // 0: none
}

// Exponential is an exponential distribution, drawn again above Cap; Mean is that
// before Cap.
type Exponential struct {
	Mean time.Duration `json:"mean" yaml:"mean"`
	Cap  time.Duration `json:"cap,omitempty" yaml:"cap,omitempty"` // 0: none
}

// Pareto is a Pareto distribution: the share above d is (Min/d)^Alpha. It is drawn
// again above Cap, which it must have, as its tail alone may have no mean.
type Pareto struct {
	Min   time.Duration `json:"min" yaml:"min"`
	Alpha float64       `json:"alpha" yaml:"alpha"`
	Cap   time.Duration `json:"cap" yaml:"cap"`
}

// Table is a distribution by some of its quantiles. Between them it is straight, or
// with Log straight on a logarithmic scale, as measured latencies nearly are.
type Table struct {
	Points []Point `json:"points" yaml:"points"` // rising, from quantile 0 to quantile 1
	Log    bool    `json:"log,omitempty" yaml:"log,omitempty"`
}

// Point says that the share Quantile of all latencies is not above At.
type Point struct {
	Quantile float64       `json:"quantile" yaml:"quantile"`
	At       time.Duration `json:"at" yaml:"at"`
}

// trace is the distribution of the values that a trace plays.
type trace []time.Duration

// z99 is the 99th percentile of the standard normal distribution.
const z99 = 2.3263478740408408

// below and above are the shares of the standard normal distribution on either side
// of z.
func below(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
func above(z float64) float64 { return below(-z) }

func density(z float64) float64 { return math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) }

// between is the quantile u of the standard normal distribution between two ends.
// It is taken from the nearer tail, as 1 less a small number forgets the number.
func between(lo, hi, u float64) float64 {
	left := below(lo)*(1-u) + below(hi)*u
	if left <= .5 {
		return -math.Sqrt2 * math.Erfcinv(2*left)
	}
	right := above(lo)*(1-u) + above(hi)*u
	return math.Sqrt2 * math.Erfcinv(2*right)
}

// capped is the end of a law.
func capped(d time.Duration) time.Duration {
	if d == 0 {
		return Never
	}
	return d
}

// standard are the ends of a normal law in deviations from its mean.
func (n *Normal) standard() (lo, hi float64) {
	lo, hi = -float64(n.Mean)/float64(n.SD), math.Inf(1)
	if n.Cap > 0 {
		hi = float64(n.Cap-n.Mean) / float64(n.SD)
	}
	return lo, hi
}

func (n *Normal) quantile(u float64) float64 {
	lo, hi := n.standard()
	return float64(n.Mean) + float64(n.SD)*between(lo, hi, u)
}

func (n *Normal) ends() (least, most time.Duration) { return 0, capped(n.Cap) }

func (n *Normal) mean() float64 {
	lo, hi := n.standard()
	return float64(n.Mean) + float64(n.SD)*(density(lo)-density(hi))/(below(hi)-below(lo))
}

func (n *Normal) check(ps *problems) {
	positive(ps, "latency.normal.mean", n.Mean)
	positive(ps, "latency.normal.sd", n.SD)
	aboveOr0(ps, "latency.normal.cap", n.Cap, n.Mean, "the mean")
}

// sigma is the deviation of the logarithm.
func (l *Lognormal) sigma() float64 {
	if l.Sigma > 0 {
		return l.Sigma
	}
	return math.Log(float64(l.P99)/float64(l.Median)) / z99
}

// top is the cap in deviations of the logarithm.
func (l *Lognormal) top() float64 {
	if l.Cap == 0 {
		return math.Inf(1)
	}
	return math.Log(float64(l.Cap)/float64(l.Median)) / l.sigma()
}

func (l *Lognormal) quantile(u float64) float64 {
	return float64(l.Median) * math.Exp(l.sigma()*between(math.Inf(-1), l.top(), u))
}

func (l *Lognormal) ends() (least, most time.Duration) { return 0, capped(l.Cap) }

func (l *Lognormal) mean() float64 {
	s, top := l.sigma(), l.top()
	return float64(l.Median) * math.Exp(s*s/2) * below(top-s) / below(top)
}

func (l *Lognormal) check(ps *problems) {
	positive(ps, "latency.lognormal.median", l.Median)
	switch {
	case (l.P99 != 0) == (l.Sigma != 0):
		ps.add("latency.lognormal", "is given by its median and either p99 or sigma")
	case l.P99 != 0 && l.P99 <= l.Median:
		ps.add("latency.lognormal.p99", "%v is not above the median, %v", l.P99, l.Median)
	case l.P99 == 0 && (!(l.Sigma > 0) || l.Sigma > maxShape):
		ps.add("latency.lognormal.sigma", "%v is not above 0 and at most %d", l.Sigma, maxShape)
	}
	aboveOr0(ps, "latency.lognormal.cap", l.Cap, l.Median, "the median")
}

// share is how much of the law is below its cap.
func (e *Exponential) share() float64 {
	if e.Cap == 0 {
		return 1
	}
	return -math.Expm1(-float64(e.Cap) / float64(e.Mean))
}

func (e *Exponential) quantile(u float64) float64 {
	return -float64(e.Mean) * math.Log1p(-u*e.share())
}

func (e *Exponential) ends() (least, most time.Duration) { return 0, capped(e.Cap) }

func (e *Exponential) mean() float64 {
	share := e.share()
	return float64(e.Mean) - float64(e.Cap)*(1-share)/share
}

func (e *Exponential) check(ps *problems) {
	positive(ps, "latency.exponential.mean", e.Mean)
	aboveOr0(ps, "latency.exponential.cap", e.Cap, e.Mean, "the mean")
}

// logRange is the logarithm of Cap over Min.
func (p *Pareto) logRange() float64 { return math.Log(float64(p.Cap) / float64(p.Min)) }

func (p *Pareto) quantile(u float64) float64 {
	share := -math.Expm1(-p.Alpha * p.logRange())
	return float64(p.Min) * math.Exp(-math.Log1p(-u*share)/p.Alpha)
}

func (p *Pareto) ends() (least, most time.Duration) { return p.Min, p.Cap }

// mean is Alpha times the integral of (Min/x)^Alpha from Min to Cap, over the share
// below Cap. With y = ln x it is one of an exponential, which has no gap at Alpha 1.
func (p *Pareto) mean() float64 {
	a, width := p.Alpha, p.logRange()
	integral := width
	if b := 1 - a; math.Abs(b*width) > 1e-9 {
		integral = math.Expm1(b*width) / b
	}
	return float64(p.Min) * a * integral / -math.Expm1(-a*width)
}

func (p *Pareto) check(ps *problems) {
	positive(ps, "latency.pareto.min", p.Min)
	if !(p.Alpha > 0) || p.Alpha > maxShape {
		ps.add("latency.pareto.alpha", "%v is not above 0 and at most %d", p.Alpha, maxShape)
	}
	if p.Cap <= p.Min {
		ps.add("latency.pareto.cap", "%v is not above min, %v; a pareto without an end may take forever", p.Cap, p.Min)
	}
}

func (t *Table) quantile(u float64) float64 {
	i, _ := slices.BinarySearchFunc(t.Points, u, func(p Point, u float64) int {
		if p.Quantile <= u {
			return -1
		}
		return 1
	})
	a, b := t.Points[i-1], t.Points[i]
	part := (u - a.Quantile) / (b.Quantile - a.Quantile)
	from, to := float64(a.At), float64(b.At)
	if t.Log {
		return from * math.Exp(part*math.Log(to/from))
	}
	return from + part*(to-from)
}

func (t *Table) ends() (least, most time.Duration) {
	return t.Points[0].At, t.Points[len(t.Points)-1].At
}

func (t *Table) mean() float64 {
	sum := 0.0
	for i, b := range t.Points[1:] {
		a := t.Points[i]
		from, to := float64(a.At), float64(b.At)
		middle := (from + to) / 2
		if t.Log && a.At < b.At {
			middle = (to - from) / math.Log(to/from)
		}
		sum += middle * (b.Quantile - a.Quantile)
	}
	return sum
}

func (t *Table) check(ps *problems) {
	n := len(t.Points)
	if n < 2 || t.Points[0].Quantile != 0 || t.Points[n-1].Quantile != 1 {
		ps.add("latency.table", "needs its shortest, at quantile 0, and its longest, at quantile 1")
		return
	}
	for i, p := range t.Points {
		switch {
		case p.At < 0 || t.Log && p.At == 0:
			ps.add("latency.table", "%v has no place on its scale", p.At)
		case i > 0 && !(p.Quantile > t.Points[i-1].Quantile):
			ps.add("latency.table", "quantile %v is not above the one before, %v", p.Quantile, t.Points[i-1].Quantile)
		case i > 0 && p.At < t.Points[i-1].At:
			ps.add("latency.table", "runs backwards: %v at quantile %v is below %v", p.At, p.Quantile, t.Points[i-1].At)
		}
	}
}

func (t trace) quantile(u float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return float64(sorted[max(0, int(math.Ceil(u*float64(len(t))))-1)])
}

func (t trace) ends() (least, most time.Duration) { return slices.Min(t), slices.Max(t) }

func (t trace) mean() float64 {
	sum := 0.0
	for _, d := range t {
		sum += float64(d)
	}
	return sum / float64(len(t))
}

func (t trace) check(ps *problems) {
	for i, d := range t {
		if d < 0 {
			ps.add("latency.trace", "value %d, %v, is negative", i+1, d)
			return
		}
	}
}

// maxShape bounds the numbers without a unit, beyond which a law is no more than a
// constant or a catastrophe.
const maxShape = 100

func positive(ps *problems, field string, d time.Duration) {
	if d <= 0 {
		ps.add(field, "is %v; write a time above zero", d)
	}
}

func aboveOr0(ps *problems, field string, d, than time.Duration, what string) {
	if d != 0 && d <= than {
		ps.add(field, "%v is not above %s, %v", d, what, than)
	}
}
