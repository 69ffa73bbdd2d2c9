package attack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/faultline-go/faultline/target/match"
)

// base is where calls are sent.
type base struct {
	name string // of the replica, or empty
	url  *url.URL
}

// bases reads the addresses of the SUT.
func (c Config) bases() ([]base, error) {
	if len(c.Replicas) == 0 {
		u, err := parseBase(c.BaseURL)
		return []base{{url: u}}, err
	}
	if c.BaseURL != "" {
		return nil, errors.New("attack: it has a base URL and replicas: choose one")
	}
	var out []base
	names := map[string]bool{}
	for _, r := range c.Replicas {
		u, err := parseBase(r.BaseURL)
		if err != nil {
			return nil, fmt.Errorf("replica %s: %w", r.Name, err)
		}
		if r.Name == "" || names[r.Name] {
			return nil, fmt.Errorf("attack: each replica needs a name of its own; %q is none", r.Name)
		}
		names[r.Name] = true
		out = append(out, base{r.Name, u})
	}
	return out, nil
}

// replica is the instance that a call goes to.
func (a *Attacker) replica(seq uint64) base { return a.bases[seq%uint64(len(a.bases))] }

// prepared is a target whose URL and templates were read, so that a call only
// fills them in.
type prepared struct {
	target   match.Target
	requests []*http.Request // of each base, without body and identity
	path     []match.Template
	rawPath  []match.Template
	query    match.Template
	headers  map[string]match.Template // those that hold a call's identity
	body     match.Template
}

// prepare returns the target, ready to be sent. What was prepared is kept by the
// target's name; another target of that name is prepared again each time.
func (a *Attacker) prepare(t match.Target) (*prepared, error) {
	kept, found := a.prepared.Load(t.Name)
	if p, ok := kept.(*prepared); ok && p.is(t) {
		return p, nil
	}
	p := &prepared{target: t, headers: map[string]match.Template{}}
	for _, b := range a.bases {
		if err := p.address(b.url); err != nil {
			return nil, err
		}
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	if !found {
		a.prepared.Store(t.Name, p)
	}
	return p, nil
}

// is reports whether t is the target that was prepared, as far as it is sent.
func (p *prepared) is(t match.Target) bool {
	return p.target.Method == t.Method && p.target.Path == t.Path && p.target.Body == t.Body && maps.Equal(p.target.Headers, t.Headers)
}

// address makes the request to one base.
func (p *prepared) address(base *url.URL) error {
	u, err := url.Parse(strings.TrimSuffix(base.String(), "/") + "/" + strings.TrimPrefix(p.target.Path, "/"))
	if err != nil {
		return fmt.Errorf("path: %w", err)
	}
	req, err := http.NewRequestWithContext(context.Background(), p.target.Method, u.String(), nil)
	if err != nil {
		return err
	}
	req.URL = u
	for k, v := range p.target.Headers {
		if !httpguts.ValidHeaderFieldName(k) || !httpguts.ValidHeaderFieldValue(v) {
			return fmt.Errorf("header %q: %q cannot be sent", k, v)
		}
		req.Header.Set(k, v)
		if strings.EqualFold(k, "Host") {
			req.Host = v
		}
	}
	if user := u.User; user != nil && req.Header.Get("Authorization") == "" {
		password, _ := user.Password()
		req.SetBasicAuth(user.Username(), password)
	}
	p.requests = append(p.requests, req)
	return nil
}

// read finds the templates of a target.
func (p *prepared) read() error {
	var errs []error
	template := func(where, text string) match.Template {
		t, err := match.ParseTemplate(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", where, err))
		}
		return t
	}
	// The whole is checked first: escaping could hide a part of it.
	template("path", p.target.Path)
	for _, req := range p.requests {
		path, _ := match.ParseTemplate(req.URL.Path) // The same mistakes again.
		raw, _ := match.ParseTemplate(req.URL.RawPath)
		p.path, p.rawPath = append(p.path, path), append(p.rawPath, raw)
		p.query, _ = match.ParseTemplate(req.URL.RawQuery)
	}
	for k, v := range p.target.Headers {
		if t := template("header "+k, v); t.Templated() {
			p.headers[k] = t
		}
	}
	p.body = template("body", p.target.Body)
	return errors.Join(errs...)
}

// request checks a target by building its request.
func (a *Attacker) request(ctx context.Context, t match.Target) (*http.Request, error) {
	return a.build(ctx, order{target: t})
}

// build makes the request of a call, but for the headers that carry its identity.
func (a *Attacker) build(ctx context.Context, o order) (*http.Request, error) {
	p, err := a.prepare(o.target)
	if err != nil {
		return nil, err
	}
	i := o.seq % uint64(len(a.bases))
	req := p.requests[i].Clone(ctx)
	id := ""
	if p.templated(i) {
		id = a.cfg.Correlator.TraceID(o.phase, o.seq)
		req.URL.Path, req.URL.RawPath = p.path[i].Expand(id), p.rawPath[i].Expand(id)
		req.URL.RawQuery = p.query.Expand(id)
	}
	for k, t := range p.headers {
		req.Header.Set(k, t.Expand(id))
		if strings.EqualFold(k, "Host") {
			req.Host = t.Expand(id)
		}
	}
	setBody(req, p.body.Expand(id))
	return req, nil
}

// templated reports whether a call's identity stands anywhere in its request to
// base i.
func (p *prepared) templated(i uint64) bool {
	return p.path[i].Templated() || p.query.Templated() || len(p.headers) > 0 || p.body.Templated()
}
