package model

// Counts are the outcomes that a window holds.
type Counts struct {
	Calls                int // with Count.AtStart those that started; otherwise successes and failures
	Successes            int
	Failures             int
	Ignored              int
	ConsecutiveSuccesses int // since the last failure
	ConsecutiveFailures  int // since the last success
}

func (c *Counts) record(o Outcome, call bool) {
	if call && o != Ignore {
		c.Calls++
	}
	switch o {
	case Success:
		c.Successes++
		c.ConsecutiveSuccesses++
		c.ConsecutiveFailures = 0
	case Failure:
		c.Failures++
		c.ConsecutiveFailures++
		c.ConsecutiveSuccesses = 0
	case Ignore:
		c.Ignored++
	}
}

// minus takes away the counts of a bucket, but not its runs: see buckets.age.
func (c Counts) minus(b Counts) Counts {
	c.Calls = max(0, c.Calls-b.Calls)
	c.Successes = max(0, c.Successes-b.Successes)
	c.Failures = max(0, c.Failures-b.Failures)
	c.Ignored = max(0, c.Ignored-b.Ignored)
	return c
}

// plus adds the counts of a bucket, but not its runs.
func (c Counts) plus(b Counts) Counts {
	c.Calls += b.Calls
	c.Successes += b.Successes
	c.Failures += b.Failures
	c.Ignored += b.Ignored
	return c
}
