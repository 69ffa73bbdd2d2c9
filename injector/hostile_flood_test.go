package injector_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/faultline-go/faultline/injector"
	"github.com/faultline-go/faultline/injector/fault"
	"github.com/faultline-go/faultline/target/trace"
)

// flooder writes frames that no sound client writes, as fast as it can.
type flooder struct {
	*http2.Framer
	conn  net.Conn
	out   bytes.Buffer
	block bytes.Buffer
	enc   *hpack.Encoder
	sent  int64 // bytes
	ended bool  // the server takes no more
	away  chan http2.ErrCode
}

// flood opens a connection; what comes on it is read, or not.
func flood(t *testing.T, addr string, reads bool) *flooder {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &flooder{conn: conn, away: make(chan http2.ErrCode, 1)}
	f.Framer = http2.NewFramer(&f.out, nil)
	f.AllowIllegalWrites = true
	f.enc = hpack.NewEncoder(&f.block)
	f.out.WriteString(http2.ClientPreface)
	f.WriteSettings()
	if reads {
		go f.read()
	}
	return f
}

// read notes the first GOAWAY.
func (f *flooder) read() {
	defer close(f.away)
	in := http2.NewFramer(io.Discard, f.conn)
	for {
		switch got, err := in.ReadFrame(); got := got.(type) {
		case *http2.GoAwayFrame:
			f.away <- got.ErrCode
			_, _ = io.Copy(io.Discard, f.conn)
			return
		default:
			if err != nil && !errors.As(err, new(http2.StreamError)) {
				return
			}
		}
	}
}

// push sends what was written, and reports whether the server still takes it.
func (f *flooder) push() bool {
	f.conn.SetWriteDeadline(time.Now().Add(3 * time.Second)) // A server that takes no more is one that has had enough.
	n, err := f.conn.Write(f.out.Bytes())
	f.sent += int64(n)
	f.out.Reset()
	f.ended = f.ended || err != nil
	return !f.ended
}

// head is a header block.
func (f *flooder) head(fields ...hpack.HeaderField) []byte {
	f.block.Reset()
	for _, field := range append(pseudo("GET", "http", "/flood", "d"), fields...) {
		f.enc.WriteField(field)
	}
	return f.block.Bytes()
}

func (f *flooder) ask(id uint32, end bool, fields ...hpack.HeaderField) {
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.head(fields...), EndHeaders: true, EndStream: end})
}

// floods are attacks, each on one connection. They go on until the server has had enough, or for a while.
var floods = map[string]struct {
	unread bool // nothing that comes is read
	attack func(f *flooder)
}{
	"rapid reset": {attack: func(f *flooder) {
		for id := uint32(1); id < 20_000 && (id%200 != 1 || f.push()); id += 2 {
			f.ask(id, true)
			f.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}},
	"rapid reset, unread": {unread: true, attack: func(f *flooder) {
		for id := uint32(1); id < 20_000 && (id%200 != 1 || f.push()); id += 2 {
			f.ask(id, false)
			f.WriteRSTStream(id, http2.ErrCodeCancel)
		}
	}},
	"CONTINUATION without end": {attack: func(f *flooder) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head(), EndStream: true})
		var junk bytes.Buffer
		hpack.NewEncoder(&junk).WriteField(hpack.HeaderField{Name: "x-junk", Value: strings.Repeat("~", 8<<10), Sensitive: true})
		for f.sent < 64<<20 && f.push() {
			f.WriteContinuation(1, false, junk.Bytes())
		}
	}},
	"empty CONTINUATION": {attack: func(f *flooder) {
		f.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: f.head(), EndStream: true})
		for range 200 {
			for range 500 {
				f.WriteContinuation(1, false, nil)
			}
			if !f.push() {
				return
			}
		}
	}},
	"SETTINGS": {attack: func(f *flooder) {
		f.many(100_000, func(int) { f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1}) })
	}},
	"SETTINGS, unread": {unread: true, attack: func(f *flooder) { f.many(100_000, func(int) { f.WriteSettings() }) }},
	"PING":             {attack: func(f *flooder) { f.many(100_000, func(int) { f.WritePing(false, [8]byte{1}) }) }},
	"PING, unread":     {unread: true, attack: func(f *flooder) { f.many(1_000_000, func(int) { f.WritePing(false, [8]byte{1}) }) }},
	"SETTINGS and PING": {attack: func(f *flooder) {
		f.many(100_000, func(int) { f.WriteSettings(); f.WritePing(false, [8]byte{1}) })
	}},
	"header bomb": {attack: func(f *flooder) {
		bomb := hpack.HeaderField{Name: "x-bomb", Value: strings.Repeat("b", 3900)}
		f.ask(1, true, bomb)
		var fields []hpack.HeaderField
		for range 4000 { // 16 MB, in as many bytes as there are fields.
			fields = append(fields, bomb)
		}
		f.many(2000, func(k int) { f.ask(uint32(2*k+3), true, fields...) })
	}},
	"many small fields": {attack: func(f *flooder) {
		var fields []hpack.HeaderField
		for range 8000 {
			fields = append(fields, hpack.HeaderField{Name: "a", Value: "b"})
		}
		f.many(500, func(k int) { f.ask(uint32(2*k+1), true, fields...) })
	}},
	"no window": {attack: func(f *flooder) {
		f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		f.many(250, func(k int) { f.ask(uint32(2*k+1), true, hpack.HeaderField{Name: "big", Value: "1"}) })
		time.Sleep(200 * time.Millisecond)
	}},
	"window of the stream overflows": {attack: func(f *flooder) {
		f.many(1000, func(k int) {
			f.ask(uint32(2*k+1), false)
			f.WriteWindowUpdate(uint32(2*k+1), 1<<31-1)
		})
	}},
	"window of the connection overflows": {attack: func(f *flooder) { f.many(1000, func(int) { f.WriteWindowUpdate(0, 1<<31-1) }) }},
	"window by settings overflows": {attack: func(f *flooder) {
		f.ask(1, false)
		f.WriteWindowUpdate(1, 1<<30)
		f.many(1000, func(int) { f.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 1<<31 - 1}) })
	}},
	"window updates of nothing": {attack: func(f *flooder) {
		f.ask(1, false)
		f.many(5000, func(int) { f.WriteRawFrame(http2.FrameWindowUpdate, 0, 1, make([]byte, 4)) })
	}},
	"too many streams": {attack: func(f *flooder) { f.many(5000, func(k int) { f.ask(uint32(2*k+1), false) }) }},
	"DATA after the end": {attack: func(f *flooder) {
		f.ask(1, true)
		f.many(50_000, func(int) { f.WriteData(1, false, []byte("x")) })
	}},
	"DATA that is too much": {attack: func(f *flooder) {
		f.ask(1, false)
		f.many(5000, func(int) { f.WriteData(1, false, make([]byte, 16<<10)) })
	}},
	"DATA of nothing": {attack: func(f *flooder) {
		f.ask(1, false)
		f.many(100_000, func(int) { f.WriteData(1, false, nil) })
	}},
	"priorities and unknown frames": {attack: func(f *flooder) {
		f.many(50_000, func(k int) {
			f.WritePriority(uint32(2*k+1), http2.PriorityParam{StreamDep: uint32(2*k + 3)})
			f.WriteRawFrame(http2.FrameType(0xee), 0xff, uint32(k), []byte("unknown"))
		})
	}},
	"table sizes": {attack: func(f *flooder) {
		f.many(20_000, func(k int) {
			f.WriteSettings(http2.Setting{ID: http2.SettingHeaderTableSize, Val: uint32(k%2) * (1<<32 - 1)})
		})
		f.ask(1, true)
	}},
	"a frame that is too long": {attack: func(f *flooder) {
		f.out.Write(binary.BigEndian.AppendUint32(nil, 0xffffff00))
		f.many(100, func(int) { f.out.Write(make([]byte, 1<<16)) })
	}},
}

// many writes a frame many times.
func (f *flooder) many(times int, write func(k int)) {
	for k := range times {
		write(k)
		if f.out.Len() > 64<<10 && !f.push() {
			return
		}
	}
	f.push()
}

// bigOnes are answers to who asks for it.
func bigOnes() fault.Rule {
	r := answering(http.StatusOK)
	r.Respond.Fill, r.Match.Header = 1<<20, map[string]string{"big": "1"}
	return r
}

// Floods of HTTP/2 have no panic, no memory without bound and no other caller who is not served as a
// consequence; what they were is in the ledger, and nothing of them is left.
func TestFloodsOfHTTP2(t *testing.T) {
	late := slow(rule(fault.ActionPass), 30*time.Millisecond)
	late.Match.Path = "/flood"
	odd := rule(fault.ActionSettings)
	odd.Settings = &fault.H2Settings{AckDelay: time.Minute}
	configs := []struct {
		name  string
		rules []fault.Rule
	}{{"sound", []fault.Rule{bigOnes()}}, {"late", []fault.Rule{bigOnes(), late}}, {"acknowledges late", []fault.Rule{odd, bigOnes()}}}
	for n, attack := range slices.Sorted(maps.Keys(floods)) {
		for k, config := range configs {
			if k != n%len(configs) && os.Getenv("FAULTLINE_DEEP") != "1" {
				continue
			}
			t.Run(attack+", "+config.name, func(t *testing.T) {
				flooded(t, config.rules, floods[attack].unread, floods[attack].attack)
			})
		}
	}
}

func flooded(t *testing.T, rules []fault.Rule, unread bool, attack func(*flooder)) {
	var log lockedLog
	d := start(t, injector.Config{Logger: log.logger()}, rules...)
	c := client(t)
	get(c, d.URL())
	runtime.GC()
	routines := runtime.NumGoroutine()
	before := heap()
	stop := make(chan struct{})
	var watching sync.WaitGroup
	most, served := int64(0), 0
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			case <-time.After(5 * time.Millisecond):
			}
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most = max(most, int64(m.HeapInuse+m.StackInuse)-before)
			if status, _, err := get(c, d.URL()); status != 200 || err != nil {
				t.Errorf("another caller gets %d, %v", status, err)
			}
			served++
		}
	})
	f := flood(t, d.Addr(), !unread)
	attack(f)
	f.push()
	if served == 0 {
		time.Sleep(20 * time.Millisecond)
	}
	close(stop)
	watching.Wait()
	f.conn.Close()
	ledger := int64(d.rec.Recorded()) * 2000
	if most-ledger > 200<<20 {
		t.Errorf("%d bytes were in use", most)
	}
	if !unread {
		for range f.away { // Until it has read all.
		}
	}
	settle(t, routines)
	if log.has("panic") {
		t.Error(log.text())
	}
	requests := uint64(0)
	for _, a := range d.attempts(t) {
		if !a.Unread() {
			requests++
		}
		if a.Outcome == trace.OutcomeOpen {
			t.Errorf("without an end: %+v", a)
		}
	}
	if s := d.State(); s.Requests != requests || s.Active != 0 || s.Held != 0 {
		t.Errorf("the ledger has %d requests, the state is %+v", requests, s)
	}
	t.Logf("%d MB sent, %d MB in use at most, %d lines, another caller was served %d times", f.sent>>20, most>>20, d.rec.Recorded(), served)
}

// lockedLog is what an injector logs.
type lockedLog struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(p)
}

func (l *lockedLog) logger() *slog.Logger { return slog.New(slog.NewTextHandler(l, nil)) }

func (l *lockedLog) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *lockedLog) has(what string) bool { return strings.Contains(l.text(), what) }
