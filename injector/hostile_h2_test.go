package injector_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// streamSight is what one stream of a raw connection came to.
type streamSight struct {
	path         string
	status       string
	whole, reset bool // END_STREAM, RST_STREAM
	cancelled    bool // by the caller
}

// h2Looks sends some requests on one connection and notes what each comes to, and the end of the
// connection.
func h2Looks(t *testing.T, addr, prefix string, streams int, r *rand.Rand) (all map[uint32]*streamSight, end string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Error(err)
		return nil, ""
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(patience))
	var out bytes.Buffer
	out.WriteString(http2.ClientPreface)
	w := http2.NewFramer(&out, nil)
	w.WriteSettings()
	all = map[uint32]*streamSight{}
	var block bytes.Buffer
	enc := hpack.NewEncoder(&block)
	for k := range streams {
		id := uint32(2*k + 1)
		s := &streamSight{path: fmt.Sprintf("%s/%d", prefix, id)}
		all[id] = s
		block.Reset()
		body := r.IntN(2) == 0
		for _, f := range [][2]string{{":method", "POST"}, {":scheme", "http"}, {":path", s.path}, {":authority", "d"}} {
			enc.WriteField(hpack.HeaderField{Name: f[0], Value: f[1]})
		}
		w.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: block.Bytes(), EndHeaders: true, EndStream: !body})
		if body {
			w.WriteData(id, true, make([]byte, 1000))
		}
		if s.cancelled = r.IntN(6) == 0; s.cancelled {
			w.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}
	go conn.Write(out.Bytes())
	in := http2.NewFramer(io.Discard, conn)
	in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	left := streams
	for _, s := range all {
		if s.cancelled {
			left--
		}
	}
	for left > 0 {
		f, err := in.ReadFrame()
		switch {
		case errors.Is(err, io.EOF):
			return all, "FIN"
		case errors.Is(err, syscall.ECONNRESET):
			return all, "RST"
		case err != nil && !errors.As(err, new(http2.StreamError)):
			_, err := io.Copy(io.Discard, conn)
			if errors.Is(err, syscall.ECONNRESET) {
				return all, "RST"
			}
			return all, "FIN"
		case err != nil:
			continue
		}
		s := all[f.Header().StreamID]
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			s.status, s.whole = f.PseudoValue("status"), f.StreamEnded()
		case *http2.DataFrame:
			s.whole = f.StreamEnded()
		case *http2.RSTStreamFrame:
			if s.reset = !s.whole; s.whole {
				continue
			}
		case *http2.SettingsFrame, *http2.GoAwayFrame, *http2.WindowUpdateFrame:
			continue
		}
		if (s.whole || s.reset) && !s.cancelled {
			left--
		}
	}
	return all, "open"
}

// As TestTheLedgerSaysWhatRawSocketsSaw, of the streams of HTTP/2, which share their end.
func TestTheLedgerSaysWhatRawStreamsSaw(t *testing.T) {
	cut := func(n int64, by fault.Action) fault.Form {
		return fault.Form{Cut: &fault.Cut{At: fault.CutBody, Bytes: n, By: by}}
	}
	abort := eachNth(40, fault.ActionPass, fault.Form{})
	abort.H2 = &fault.H2{Abort: true}
	away := eachNth(30, fault.ActionPass, fault.Form{})
	away.H2 = &fault.H2{GoAway: &fault.GoAway{Code: "NO_ERROR", Last: fault.LastThis}}
	rules := []fault.Rule{
		abort, away,
		eachNth(30, fault.ActionClose, fault.Form{}), stealthy(eachNth(30, fault.ActionClose, fault.Form{})),
		eachNth(35, fault.ActionGarbage, fault.Form{}),
		eachNth(9, fault.ActionReset, fault.Form{}), eachNth(9, fault.ActionHang, fault.Form{}),
		eachNth(8, fault.ActionRespond, cut(2000, fault.ActionReset)),
		eachNth(30, fault.ActionRespond, cut(2000, fault.ActionClose)),
		eachNth(30, fault.ActionRespond, fault.Form{After: &fault.After{Do: fault.AfterReset}}),
		eachNth(30, fault.ActionRespond, fault.Form{After: &fault.After{Do: fault.AfterClose}}),
		eachNth(5, fault.ActionRespond, fault.Form{Drip: &fault.Drip{Chunks: 3, Over: 3 * time.Millisecond}}),
		eachNth(3, fault.ActionRespond, fault.Form{}),
	}
	d := start(t, injector.Config{Stub: injector.Stub{Respond: fault.Respond{Body: strings.Repeat("s", 100)}}}, rules...)
	type sight struct {
		all map[uint32]*streamSight
		end string
	}
	const conns, streams = 120, 12
	sights := make([]sight, conns)
	var callers sync.WaitGroup
	for c := range 8 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(9, uint64(c)))
			for k := c; k < conns; k += 8 {
				all, end := h2Looks(t, d.Addr(), fmt.Sprintf("/%d", k), streams, r)
				sights[k] = sight{all, end}
			}
		})
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			case <-time.After(30 * time.Millisecond):
				d.Enter("p") // Which ends what hangs.
			}
		}
	}()
	callers.Wait()
	close(stop)
	<-stopped
	by := map[string][]trace.Attempt{}
	for _, a := range d.attempts(t) {
		by[a.Path] = append(by[a.Path], a)
	}
	ends := map[string]int{}
	for _, s := range sights {
		ends[s.end]++
		for _, st := range s.all {
			as := by[st.path]
			if len(as) > 1 || len(as) == 0 && s.end == "open" && !st.cancelled {
				t.Errorf("%s is there %d times: %+v, connection %s", st.path, len(as), *st, s.end)
				continue
			}
			if len(as) == 0 || st.cancelled {
				continue
			}
			a, ok := as[0], false
			switch {
			case st.whole:
				ok = a.Outcome == trace.OutcomeAnswered && fmt.Sprint(a.Status) == st.status
			case st.reset:
				ok = a.Outcome == trace.OutcomeReset || a.Outcome == trace.OutcomeHang && a.Abandon == trace.None
			case s.end == "RST":
				ok = a.Outcome == trace.OutcomeReset
			case s.end == "FIN":
				ok = a.Outcome == trace.OutcomeFIN
			}
			if a.Action == string(fault.ActionHang) && a.Outcome == trace.OutcomeHang && a.Abandon == trace.None {
				ok = true // Its RST_STREAM may have been on its way when the connection ended.
			}
			if !ok {
				t.Errorf("saw %+v, connection %s; recorded %s %d abandon %v rule %s action %s detail %q", *st, s.end, a.Outcome, a.Status, a.Abandon, a.Rule, a.Action, a.Detail)
			}
		}
	}
	t.Log(ends)
	if used := d.State(); used.Active != 0 || used.Held != 0 {
		t.Errorf("in use at the end: %+v", used)
	}
}
