package injector

import (
	"net/http"
	"net/url"
	"time"
)

// roads are the ways to an upstream. A caller of HTTP/1.1 is passed on in HTTP/1.1, so that an
// answer is what it would have been without the injector.
type roads struct {
	plain *http.Transport // for callers of HTTP/1.1
	multi *http.Transport // for callers of HTTP/2
}

// RoundTrip implements http.RoundTripper. The version is that of the caller's request, which
// httputil.ReverseProxy copies.
func (r roads) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.ProtoMajor > 1 {
		return r.multi.RoundTrip(req)
	}
	return r.plain.RoundTrip(req)
}

func (r roads) closeIdle() {
	r.plain.CloseIdleConnections()
	r.multi.CloseIdleConnections()
}

// roadsTo are those to the upstream at u. With h2c, all speak HTTP/2 with prior knowledge; with https, those
// for HTTP/2 do if the upstream chooses it (ALPN); else none does.
func (i *Injector) roadsTo(u *url.URL) roads {
	transport := func(protocols *http.Protocols) *http.Transport {
		return &http.Transport{
			// No Proxy: what the environment names is not between SUT and
			// dependency, so it must not be between injector and dependency.
			DialContext:        i.cfg.DialUpstream,
			Protocols:          protocols,
			DisableCompression: true, // bodies pass as they are
			// Many, so that load does not use up the machine's ports; briefly, as a
			// server that closes an idle connection just then would look broken.
			MaxIdleConnsPerHost: 1024,
			IdleConnTimeout:     time.Second,
		}
	}
	protocols := new(http.Protocols)
	if u.Scheme == "h2c" {
		protocols.SetUnencryptedHTTP2(true)
		one := transport(protocols)
		return roads{one, one}
	}
	protocols.SetHTTP1(true)
	r := roads{plain: transport(protocols)}
	r.multi = r.plain
	if u.Scheme == "https" {
		both := *protocols
		both.SetHTTP2(true)
		r.multi = transport(&both)
	}
	return r
}
