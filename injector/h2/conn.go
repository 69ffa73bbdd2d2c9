package h2

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Settings are what the server announces and how it keeps to the protocol. The zero value
// is a sound server.
type Settings struct {
	MaxStreams    uint32 // SETTINGS_MAX_CONCURRENT_STREAMS; 0: 250. More are refused by REFUSED_STREAM
	InitialWindow uint32 // SETTINGS_INITIAL_WINDOW_SIZE in bytes, at most 2^31-1; 0: 256 KiB
	// NoUpdates sends no WINDOW_UPDATE: a client may send 65535 bytes on the connection
	// and InitialWindow on a stream, and then waits, until Conn.Release.
	NoUpdates bool
	// AckDelay is how long the client's SETTINGS are not acknowledged. They are in force
	// at once.
	AckDelay time.Duration
}

// Options say how a connection is served.
type Options struct {
	Handler  http.Handler
	Settings Settings
	Logger   *slog.Logger // of handlers that panic; nil: silent
	// Reader is where the client's bytes are read from, preface and all, if some of them
	// were read from the connection before; nil: the connection.
	Reader io.Reader
	// Reset prepares the connection so that its next Close is a RST; nil, or an error:
	// the network has none, and Stream.Abort closes it.
	Reset func() error
	// CloseWrite sends FIN and leaves the connection to be read from; nil: the network
	// cannot, and it is closed at once.
	CloseWrite func() error
	// Unread is told of what came and became no request; nil: nobody is.
	Unread func(Unread)
}

// Unread is what a client sent that no handler was asked about.
type Unread struct {
	Since  time.Time
	Status int    // the answer, 431; 0: none
	Reset  bool   // its stream was reset; else, without an answer, the connection was closed
	Left   bool   // the client left in the middle of it
	Why    string // what came
}

// The limits of a sound server.
const (
	maxStreams    = 250
	initialWindow = 256 << 10
	connWindow    = 1 << 20
	maxHeaderList = 1 << 20
	maxFrame      = 16 << 10
	specWindow    = 65535 // what both sides begin with (RFC 9113, section 6.9.2)
	maxWindow     = 1<<31 - 1
	maxControl    = 1000     // frames that a client may make the server queue in answer to its own
	maxAhead      = 64 << 10 // bytes of answers that may wait to be sent before their writers wait
	linger        = time.Second
)

// Why a request's context ended, as context.Cause tells.
var (
	ErrClientReset = errors.New("the client reset the stream")
	ErrClientLeft  = errors.New("the client left the connection")
	ErrBroken      = errors.New("the client broke the protocol")
	ErrClosed      = errors.New("another stream's handler closed the connection")
	ErrAborted     = errors.New("another stream's handler reset the connection")
	ErrGone        = errors.New("the connection was told to go, and is idle")
	ErrShut        = errors.New("the server ends")
)

// Conn is one connection. It is made by [New] and served once.
type Conn struct {
	nc      net.Conn
	in      *source
	o       Options
	handler sync.WaitGroup

	mu       sync.Mutex
	streams  map[uint32]*stream
	serving  map[*stream]bool // whose handlers run: also streams that are through, but maybe not on the connection yet
	last     uint32           // the highest stream that the client began
	promised uint32           // the highest that is served after a GOAWAY
	going    bool             // a GOAWAY was sent
	ended    error            // why nothing more is served; nil: it is
	forgiven map[uint32]bool  // streams that the server reset: what comes on them was on its way
	forget   []uint32         // the order of forgiven

	acked    bool  // the client knows the server's settings
	recv     int64 // what the client may send on the connection
	owed     int64 // what it is to be told of
	released bool  // nothing is held back any more
	unacked  int   // SETTINGS of the client that are to be acknowledged late
	late     []*time.Timer

	window      int64 // what the server may send on the connection
	peerInitial int64
	peerFrame   int
	out         outbox
	framer      *http2.Framer // writes into out
	enc         *hpack.Encoder
	block       bytes.Buffer // what enc writes into
}

// New returns a connection that is to be served.
func New(nc net.Conn, o Options) *Conn {
	if o.Settings.MaxStreams == 0 {
		o.Settings.MaxStreams = maxStreams
	}
	if o.Settings.InitialWindow == 0 {
		o.Settings.InitialWindow = initialWindow
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Reader == nil {
		o.Reader = nc
	}
	in := &source{Reader: o.Reader}
	c := &Conn{
		nc: nc, in: in, o: o, streams: map[uint32]*stream{}, serving: map[*stream]bool{}, forgiven: map[uint32]bool{},
		recv: specWindow, window: specWindow, peerInitial: specWindow, peerFrame: maxFrame,
		released: !o.Settings.NoUpdates && o.Settings.AckDelay == 0,
		out:      newOutbox(),
	}
	c.framer = http2.NewFramer(&c.out.buf, nil)
	c.framer.AllowIllegalWrites = true // Faults are.
	c.enc = hpack.NewEncoder(&c.block)
	return c
}

// Serve serves the connection until it is over, and closes it. When ctx ends, the client is told so by
// GOAWAY and the connection is closed.
func (c *Conn) Serve(ctx context.Context) {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(ctx, c.shut)
	written := make(chan struct{})
	go func() {
		defer close(written)
		c.write()
	}()
	c.greet()
	c.read(ctx)
	// The client is gone, or nothing more is wanted from it.
	c.mu.Lock()
	c.endLocked(ErrClientLeft)
	for _, t := range c.late {
		t.Stop()
	}
	c.mu.Unlock()
	// Nobody may be there to take the rest.
	_ = c.nc.SetWriteDeadline(time.Now().Add(linger / 10))
	<-written
	_ = c.nc.Close() // It may be closed already.
	stop()
	cancel(ErrClientLeft)
	c.handler.Wait()
}

// Shutdown tells the client by GOAWAY to begin no stream any more; the connection is
// closed when its streams are through.
func (c *Conn) Shutdown() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shutdownLocked()
}

func (c *Conn) shutdownLocked() {
	if c.going || c.ended != nil {
		return
	}
	c.goAwayLocked(http2.ErrCodeNo, c.last, "")
	c.idleLocked()
}

// Release gives what the settings hold back: windows and acknowledgements.
func (c *Conn) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.released {
		return
	}
	c.released = true
	for ; c.unacked > 0; c.unacked-- {
		_ = c.framer.WriteSettingsAck() // Into memory.
	}
	c.giveLocked(0)
	for _, s := range c.streams {
		s.giveLocked(0)
	}
	c.out.wakeLocked()
}

// shut ends the connection with the server.
func (c *Conn) shut() {
	c.mu.Lock()
	if !c.going && c.ended == nil {
		c.goAwayLocked(http2.ErrCodeNo, c.last, "")
	}
	c.endLocked(ErrShut)
	c.mu.Unlock()
	// A client who does not read keeps nobody waiting.
	_ = c.nc.SetDeadline(time.Now().Add(linger / 10))
}

// endLocked serves nothing more: streams end for this reason, and the connection is closed when what was
// written before is through.
func (c *Conn) endLocked(why error) {
	if c.ended != nil {
		return
	}
	c.ended = why
	for _, s := range c.streams {
		s.endLocked(why)
	}
	for s := range c.serving {
		s.cancel(why)
	}
	c.out.finishLocked()
}

// idleLocked ends a connection that was told to go when it has no more streams.
func (c *Conn) idleLocked() {
	if c.going && len(c.streams) == 0 {
		c.endLocked(ErrGone)
	}
}

// fail ends the connection as RFC 9113, section 5.4.1, says.
func (c *Conn) fail(code http2.ErrCode, why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended != nil {
		return
	}
	c.goAwayLocked(code, c.last, why)
	c.endLocked(ErrBroken)
	_ = c.nc.SetWriteDeadline(time.Now().Add(linger)) // It may be a client who does not read.
}

// goAwayLocked writes a GOAWAY.
func (c *Conn) goAwayLocked(code http2.ErrCode, last uint32, debug string) {
	if c.ended != nil {
		return
	}
	if !c.going || last < c.promised {
		c.promised = last
	}
	c.going = true
	_ = c.framer.WriteGoAway(last, code, []byte(debug)) // Into memory.
	c.out.wakeLocked()
}
