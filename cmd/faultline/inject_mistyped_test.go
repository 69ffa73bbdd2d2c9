package main

import (
	"strings"
	"testing"
)

// Every value that inject cannot follow is refused before anything listens, with what to write.
func TestInjectMistypedValues(t *testing.T) {
	for args, say := range map[string]string{
		"--respond 5o3":                           "write a status from 200 to 599, as 503",
		"--respond 99":                            "write a status from 200 to 599, as 503",
		"--respond 600":                           "write a status from 200 to 599, as 503",
		"--respond=":                              "write a status from 200 to 599, as 503",
		"--status -1":                             "write a status from 200 to 599, as 503",
		"--ratio 30 --reset":                      "30 has no unit; a share is written in percent: 30%",
		"--ratio 0% --reset":                      "0% hits nothing",
		"--ratio 101% --reset":                    "101% is more than 100%",
		"--ratio NaN% --reset":                    "is not a share",
		"--ratio 1e999% --reset":                  "is not a share",
		"--ratio 30%":                             "--ratio says whom a fault hits, and there is none",
		"--ratio 30% --first 1 --reset":           "leave out one of them",
		"--first 0 --reset":                       "write a whole number from 1 on, as 10",
		"--first 1.5 --reset":                     "write a whole number from 1 on, as 10",
		"--first 99999999999999999999 --reset":    "write a whole number from 1 on, as 10",
		"--latency 5":                             "5 has no unit; write 5s, 5ms or 5m",
		"--latency 0s":                            "a latency is longer than nothing",
		"--latency -5s":                           "is not a duration",
		"--latency 1s-":                           "is not a duration",
		"--latency 2s-1s":                         "2s is more than 1s; write the least first",
		"--latency 9999999999h":                   "is not a duration",
		"--path charges --reset":                  "a path begins with /",
		"--path /a*b --reset":                     "a * may stand at its end only",
		"--method GE/T --reset":                   "write a method, as POST",
		"--reset --close":                         "a request can suffer one of these",
		"--malformed nonsense":                    "allowed are status_line",
		"--malformed json --hang":                 "--hang gives none; leave out one of them",
		"--stealth":                               "--stealth goes with --reset or --close",
		"--hang --latency 1s":                     "--latency cannot be seen before --hang",
		"--refuse --ratio 1%":                     "--ratio is of requests",
		"--upstream nowhere":                      "write the dependency's URL",
		"--upstream=":                             "write the dependency's URL",
		"--upstream ftp://127.0.0.1:1":            "write the dependency's URL",
		"--upstream http://127.0.0.1:99999":       "port 99999 is none; write one from 1 to 65535",
		"--upstream http://127.0.0.1:0":           "port 0 is none; write one from 1 to 65535",
		"--upstream h2c://127.0.0.1":              "it has no port",
		"--upstream http://127.0.0.1:1 --body x":  "--body does not go with --upstream",
		"--upstream http://u:p@127.0.0.1:1":       "it has a user, query or fragment",
		"--upstream http://127.0.0.1:1/?a=b":      "it has a user, query or fragment",
		"--upstream http://127.0.0.1:1/#a":        "it has a user, query or fragment",
		"--listen 127.0.0.1":                      "write host:port, as 127.0.0.1:9901",
		"--listen 127.0.0.1:70000":                "write host:port, as 127.0.0.1:9901",
		"--listen 127.0.0.1:-1":                   "write host:port, as 127.0.0.1:9901",
		"--listen localhost:abc":                  "write host:port, as 127.0.0.1:9901",
		"--listen :0":                             "inject listens on loopback only",
		"--listen [::]:0":                         "inject listens on loopback only",
		"--listen 0.0.0.0:0":                      "inject listens on loopback only",
		"--listen localhost.evil.example:0":       "inject listens on loopback only",
		"--trace=":                                "--trace : names no file",
		"--trace testdata":                        "is a folder; name a file",
		"--phase x":                               "--phase is a phase of an experiment",
		"--play first":                            "--play is about the phases of an experiment",
		"--then loop":                             "--then is about the phases of an experiment",
		"--play never testdata/good.yaml":         "allowed are now and first",
		"--seed -1":                               "write a whole number from 0 to",
		"--reset testdata/good.yaml":              "--reset does not go with an experiment",
		"a.yaml b.yaml":                           "inject plays one experiment at a time",
		"--trace /dev/full --respond 503":         "is not a regular file; name one, or a new one",
		"--trace /dev/null/x.jsonl --respond 503": "not a directory",
	} {
		code, out, said := call(append([]string{"inject"}, strings.Fields(args)...)...)
		if code != 2 || out != "" || !strings.Contains(said, say) {
			t.Errorf("%s: exit code %d, %q is missing in:\n%s%s", args, code, say, said, out)
		}
	}
}
