package h2_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/faultline-go/faultline/injector/h2"
)

// A client that was told to begin no stream may already have begun some, and taken them back: no
// stream that is served goes down with that.
func TestWhatWasOnItsWayAtAGOAWAY(t *testing.T) {
	between(t, streamed(func(s h2.Stream, _ *http.Request) {
		s.GoAway(http2.ErrCodeNo, s.ID(), "")
		time.Sleep(time.Second) // Of virtual time.
	}), func(_ *testing.T, p *peer) {
		p.hello()
		p.ask(1, "GET", true)
		p.want("GOAWAY 1 NO_ERROR")
		p.ask(3, "POST", false)
		p.WriteData(3, false, []byte("hello"))
		p.WriteWindowUpdate(3, 1)
		p.WriteRSTStream(3, http2.ErrCodeCancel)
		p.settle()
		time.Sleep(2 * time.Second)
		p.want("HEADERS 1 :status=200", "DATA 1  END", "FIN")
	})
}

// A connection ends once: who would end it in another way is told of the end that there is.
func TestAConnectionEndsOnce(t *testing.T) {
	for name, c := range map[string]struct {
		first, second func(s h2.Stream) error
		want          error
		end           string
	}{
		"FIN, then RST": {h2.Stream.Close, h2.Stream.Abort, h2.ErrClosed, "FIN"},
		"RST, then FIN": {h2.Stream.Abort, h2.Stream.Close, h2.ErrAborted, "RST"},
	} {
		t.Run(name, func(t *testing.T) {
			var got error
			between(t, streamed(func(s h2.Stream, r *http.Request) {
				if s.ID() == 1 {
					<-r.Context().Done()
					got = c.second(s)
					return
				}
				if err := c.first(s); err != nil {
					t.Error(err)
				}
			}), func(_ *testing.T, p *peer) {
				p.hello()
				p.ask(1, "GET", true)
				p.ask(3, "GET", true)
				p.want(c.end)
			})
			if !errors.Is(got, c.want) {
				t.Errorf("the second end says %v, want %v", got, c.want)
			}
		})
	}
}
