package h2_test

import (
	"slices"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/faultline-go/faultline/injector/h2"
)

// Settings that wait to be acknowledged are not kept without bound, also while the server answers other
// frames in between, which it is counted by.
func TestSettingsThatWaitAreBounded(t *testing.T) {
	o := handled(hello)
	o.Settings = h2.Settings{AckDelay: time.Hour}
	between(t, o, func(t *testing.T, p *peer) {
		p.hello()
		for range 3 {
			for range 400 {
				p.WriteSettings(http2.Setting{ID: http2.SettingEnablePush, Val: 0})
			}
			p.WritePing(false, [8]byte{})
			p.settle()
		}
		if seen := p.seen(); !slices.Contains(seen, "GOAWAY 0 ENHANCE_YOUR_CALM") || len(seen) > 4 {
			t.Errorf("saw %q", seen)
		}
	})
}

// As many as there may be are acknowledged when their time has come, and then there may be as many again.
func TestSettingsAreAcknowledgedLate(t *testing.T) {
	o := handled(hello)
	o.Settings = h2.Settings{AckDelay: time.Minute}
	between(t, o, func(_ *testing.T, p *peer) {
		p.hello()
		for range 4 {
			for range 900 {
				p.WriteSettings()
			}
			p.settle()
			time.Sleep(time.Minute)
			p.WritePing(false, [8]byte([]byte("is there")))
			p.want("PING true is there")
		}
	})
}
