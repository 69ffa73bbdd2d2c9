package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// effectiveCase is a file, and where it is read: with which profiles and environment.
type effectiveCase struct {
	name     string // of the file
	text     string
	profiles []string
	env      map[string]string
}

// springAnswer is what the real Spring Boot makes of a file: see Answer.java.
type springAnswer struct {
	Error      string
	Processors int
	Orders     map[string]int
	CB         map[string]map[string]any `json:"circuitbreaker"`
	Retry      map[string]map[string]any `json:"retry"`
	Bulkhead   map[string]map[string]any `json:"bulkhead"`
	Pool       map[string]map[string]any `json:"thread-pool-bulkhead"`
	Rate       map[string]map[string]any `json:"ratelimiter"`
	Time       map[string]map[string]any `json:"timelimiter"`
}

func (a springAnswer) modules() map[resilience4j.Module]map[string]map[string]any {
	return map[resilience4j.Module]map[string]map[string]any{
		resilience4j.CircuitBreaker: a.CB, resilience4j.Retry: a.Retry, resilience4j.Bulkhead: a.Bulkhead,
		resilience4j.ThreadPoolBulkhead: a.Pool, resilience4j.RateLimiter: a.Rate, resilience4j.TimeLimiter: a.Time,
	}
}

// recordedAnswers has what Spring said of the known and of the generated files, one line
// each, so that a machine with nothing but Go compares the same.
const recordedAnswers = "effective.jsonl.gz"

// springRecord is a line of it.
type springRecord struct {
	Sum    uint32 `json:"sum"` // of the file's text
	Answer json.RawMessage
}

// TestZooEffective compares the effective configuration with what the real Spring Boot
// binding and the real library make of the same files: generated ones, and one for every
// rule that is known. What Spring refuses has to be refused here, and nothing else.
//
// Keys that are not known are problems here and passed over by Spring, on purpose: they
// stop neither. With FAULTLINE_ZOO=record it writes what [TestEffective] reads.
func TestZooEffective(t *testing.T) {
	zoo := os.Getenv("FAULTLINE_ZOO")
	if zoo != "1" && zoo != "record" {
		t.Skip("the real Spring Boot is asked with FAULTLINE_ZOO=1")
	}
	n := generatedFiles
	if os.Getenv("FAULTLINE_DEEP") == "1" {
		n = 2000
	}
	cases := slices.Concat(knownCases(), generatedCases(n))
	answers := askSpring(t, cases)
	compareEffective(t, cases, answers)
	if zoo == "record" && !t.Failed() {
		record(t, cases, answers)
	}
}

// TestEffective compares with what Spring said when it was last asked.
func TestEffective(t *testing.T) {
	cases := slices.Concat(knownCases(), generatedCases(generatedFiles))
	compareEffective(t, cases, replay(t, cases))
}

// generatedFiles is how many files are generated.
const generatedFiles = 300

func compareEffective(t *testing.T, cases []effectiveCase, answers [][]byte) {
	t.Helper()
	different, refused, undecided := 0, 0, 0
	for i, c := range cases {
		var a springAnswer
		if err := json.Unmarshal(answers[i], &a); err != nil {
			t.Fatalf("%v in %s", err, answers[i])
		}
		f, err := readCase(c)
		if diffs := effectiveDiffs(f, err, a); len(diffs) > 0 {
			different++
			t.Errorf("%s differs:\n%s\n--- %v %v\n%s", c.name, strings.Join(diffs, "\n"), c.profiles, c.env, c.text)
		}
		if a.Error != "" {
			refused++
		}
		if f != nil && slices.ContainsFunc(f.Problems(), func(p resilience4j.Problem) bool { return p.Kind == resilience4j.Undecided }) {
			undecided++
		}
	}
	t.Logf("%d files, %d of them refused by Spring, %d depend on the order of creation; differences: %d", len(cases), refused, undecided, different)
	if refused < len(cases)/10 || refused > len(cases)/2 {
		t.Errorf("%d of %d files are refused: the generator is out of balance", refused, len(cases))
	}
}

func sum(c effectiveCase) uint32 { return crc32.ChecksumIEEE([]byte(c.name + c.text)) }

func record(t *testing.T, cases []effectiveCase, answers [][]byte) {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	enc := json.NewEncoder(zip)
	for i, c := range cases {
		if err := enc.Encode(springRecord{sum(c), answers[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := zip.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("testdata", recordedAnswers), out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

func replay(t *testing.T, cases []effectiveCase) [][]byte {
	t.Helper()
	src, err := os.Open(filepath.Join("testdata", recordedAnswers))
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	zip, err := gzip.NewReader(src)
	if err != nil {
		t.Fatal(err)
	}
	bySum := map[uint32][]byte{}
	for dec := json.NewDecoder(zip); dec.More(); {
		var r springRecord
		if err := dec.Decode(&r); err != nil {
			t.Fatal(err)
		}
		bySum[r.Sum] = r.Answer
	}
	answers := make([][]byte, len(cases))
	for i, c := range cases {
		if answers[i] = bySum[sum(c)]; answers[i] == nil {
			t.Fatalf("Spring was not asked about %s as it is now; ask again with FAULTLINE_ZOO=record", c.name)
		}
	}
	return answers
}

func readCase(c effectiveCase) (*resilience4j.File, error) {
	return resilience4j.Read(c.name, []byte(c.text), resilience4j.Options{
		Profiles: c.profiles,
		Env:      func(name string) (string, bool) { v, ok := c.env[name]; return v, ok },
	})
}

// askSpring builds the harness and asks it about all cases in one JVM.
func askSpring(t *testing.T, cases []effectiveCase) [][]byte {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "target", "zoo", "spring-harness"))
	if err != nil {
		t.Fatal(err)
	}
	runIn(t, dir, "mvn", "-q", "-B", "-DskipTests", "package")
	tmp := t.TempDir()
	var questions bytes.Buffer
	enc := json.NewEncoder(&questions)
	for i, c := range cases {
		file := filepath.Join(tmp, fmt.Sprintf("%d-%s", i, c.name))
		if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := enc.Encode(map[string]any{"file": file, "profiles": c.profiles, "env": c.env}); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "java", "-jar", filepath.Join(dir, "target", "effective.jar"))
	cmd.Stdin, cmd.Stderr = &questions, os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the harness: %v", err)
	}
	answers := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	if len(answers) != len(cases) {
		t.Fatalf("%d answers to %d questions", len(answers), len(cases))
	}
	return answers
}

// effectiveDiffs says where the two readers of a file differ.
func effectiveDiffs(f *resilience4j.File, err error, a springAnswer) []string {
	why := refusal(f, err, a.Processors)
	switch {
	case a.Error != "" && why == "":
		return []string{"Spring refuses it, faultline does not: " + a.Error}
	case a.Error == "" && why != "":
		return []string{"faultline refuses it, Spring does not: " + why}
	case a.Error != "":
		return nil
	}
	var diffs []string
	for m, spring := range a.modules() {
		if want, got := slices.Sorted(maps.Keys(spring)), f.Instances(m); !slices.Equal(want, got) {
			diffs = append(diffs, fmt.Sprintf("%v has instances %q in Spring, %q here", m, want, got))
			continue
		}
		for name, want := range spring {
			got, waits := effectiveOf(f, m, name, a.Processors)
			if problem := waits.differ(want["waits"]); problem != "" {
				diffs = append(diffs, fmt.Sprintf("%v %s: %s", m, name, problem))
			}
			delete(want, "waits")
			if diff := cmp.Diff(want, got); diff != "" {
				diffs = append(diffs, fmt.Sprintf("%v %s: Spring (-) and faultline (+):\n%s", m, name, diff))
			}
		}
	}
	for _, aspect := range f.AspectOrder() {
		if want := a.Orders[aspect.Module.String()]; want != aspect.Order {
			diffs = append(diffs, fmt.Sprintf("order of %v: %d in Spring, %d here", aspect.Module, want, aspect.Order))
		}
	}
	return diffs
}

// refusal says why an application with the file does not start, in the opinion of the
// reader.
func refusal(f *resilience4j.File, err error, processors int) string {
	if err != nil {
		return err.Error()
	}
	for _, p := range f.Problems() {
		if p.Kind.StopsSpring() {
			return p.Error()
		}
	}
	for _, name := range f.Instances(resilience4j.ThreadPoolBulkhead) {
		if _, err := f.ThreadPoolBulkhead(name, max(processors, 2)); err != nil {
			return err.Error()
		}
	}
	return ""
}
