package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector/fault"
)

// What cannot be injected is refused, all of it at once, with what to do.
func TestInjectUsage(t *testing.T) {
	const quick = "../../experiments/quickstart.yaml"
	see := "\nSee faultline inject --help\n"
	for _, tt := range []struct{ args, say string }{
		{"a.yaml b.yaml", "inject plays one experiment at a time, as in: faultline inject --phase outage experiments/quickstart.yaml\n"},
		{"--respond 99", `invalid argument "99" for "--respond" flag: write a status from 200 to 599, as 503` + see},
		{"--status ok", `invalid argument "ok" for "--status" flag: write a status from 200 to 599, as 503` + see},
		{"--first 0", `invalid argument "0" for "--first" flag: write a whole number from 1 on, as 10` + see},
		{"--first ten", `invalid argument "ten" for "--first" flag: write a whole number from 1 on, as 10` + see},
		{"--ratio 0.4", `invalid argument "0.4" for "--ratio" flag: 0.4 has no unit; a share is written in percent: 40%, if a part of 1 was meant, or else 0.4%` + see},
		{"--ratio 0%", `invalid argument "0%" for "--ratio" flag: 0% hits nothing, so this fault would never be seen; write more, as 40%` + see},
		{"--latency 2", `invalid argument "2" for "--latency" flag: 2 has no unit; write 2s, 2ms or 2m; write a duration, as 200ms, or the least and the most, as 100ms-2s` + see},
		{"--latency 2s-1s", `invalid argument "2s-1s" for "--latency" flag: 2s is more than 1s; write the least first, as 100ms-2s` + see},
		{"--latency 0s", `invalid argument "0s" for "--latency" flag: a latency is longer than nothing, as 200ms` + see},
		{"--listen here", "--listen here: write host:port, as 127.0.0.1:9901\n"},
		{"--listen :9901", "--listen :9901: inject listens on loopback only, as 127.0.0.1:9901\n"},
		{"--upstream 127.0.0.1:1", "--upstream 127.0.0.1:1: write the dependency's URL, as http://127.0.0.1:9902, or h2c://127.0.0.1:9902 for gRPC without TLS\n"},
		{"--upstream h2c://127.0.0.1", "--upstream h2c://127.0.0.1: it has no port; write it as h2c://127.0.0.1:50051\n"},
		{"--upstream http://127.0.0.1:1 --body x", "--body does not go with --upstream, which answers what no fault hits; leave out one of them\n"},
		{"--respond 503 --reset", "--respond and --reset: a request can suffer one of these; leave out the others\n"},
		{"--refuse --first 3", "--first is of requests, and --refuse is for all that connect; leave out one of them\n"},
		{"--stealth", "--stealth goes with --reset or --close, the faults of a connection\n"},
		{"--malformed chunk --hang", "--malformed is how an answer is sent, and --hang gives none; leave out one of them\n"},
		{"--malformed chnk", "did you mean chunk?"},
		{"--deaf --refuse", "--refuse and --deaf: a request can suffer one of these; leave out the others\n"},
		{"--hang --latency 1s", "--latency cannot be seen before --hang; leave out one of them\n"},
		{"--reset --ratio 40% --first 3", "--ratio and --first: a fault hits a share of the requests or the first of them; leave out one of them\n"},
		{"--ratio 40%", "--ratio says whom a fault hits, and there is none; add --respond, --reset, --close, --hang, --malformed or --latency\n"},
		{"--reset=false --path /x", "--path says whom a fault hits, and there is none; add --respond, --reset, --close, --hang, --malformed or --latency\n"},
		{"--reset --path charges", "--path charges: a path begins with /, and a * may stand at its end only, as '/charges*'\n"},
		{"--reset --path /a*b", "--path /a*b: a path begins with /, and a * may stand at its end only, as '/charges*'\n"},
		{"--reset --method P0ST", "--method P0ST: write a method, as POST\n"},
		{"--phase outage", "--phase is a phase of an experiment; name its file, as in: faultline inject --phase outage experiments/quickstart.yaml\n"},
		{"--phase outrage " + quick, "--phase outrage: " + quick + " has no such phase; did you mean outage?\n"},
		{"--phase xyzzy " + quick, "has no such phase; there are baseline, warm-trip, warm-rest, warm-close, trip, outage, probes, recovery\n"},
		{"--play soon", `invalid argument "soon" for "--play" flag: allowed are now and first` + see},
		{"--then stop", `invalid argument "stop" for "--then" flag: allowed are end, stay and loop`},
		{"--play first", "--play is about the phases of an experiment; name its file, as in: faultline inject --play first --then loop experiments/quickstart.yaml\n"},
		{"--then loop", "--then is about the phases of an experiment"},
		{"--phase outage --then stay " + quick, "--then says what comes after the last phase, and one that --phase names lasts until Ctrl-C; leave out one of them\n"},
		{"--reset " + quick, "--reset does not go with an experiment, which says all of this itself; leave out one of them\n"},
		{"../../experiments/quikstart.yaml", "../../experiments/quikstart.yaml: no such file; did you mean ../../experiments/quickstart.yaml?\n"},
		{"--trace testdata", "--trace testdata: is a folder; name a file"},
		{"--listen x --upstream y --reset --hang --path z", "--upstream y: write the dependency's URL, as http://127.0.0.1:9902, or h2c://127.0.0.1:9902 for gRPC without TLS\n--reset and --hang: "},
	} {
		code, stdout, stderr := call(append([]string{"inject"}, strings.Fields(tt.args)...)...)
		if code != 2 || stdout != "" || !strings.Contains(stderr, tt.say) {
			t.Errorf("%s: exit code %d, %q is missing in:\n%s%s", tt.args, code, tt.say, stderr, stdout)
		}
	}
}

// Every flag ends in the rule that is played.
func TestInjectRule(t *testing.T) {
	for _, tt := range []struct {
		args string
		want *fault.Rule
		say  string
	}{
		{"", nil, ": none, the dependency is healthy"},
		{"--respond 503", &fault.Rule{Action: "respond", Respond: fault.Respond{Status: 503}, Select: fault.Select{Kind: "all"}}, ": respond 503 to all requests"},
		{"--reset --ratio 12.5%", &fault.Rule{Action: "reset", Select: fault.Select{Kind: "ratio", Num: 1, Den: 8}}, ": reset to 12.5% of requests"},
		{"--close --first 3", &fault.Rule{Action: "close", Select: fault.Select{Kind: "first", First: 3}}, ": close to the first 3 requests"},
		{"--hang --method post --path /a*", &fault.Rule{Action: "hang", Match: fault.Match{Method: "POST", Path: "/a*"}, Select: fault.Select{Kind: "all"}}, ": hang to all POST requests of /a*"},
		{"--refuse", &fault.Rule{Action: "refuse", Select: fault.Select{Kind: "all"}}, ": refuse all connections"},
		{"--unreachable", &fault.Rule{Action: "unreachable", Select: fault.Select{Kind: "all"}}, ": unreachable to all connections"},
		{"--deaf", &fault.Rule{Action: "deaf", Select: fault.Select{Kind: "all"}}, ": deaf to all connections"},
		{"--close --stealth", &fault.Rule{Action: "close", Stealth: true, Select: fault.Select{Kind: "all"}}, ": close before the first byte to all requests"},
		{"--malformed chunk --first 2", &fault.Rule{Action: "pass", Form: fault.Form{Malformed: "chunk"}, Select: fault.Select{Kind: "first", First: 2}}, ": healthy answer, malformed chunk, to the first 2 requests"},
		{"--latency 2s", &fault.Rule{Action: "pass", Latency: fault.Latency{Min: 2e9, Max: 2e9}, Select: fault.Select{Kind: "all"}}, ": healthy answer after 2s to all requests"},
		{"--latency 100ms-2s --respond 500", &fault.Rule{Action: "respond", Respond: fault.Respond{Status: 500}, Latency: fault.Latency{Min: 1e8, Max: 2e9}, Select: fault.Select{Kind: "all"}}, ": respond 500 after 100ms-2s to all requests"},
	} {
		var f injectFlags
		flags := f.set()
		if err := flags.Parse(append(strings.Fields(tt.args), "--listen=127.0.0.1:0", "--status=201", "--body=b", "--seed=7")); err != nil {
			t.Fatal(err)
		}
		in, err := f.fromFlags()
		if err != nil {
			t.Fatalf("%s: %v", tt.args, err)
		}
		var got *fault.Rule
		if rules := in.injectors[0].Script.Phases[in.phases[0].Name]; len(rules) > 0 {
			got = &rules[0]
			got.ID = ""
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", tt.args, diff)
		}
		if got := faultsInWords(in, in.phases[0]); got != tt.say {
			t.Errorf("%s is described as %q, want %q", tt.args, got, tt.say)
		}
		if stub := in.injectors[0].Stub; stub.Status != 201 || stub.Body != "b" || in.seed != 7 || in.injectors[0].Addr != "127.0.0.1:0" {
			t.Errorf("%s: the stub is %+v", tt.args, stub)
		}
	}
}

// What only an experiment can say of whom a fault hits is told as well.
func TestSelectionInWords(t *testing.T) {
	for _, tt := range []struct {
		sel  fault.Select
		want string
	}{
		{fault.Select{Kind: fault.SelectShuffle, Num: 3, Den: 10, Block: 20}, "reset to 30%, shuffled by 20, of requests"},
		{fault.Select{Kind: fault.SelectRandom, Num: 3, Den: 10}, "reset to 30%, at random, of requests"},
		{fault.Select{Kind: fault.SelectAfter, After: 5}, "reset to all but the first 5 requests"},
		{fault.Select{Kind: fault.SelectEvery, Every: 5, Sticky: fault.Sticky{By: fault.StickyPeer}}, "reset to the last of every 5 requests, the same for each peer"},
		{fault.Select{Kind: fault.SelectScript, Pattern: ".X", Sticky: fault.Sticky{By: fault.StickyCookie, Name: "s"}}, "reset by the script .X to requests, the same for each cookie s"},
		{fault.Select{Kind: fault.SelectBurst, Length: 5, Gap: 20}, "reset in bursts of about 5 after about 20 each to requests"},
	} {
		if got := ruleInWords(fault.Rule{Select: tt.sel, Action: fault.ActionReset}); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	matched := fault.Rule{Action: fault.ActionReset, Select: fault.Select{Kind: fault.SelectAll}, Match: fault.Match{
		Method: "GET", Path: "/a/*/b", Query: map[string]string{"plan": "gold"}, HeaderRegex: map[string]string{"X-User": "^a"}, Peer: "10.0.0.0/8",
	}}
	if got, want := ruleInWords(matched), "reset to all GET requests of /a/*/b that match query plan=gold header X-User ~ ^a peer 10.0.0.0/8"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	late := fault.Rule{Action: fault.ActionPass, Select: fault.Select{Kind: fault.SelectAll}, Latency: fault.Latency{Exponential: &fault.Exponential{Mean: 1e8}}}
	if got, want := ruleInWords(late), "healthy answer after exponential (p50 69.3ms, p90 230ms, p99 461ms, mean 100ms) to all requests"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// With a file, the injectors and their phases are the experiment's.
func TestInjectFromFile(t *testing.T) {
	text, err := os.ReadFile("testdata/deaf.yaml")
	if err != nil {
		t.Fatal(err)
	}
	timed := strings.Replace(string(text), "{ name: healthy, load: { calls: 30, concurrency: 1 } }",
		"{ name: healthy, duration: 2s, load: { rate: 10/s } }\n  - { name: broken, duration: 3s, load: { rate: 10/s }, faults: [ { reset: true } ] }", 1)
	file := filepath.Join(t.TempDir(), "timed.yaml")
	if err := os.WriteFile(file, []byte(timed), 0o644); err != nil {
		t.Fatal(err)
	}
	none := func(string) bool { return false }
	in, err := injectFlags{given: none, seed: 9}.fromFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.phases) != 2 || in.phases[1].endless || in.phases[1].Duration != 3e9 || in.seed != defaultSeed ||
		in.injectors[0].Addr != "127.0.0.1:19911" || in.injectors[0].Stub.Body == "" || len(in.injectors[0].Script.Phases["broken"]) != 1 {
		t.Errorf("%+v", in)
	}
	only := func(flag string) bool { return flag == "phase" || flag == "seed" }
	in, err = injectFlags{given: only, phase: "broken", seed: 9}.fromFile(file)
	if err != nil || len(in.phases) != 1 || !in.phases[0].endless || in.phases[0].Name != "broken" || in.seed != 9 {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestNearFile(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"checkout.yaml", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for file, want := range map[string]string{
		filepath.Join(dir, "chekout.yaml"):     "; did you mean " + filepath.Join(dir, "checkout.yaml") + "?",
		filepath.Join(dir, "checkout.yml"):     "; did you mean " + filepath.Join(dir, "checkout.yaml") + "?",
		filepath.Join(dir, "note.txt"):         "; check the name and the working directory",
		filepath.Join(dir, "no", "other.yaml"): "; check the name and the working directory",
	} {
		if got := nearFile(file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}

// Connections and WebSockets in words.
func TestStreamsInWords(t *testing.T) {
	all := fault.Select{Kind: fault.SelectAll}
	for _, tt := range []struct {
		rule fault.Rule
		want string
	}{
		{fault.Rule{Action: fault.ActionTCP, Select: fault.Select{Kind: fault.SelectFirst, First: 2}, Match: fault.Match{Peer: "10.0.0.7"}, TCP: &fault.TCP{
			Up:   &fault.Stream{Latency: fault.Latency{Min: 5e7, Max: 5e7}, Bandwidth: 1024, Scope: fault.ScopeAll},
			Down: &fault.Stream{Slice: &fault.Slice{Size: 16, Gap: 5e6}, End: &fault.StreamEnd{After: 10, By: fault.ActionHang}},
			Life: &fault.Life{For: 1e9, By: fault.ActionClose},
		}}, "up +50ms, at 1024 bytes a second for all connections; down in slices of 16 bytes every 5ms, hang after 10 bytes; close after 1s to the first 2 connections of 10.0.0.7"},
		{fault.Rule{Action: fault.ActionPass, Select: all, Match: fault.Match{WebSocket: true}, WebSocket: &fault.WebSocket{
			Accept: fault.AcceptWrong, Messages: []fault.WSMessage{{To: fault.ToServer, Do: fault.WSDrop}}, NoPong: &all, IgnoreClose: true,
			Close: &fault.WSClose{After: 3, Code: 1011}, Stall: &fault.WSStall{After: 2},
		}}, "WebSocket with accept wrong, drop to server, close 1011 after 3 messages, stall after 2 messages, no pong, no answer to a close to all requests that match websocket"},
	} {
		if got := ruleInWords(tt.rule); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// Where nobody is let in, no request can begin a phase or fill one.
func TestNobodyComesToALockedDoor(t *testing.T) {
	shut := map[string][]fault.Rule{"payments": {{Action: fault.ActionRefuse}}}
	counted := experiments.Phase{Name: "counted", Calls: &experiments.Calls{N: 3}, Faults: shut}
	timed := experiments.Phase{Name: "timed", Duration: time.Second, Faults: shut}
	users := experiments.Phase{Name: "users", Sessions: &experiments.Sessions{Users: 1, Rounds: 1}}
	const file = "a.yaml"
	for _, tt := range []struct {
		play      string
		phase     experiments.Phase
		endless   bool
		injectors int
		say       string
	}{
		{playNow, timed, false, 1, ""},
		{playFirst, timed, false, 2, ""},
		{playFirst, timed, false, 1, "--play first: phase timed of a.yaml lets nobody in, so the first request would never come; leave it out"},
		{playNow, counted, false, 1, "a.yaml: phase counted lasts until its 3 calls have come, and lets nobody in; choose one phase, as: faultline inject --phase counted a.yaml"},
		{playNow, counted, true, 1, ""},
		{playNow, users, false, 1, "a.yaml: phase users lasts until its users have made their rounds, and nobody knows here when that is; choose one phase, as: faultline inject --phase users a.yaml"},
		{playNow, users, true, 1, ""},
		{playNow, counted, false, 2, ""},
	} {
		f := injectFlags{given: func(string) bool { return false }, play: choice{word: tt.play}}
		say := ""
		if err := f.playable(file, []injectPhase{{Phase: tt.phase, endless: tt.endless}}, tt.injectors); err != nil {
			say = err.Error()
		}
		if say != tt.say {
			t.Errorf("%+v: %q", tt, say)
		}
	}
}
