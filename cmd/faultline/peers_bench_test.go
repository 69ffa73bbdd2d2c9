//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

// A peer is a dependency in a process of its own that the benchmarks ask.
type peer struct {
	name string
	addr string
}

// bareBody is what all peers answer.
const bareBody = `{"state":"PAID"}`

// bare is a net/http handler and nothing else: bare LISTEN [SLEEP]. With SLEEP it sleeps so
// long before it answers.
func bare() {
	var sleep time.Duration
	if len(os.Args) > 2 {
		sleep, _ = time.ParseDuration(os.Args[2]) // Who calls it is below.
	}
	server := http.Server{Addr: os.Args[1], ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(sleep)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, bareBody) // To a caller that left.
	})}
	fmt.Fprintln(os.Stderr, server.ListenAndServe())
	os.Exit(1)
}

// BenchmarkPeersThroughput compares how many requests a second are answered, all by turns in
// every round: a bare net/http handler, the injector with a ledger and faults (503) for 30 %
// of them, and with FAULTLINE_ZOO=1 Toxiproxy without a toxic in front of the bare handler,
// and WireMock with the same fault for 3 of 10 in turn. Who asks is vegeta, from which faultline's
// own load comes, or raw sockets, which cost little beside the servers and show their differences most.
// All keep their connections.
//
//	FAULTLINE_ZOO=1 go test -run='^$' -bench=PeersThroughput -benchtime=20x ./cmd/faultline
func BenchmarkPeersThroughput(b *testing.B) {
	plain := process(b, "bare", []string{"bare"}, nil)
	peers := []peer{plain, process(b, "faultline", []string{"faultline", "inject", "--body", bareBody, "--respond", "503", "--ratio", "30%", "--listen"}, nil)}
	peers = append(peers, otherPeers(b, plain, 0)...)
	for name, ask := range map[string]func(*testing.B, peer, int, time.Duration) float64{"vegeta": byVegeta, "sockets": throughput} {
		b.Run(name, func(b *testing.B) { benchmarkThroughput(b, peers, ask) })
	}
}

func benchmarkThroughput(b *testing.B, peers []peer, ask func(*testing.B, peer, int, time.Duration) float64) {
	b.Helper()
	rates := make([][]float64, len(peers))
	for round := 0; b.Loop(); round++ {
		for k := range peers {
			i := (k + round) % len(peers)
			rates[i] = append(rates[i], ask(b, peers[i], 16, 300*time.Millisecond))
		}
	}
	for i, p := range peers {
		ratios := make([]float64, len(rates[i]))
		for n := range ratios {
			ratios[n] = rates[i][n] / rates[0][n]
		}
		b.ReportMetric(middleOf(rates[i]), p.name+"-req/s")
		if i > 0 {
			b.ReportMetric(middleOf(ratios), p.name+"-to-bare")
		}
	}
	b.ReportMetric(0, "ns/op") // An iteration is a round.
}

// byVegeta asks as fast as vegeta does.
func byVegeta(b *testing.B, p peer, conns int, d time.Duration) float64 {
	b.Helper()
	n := 0
	targets := func(t *vegeta.Target) error {
		t.Method, t.URL = http.MethodGet, "http://"+p.addr+"/ok"
		return nil
	}
	workers := uint64(conns)
	attacker := vegeta.NewAttacker(vegeta.Workers(workers), vegeta.MaxWorkers(workers), vegeta.Connections(conns))
	began := time.Now()
	for r := range attacker.Attack(targets, vegeta.Rate{}, d, p.name) {
		if r.Error != "" && r.Code != http.StatusServiceUnavailable {
			b.Fatalf("%s: %s", p.name, r.Error)
		}
		n++
	}
	return float64(n) / time.Since(began).Seconds()
}

// throughput asks from so many connections at once for so long.
func throughput(b *testing.B, p peer, conns int, d time.Duration) float64 {
	b.Helper()
	counts, errs := make([]int, conns), make([]error, conns)
	var all sync.WaitGroup
	began := time.Now()
	for n := range conns {
		all.Go(func() {
			c, err := dialRaw(p.addr)
			if err != nil {
				errs[n] = err
				return
			}
			defer c.close()
			c.fails = true
			for time.Since(began) < d {
				if errs[n] = c.ask(); errs[n] != nil {
					return
				}
				counts[n]++
			}
		})
	}
	all.Wait()
	took := time.Since(began)
	if err := errors.Join(errs...); err != nil {
		b.Fatalf("%s: %v", p.name, err)
	}
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return float64(sum) / took.Seconds()
}

// BenchmarkPeersDelay compares how exact a delay of 10 ms is at 2,000 requests a second: that of the
// injector, of a bare handler with time.Sleep, and with FAULTLINE_ZOO=1 of Toxiproxy's latency toxic
// and of WireMock's fixed delay. The error is what a client sees beyond the 10 ms, its own way
// included; bare without a delay shows how much that is.
//
//	FAULTLINE_ZOO=1 go test -run='^$' -bench=PeersDelay -benchtime=10x ./cmd/faultline
func BenchmarkPeersDelay(b *testing.B) {
	const delay = 10 * time.Millisecond
	plain := process(b, "bare", []string{"bare"}, nil)
	peers := []peer{
		plain, process(b, "sleep", []string{"bare"}, []string{delay.String()}),
		process(b, "faultline", []string{"faultline", "inject", "--body", bareBody, "--latency", "10ms", "--listen"}, nil),
	}
	peers = append(peers, otherPeers(b, plain, delay)...)
	seen := make([][]time.Duration, len(peers))
	for round := 0; b.Loop(); round++ {
		for k := range peers {
			i := (k + round) % len(peers)
			seen[i] = append(seen[i], paced(b, peers[i], 2000, time.Second)...)
		}
	}
	for i, p := range peers {
		due := delay
		if i == 0 {
			due = 0
		}
		slices.Sort(seen[i])
		early, _ := slices.BinarySearch(seen[i], due)
		at := func(q float64) float64 { return (seen[i][int(q*float64(len(seen[i])-1))] - due).Seconds() * 1000 }
		b.ReportMetric(float64(early), p.name+"-early")
		b.ReportMetric(at(0.5), p.name+"-p50-ms")
		b.ReportMetric(at(0.99), p.name+"-p99-ms")
	}
	b.ReportMetric(0, "ns/op") // An iteration is a round.
}

// paced asks so many times a second for so long, each at its time, and returns how long each
// answer took.
func paced(b *testing.B, p peer, rate int, d time.Duration) []time.Duration {
	b.Helper()
	const conns = 100 // Five times as many as are busy at a time.
	n := int(d.Seconds() * float64(rate))
	took, errs := make([]time.Duration, n), make([]error, conns)
	began := time.Now()
	var all sync.WaitGroup
	for k := range conns {
		all.Go(func() {
			c, err := dialRaw(p.addr)
			if err != nil {
				errs[k] = err
				return
			}
			defer c.close()
			for i := k; i < n; i += conns {
				time.Sleep(time.Until(began.Add(time.Duration(i) * time.Second / time.Duration(rate))))
				sent := time.Now()
				if errs[k] = c.ask(); errs[k] != nil {
					return
				}
				took[i] = time.Since(sent)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		b.Fatalf("%s: %v", p.name, err)
	}
	return took
}

// rawClient keeps one connection.
type rawClient struct {
	net.Conn
	in *bufio.Reader

	fails bool // three of ten ask for a failure
	n     int  // requests so far
}

func dialRaw(addr string) (*rawClient, error) {
	c, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &rawClient{Conn: c, in: bufio.NewReader(c)}, nil
}

func (c *rawClient) close() { _ = c.Close() }

// ask sends a request and reads its answer, which must have a Content-Length.
func (c *rawClient) ask() error {
	path := "/ok"
	if c.fails && c.n%10%3 == 2 { // The 3rd, 6th and 9th of ten.
		path = "/fails"
	}
	c.n++
	if _, err := io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: dependency\r\n\r\n"); err != nil {
		return err
	}
	length := -1
	for first := true; ; first = false {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		if first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200")) && !bytes.HasPrefix(line, []byte("HTTP/1.1 503")) {
			return fmt.Errorf("answered %q", line)
		}
		if len(line) == 0 {
			break
		}
		if value, ok := cutField(line, "content-length:"); ok {
			if length, err = strconv.Atoi(value); err != nil {
				return err
			}
		}
	}
	if length < 0 {
		return errors.New("an answer without Content-Length")
	}
	_, err := c.in.Discard(length)
	return err
}

// cutField is the value of a field with this name.
func cutField(line []byte, name string) (string, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return "", false
	}
	return string(bytes.TrimSpace(line[len(name):])), true
}

// process starts a peer whose command takes its address after these words, and waits for it
// to listen.
func process(b *testing.B, name string, before, after []string) peer {
	b.Helper()
	addr := vacant(b)
	args := slices.Concat(before[1:], []string{addr}, after)
	launchPeer(b, exec.CommandContext(b.Context(), before[0], args...))
	awaitPeer(b, addr)
	return peer{name: name, addr: addr}
}

// launchPeer starts a command that ends with the benchmark.
func launchPeer(b *testing.B, cmd *exec.Cmd) {
	b.Helper()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = cmd.Wait() }) // It was killed by the context.
}

// awaitPeer waits until somebody listens.
func awaitPeer(b *testing.B, addr string) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		c, err := dialRaw(addr)
		if err == nil {
			c.close()
			return
		}
		if time.Now().After(deadline) {
			b.Fatalf("nobody listens at %s: %v", addr, err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func middleOf(xs []float64) float64 {
	sorted := slices.Sorted(slices.Values(xs))
	return sorted[len(sorted)/2]
}

// otherPeers are Toxiproxy in front of a bare handler and WireMock: with a delay, of every answer;
// without, WireMock answers 503 to the three of ten that ask for it, as it knows no ratio (ten states
// of a scenario came out of step under load).
func otherPeers(b *testing.B, plain peer, delay time.Duration) []peer {
	b.Helper()
	if os.Getenv("FAULTLINE_ZOO") != "1" {
		return nil
	}
	folder, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", "peers"))
	if err != nil {
		b.Fatal(err)
	}
	for _, words := range [][]string{
		{"go", "build", "-o", "target/toxiproxy", "github.com/Shopify/toxiproxy/v2/cmd/server"},
		{"mvn", "-q", "-B", "dependency:copy-dependencies", "-DoutputDirectory=target"},
	} {
		cmd := exec.CommandContext(b.Context(), words[0], words[1:]...)
		cmd.Dir = folder
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%s: %v\n%s", words[0], err, out)
		}
	}
	return []peer{toxiproxy(b, folder, plain, delay), wiremock(b, folder, delay)}
}

// toxiproxy starts one with a proxy, and a toxic if there is a delay.
func toxiproxy(b *testing.B, folder string, plain peer, delay time.Duration) peer {
	b.Helper()
	api, addr := vacant(b), vacant(b)
	host, port, _ := net.SplitHostPort(api) // vacant made it.
	launchPeer(b, exec.CommandContext(b.Context(), filepath.Join(folder, "target", "toxiproxy"), "-host", host, "-port", port))
	awaitPeer(b, api)
	tell(b, "http://"+api+"/proxies", fmt.Sprintf(`{"name": "dep", "listen": %q, "upstream": %q, "enabled": true}`, addr, plain.addr))
	if delay > 0 {
		tell(b, "http://"+api+"/proxies/dep/toxics", fmt.Sprintf(`{"type": "latency", "attributes": {"latency": %d}}`, delay.Milliseconds()))
	}
	return peer{name: "toxiproxy", addr: addr}
}

// wiremock starts one, with lengths instead of chunks and without its journal, and has it warm up.
func wiremock(b *testing.B, folder string, delay time.Duration) peer {
	b.Helper()
	jars, err := filepath.Glob(filepath.Join(folder, "target", "wiremock-standalone-*.jar"))
	if err != nil || len(jars) == 0 {
		b.Fatalf("no WireMock in %s: %v", folder, err)
	}
	addr := vacant(b)
	host, port, _ := net.SplitHostPort(addr) // vacant made it.
	launchPeer(b, exec.CommandContext(b.Context(), "java", "-jar", jars[0], "--bind-address", host, "--port", port,
		"--use-chunked-encoding", "never", "--no-request-journal", "--disable-banner", "--container-threads", "150"))
	awaitPeer(b, addr)
	stub := func(path, answer string) {
		tell(b, "http://"+addr+"/__admin/mappings", fmt.Sprintf(`{"request": {"method": "GET", "urlPath": %q}, `, path)+
			`"response": {`+answer+fmt.Sprintf(`"jsonBody": %s, "headers": {"Content-Type": "application/json"}}}`, bareBody))
	}
	if delay > 0 {
		stub("/ok", fmt.Sprintf(`"fixedDelayMilliseconds": %d, "status": 200, `, delay.Milliseconds()))
	}
	if delay == 0 {
		stub("/ok", `"status": 200, `)
		stub("/fails", `"status": 503, `)
	}
	p := peer{name: "wiremock", addr: addr}
	if delay == 0 {
		throughput(b, p, 16, 5*time.Second) // Until its code is compiled.
	} else {
		paced(b, p, 2000, 5*time.Second)
	}
	return p
}

// tell posts JSON to a peer's own API.
func tell(b *testing.B, url, body string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := new(http.Client).Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode/100 != 2 {
		b.Fatalf("%s: %d %s %v", url, answer.StatusCode, said, err)
	}
}
