package bulkhead_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/faultline-go/faultline/breakerref/bulkhead"
)

func TestDefaults(t *testing.T) {
	want := bulkhead.SemaphoreConfig{MaxConcurrentCalls: 25, FairCallHandling: true}
	if diff := cmp.Diff(want, bulkhead.DefaultSemaphore()); diff != "" {
		t.Errorf("semaphore (-want +got):\n%s", diff)
	}
	for processors, threads := range map[int][2]int{1: {1, 1}, 2: {1, 2}, 8: {7, 8}} {
		want := bulkhead.ThreadPoolConfig{Core: threads[0], Max: threads[1], QueueCapacity: 100, KeepAlive: 20 * time.Millisecond}
		if diff := cmp.Diff(want, bulkhead.DefaultThreadPool(processors)); diff != "" {
			t.Errorf("%d processors (-want +got):\n%s", processors, diff)
		}
	}
}

func TestSemaphoreConfigValidate(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*bulkhead.SemaphoreConfig)
		want string
	}{
		"default":        {func(*bulkhead.SemaphoreConfig) {}, ""},
		"no call at all": {func(c *bulkhead.SemaphoreConfig) { c.MaxConcurrentCalls = 0 }, ""},
		"both wrong": {
			func(c *bulkhead.SemaphoreConfig) { c.MaxConcurrentCalls, c.MaxWait = -1, -time.Second },
			"maxConcurrentCalls is -1, must be from 0 to 2147483647\nmaxWaitDuration is -1s, must be at least 0s",
		},
		"too many": {
			func(c *bulkhead.SemaphoreConfig) { c.MaxConcurrentCalls = 1 << 31 },
			"maxConcurrentCalls is 2147483648, must be from 0 to 2147483647",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bulkhead.DefaultSemaphore()
			c.set(&cfg)
			_, err := bulkhead.NewSemaphore(cfg)
			says(t, err, c.want)
			if err != nil {
				_, err = must(bulkhead.NewSemaphore(bulkhead.DefaultSemaphore())).Change(time.Time{}, cfg)
				says(t, err, c.want)
			}
		})
	}
}

func TestThreadPoolConfigValidate(t *testing.T) {
	for name, c := range map[string]struct {
		set  func(*bulkhead.ThreadPoolConfig)
		want string
	}{
		"default": {func(*bulkhead.ThreadPoolConfig) {}, ""},
		"direct":  {func(c *bulkhead.ThreadPoolConfig) { c.QueueCapacity, c.KeepAlive = 0, 0 }, ""},
		"all wrong": {
			func(c *bulkhead.ThreadPoolConfig) { *c = bulkhead.ThreadPoolConfig{QueueCapacity: -1, KeepAlive: -1} },
			"coreThreadPoolSize is 0, must be from 1 to 2147483647\n" +
				"maxThreadPoolSize is 0, must be from 1 to 2147483647\n" +
				"queueCapacity is -1, must be from 0 to 2147483647\n" +
				"keepAliveDuration is -1ns, must be at least 0s",
		},
		"core above max": {
			func(c *bulkhead.ThreadPoolConfig) { c.Core, c.Max = 3, 2 },
			"maxThreadPoolSize is 2, must be at least coreThreadPoolSize, 3",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := bulkhead.DefaultThreadPool(4)
			c.set(&cfg)
			_, err := bulkhead.NewThreadPool(cfg)
			says(t, err, c.want)
		})
	}
}

func says(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestFinishWithoutACall(t *testing.T) {
	p := must(bulkhead.NewThreadPool(bulkhead.DefaultThreadPool(2)))
	p.Submit(time.Time{})
	p.Finish(time.Time{})
	defer func() {
		if got := recover(); got != "bulkhead: Finish without a running call" {
			t.Errorf("recovered %v", got)
		}
	}()
	p.Finish(time.Time{})
}
