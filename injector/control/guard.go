package control

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// isLoopback reports whether a host, without a port, is this machine to itself.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// whereIs says what is wrong with where a listener listens that was to be on loopback: what localhost is,
// this machine's files say.
func whereIs(asked string, ln net.Listener) error {
	host, _, _ := net.SplitHostPort(asked) // It was checked.
	at, ok := ln.Addr().(*net.TCPAddr)
	if !ok || !isLoopback(host) || at.IP.IsLoopback() {
		return nil
	}
	return fmt.Errorf("address %s: %s is %v here, which is not on loopback; write 127.0.0.1", asked, host, at.IP)
}

// guard refuses who must not be served.
func (s *Server) guard(r *http.Request) *problem {
	host := hostOf(r.Host)
	if !isLoopback(host) && !slices.ContainsFunc(s.cfg.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		// A name that a stranger made point here, or a request that was meant for someone else.
		return refuse(http.StatusForbidden, "foreign_host", fmt.Sprintf("the API is not called %q; call it by its address, or allow that name", r.Host))
	}
	if origin := r.Header.Values("Origin"); len(origin) > 1 || len(origin) == 1 && !sameOrigin(origin[0], r.Host) {
		return refuse(http.StatusForbidden, "foreign_origin", "the request comes from another site's page")
	}
	if slices.ContainsFunc(r.Header.Values("Sec-Fetch-Site"), func(site string) bool { return site != "same-origin" && site != "none" }) {
		return refuse(http.StatusForbidden, "foreign_origin", "the request comes from another site's page")
	}
	if s.cfg.Token != "" && !s.bears(r) {
		return refuse(http.StatusUnauthorized, "unauthorized", "send the token, as in: Authorization: Bearer TOKEN")
	}
	return nil
}

// hostOf is a Host header without its port.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		return h
	}
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// sameOrigin reports whether a page of this origin came from the host that it calls.
func sameOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && u.Scheme == "http" && strings.EqualFold(u.Host, host)
}

// bears reports whether the request has the token. Neither its length nor its beginning
// can be found out by how long that takes.
func (s *Server) bears(r *http.Request) bool {
	said := r.Header.Values("Authorization")
	if len(said) != 1 { // Of two, something in between may have looked at the other.
		return false
	}
	scheme, token, _ := strings.Cut(said[0], " ")
	given, want := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(s.cfg.Token))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(given[:], want[:]) == 1
}

// isJSON reports whether a request says that its body is JSON.
func isJSON(r *http.Request) bool {
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	charset, ok := params["charset"]
	return err == nil && kind == "application/json" && (!ok || strings.EqualFold(charset, "utf-8"))
}
