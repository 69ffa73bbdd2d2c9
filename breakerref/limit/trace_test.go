package limit_test

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/limit"
)

// recordedRun is what the real AtomicRateLimiter did under a virtual clock
// (testdata/AtomicRateLimiterTrace.java).
type recordedRun struct {
	Cfg   [3]int64       `json:"cfg"` // limit, period, timeout
	Steps []recordedStep `json:"ops"`
}

// recordedStep is an operation, and what there was to be seen afterwards.
type recordedStep struct {
	Nanos    int64 // since creation
	Verb     string
	Argument int64
	seen
}

type seen struct {
	Answer  int64 // of reservePermission
	Cycle   int64
	Permits int32
	Wait    int64
}

// UnmarshalJSON reads the step from an array.
func (s *recordedStep) UnmarshalJSON(data []byte) error {
	fields := []any{&s.Nanos, &s.Verb, &s.Argument, &s.Answer, &s.Cycle, &s.Permits, &s.Wait}
	if err := json.Unmarshal(data, &fields); err != nil {
		return fmt.Errorf("read step %s: %w", data, err)
	}
	return nil
}

// TestRecordedAtomicRateLimiter replays runs of Resilience4j 2.4.0 and wants the
// same answer, cycle, permits and wait after every step. The environment variable
// RESILIENCE4J_LIMITER_TRACES names a folder with other runs.
func TestRecordedAtomicRateLimiter(t *testing.T) {
	dir := os.Getenv("RESILIENCE4J_LIMITER_TRACES")
	if dir == "" {
		dir = "testdata"
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	operations, runs, differences := 0, 0, 0
	for _, file := range files {
		for run := range readRuns(t, file) {
			runs++
			operations += len(run.Steps)
			if diff := replay(t, run); diff != "" {
				if differences++; differences <= 3 {
					t.Errorf("%s, run %d (-recorded +replayed):\n%s", filepath.Base(file), runs, diff)
				}
			}
		}
	}
	if operations == 0 {
		t.Errorf("no operations in %s", dir)
	}
	t.Logf("replayed %d operations of %d runs, %d differences", operations, runs, differences)
}

// readRuns hands out one run after the other, because there may be many.
func readRuns(t *testing.T, file string) func(yield func(recordedRun) bool) {
	return func(yield func(recordedRun) bool) {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := f.Close(); err != nil {
				t.Error(err)
			}
		}()
		unzipped, err := gzip.NewReader(f)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(unzipped)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var run recordedRun
			if err := json.Unmarshal(lines.Bytes(), &run); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if !yield(run) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
}

// replay returns the first difference.
func replay(t *testing.T, run recordedRun) string {
	limiter, err := limit.NewAtomicRateLimiter(limit.AtomicRateLimiterConfig{
		LimitForPeriod:     int(run.Cfg[0]),
		LimitRefreshPeriod: time.Duration(run.Cfg[1]),
		Timeout:            time.Duration(run.Cfg[2]),
	}, storyStart)
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range run.Steps {
		now := storyStart.Add(time.Duration(step.Nanos))
		got := seen{}
		switch step.Verb {
		case "reserve":
			d := limiter.Reserve(now, int(step.Argument))
			if got.Answer = int64(d.Wait); !d.Allowed {
				got.Answer = -1
			}
		case "drain":
			limiter.Drain(now)
		case "limit":
			err = limiter.ChangeLimitForPeriod(int(step.Argument))
		case "timeout":
			err = limiter.ChangeTimeout(time.Duration(step.Argument))
		default:
			t.Fatalf("unknown verb %q", step.Verb)
		}
		if err != nil {
			t.Fatal(err)
		}
		got.Cycle, got.Permits, got.Wait = limiter.Cycle(now), limiter.Permits(now), int64(limiter.NextWait(now))
		if diff := cmp.Diff(step.seen, got); diff != "" {
			return fmt.Sprintf("configuration %v, step %d, %+v:\n%s", run.Cfg, i, step, diff)
		}
	}
	return ""
}
