package injector

import (
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http2"

	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/injector/h2"
	"github.com/faultline-go/faultline/target/trace"
)

// isPreface reports whether a request is the first half of what a client of HTTP/2 with prior
// knowledge sends first (RFC 9113, section 3.4).
func isPreface(r *http.Request) bool {
	return r.ProtoMajor == 2 && r.Method == "PRI" && r.RequestURI == "*" && len(r.Header) == 0
}

// serveH2 takes the connection from net/http, and serves HTTP/2 on it until it ends.
func (i *Injector) serveH2(c *conn, w http.ResponseWriter, r *http.Request) {
	c.begin() // What comes is not the connection's to tell of any more.
	nc, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	stage := i.phase.Load()
	odd, of := i.settingsFor(stage, r.RemoteAddr)
	defer i.release(odd != nil, false)
	o := h2.Options{
		Handler: http.HandlerFunc(i.serveStream),
		Logger:  i.log,
		Reader:  io.MultiReader(strings.NewReader(http2.ClientPreface[:len(http2.ClientPreface)-len("SM\r\n\r\n")]), buffered),
		Reset:   func() error { return prepareReset(c.Conn) },
		Unread:  func(u h2.Unread) { i.recordUnreadH2(c, u) },
	}
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		o.CloseWrite = half.CloseWrite
	}
	if odd != nil {
		o.Settings = h2.Settings{MaxStreams: odd.MaxStreams, InitialWindow: odd.InitialWindow, NoUpdates: odd.NoUpdates, AckDelay: odd.AckDelay}
	}
	s := h2.New(nc, o)
	i.mu.Lock()
	i.multiplexed[s] = of
	i.mu.Unlock()
	if now := i.phase.Load(); now != stage && (now.door != "" || now.outgrows(stage, of)) {
		dismiss(s) // It began between two stages.
	}
	s.Serve(r.Context())
	i.mu.Lock()
	delete(i.multiplexed, s)
	i.mu.Unlock()
}

// settingsFor asks the stage with which settings a connection begins, and whose they are; nil: a
// sound server's.
func (i *Injector) settingsFor(s *stage, peer string) (*fault.H2Settings, *phase) {
	v, p := i.ask(s, fault.Request{Layer: fault.LayerH2, Peer: peer}, time.Now())
	if v.Rule == nil || i.permit(v.Rule, p, false) != "" {
		return nil, nil
	}
	return v.Rule.Settings, p
}

// outgrows reports whether a connection that began in an earlier stage, with the settings of
// this phase (nil: of none), is not for this one: that phase is over, or one with settings has begun.
func (s *stage) outgrows(earlier *stage, of *phase) bool {
	return of != nil && !slices.Contains(s.all, of) || slices.ContainsFunc(s.all, func(p *phase) bool {
		return p.settings && !slices.Contains(earlier.all, p)
	})
}

// dismissH2 has connections go, by whose settings they have.
func (i *Injector) dismissH2(goes func(of *phase) bool) {
	i.mu.Lock()
	var leaving []*h2.Conn
	for s, of := range i.multiplexed {
		if goes(of) {
			leaving = append(leaving, s)
		}
	}
	i.mu.Unlock()
	for _, s := range leaving {
		dismiss(s)
	}
}

// dismiss has a connection go when its streams are through, which nothing holds back any more.
func dismiss(s *h2.Conn) {
	s.Release()
	s.Shutdown()
}

// recordUnreadH2 records what came over HTTP/2 and became no request.
func (i *Injector) recordUnreadH2(c *conn, u h2.Unread) {
	now := time.Now()
	handle := i.cfg.Recorder.Arrived(trace.Attempt{
		Injector: i.cfg.Name, Phase: i.phase.Load().name, Peer: c.RemoteAddr().String(), Arr: i.offset(u.Since),
		Detail: "no request that can be served: HTTP/2, and " + u.Why,
	})
	i.cfg.Recorder.Departed(handle, func(a *trace.Attempt) {
		a.Outcome, a.Dep = trace.OutcomeFIN, i.offset(now)
		switch {
		case u.Status != 0:
			a.Outcome, a.Status = trace.OutcomeAnswered, u.Status
		case u.Reset:
			a.Outcome = trace.OutcomeReset
		case u.Left:
			a.Outcome, a.Abandon, a.Dep = trace.OutcomeHang, a.Dep, trace.None
		}
	})
}

// Misfit is a fault that a request met, and that its protocol does not know.
type Misfit struct {
	Rule string // its ID
	What string // why it has no meaning
	Met  int    // requests
}

// Misfits are the faults that were not played, as the caller's protocol does not know them, in the
// order in which they were met. Such requests are answered 501 and not otherwise: a run with any of
// them did not do what its script says.
func (i *Injector) Misfits() []Misfit {
	i.mu.Lock()
	defer i.mu.Unlock()
	return append([]Misfit(nil), i.misfits...)
}

// misfit tells the caller, the log and Misfits of a fault that has no meaning in this protocol.
func (x *exchange) misfit(what string) ending {
	what += " has no meaning over " + x.r.Proto
	id := "the stub"
	if x.verdict.Rule != nil {
		id = x.verdict.Rule.ID
	}
	if x.noteMisfit(id, what) {
		x.log.LogAttrs(x.r.Context(), slog.LevelError, "a fault was not played",
			slog.String("injector", x.cfg.Name), slog.String("rule", id), slog.String("reason", what))
	}
	e := x.answer(newAnswer(fault.Respond{
		Status: http.StatusNotImplemented,
		Body:   "faultline: injector " + x.cfg.Name + ": fault " + id + ": " + what + "\n",
	}))
	e.detail = "the fault was not played: " + what
	return e
}

// noteMisfit counts one, and reports whether it is the first of its kind.
func (i *Injector) noteMisfit(id, what string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if n, known := i.misfitAt[[2]string{id, what}]; known {
		i.misfits[n].Met++
		return false
	}
	i.misfitAt[[2]string{id, what}] = len(i.misfits)
	i.misfits = append(i.misfits, Misfit{Rule: id, What: what, Met: 1})
	return true
}
