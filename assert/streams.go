package assert

// streamed widens when the SUT recorded the outcome of an attempt that became a stream: at its
// first answer, at its end, or at any time between. Which outcome that was, good or bad, only
// the SUT knows.
func (v *view) streamed(a *admission) {
	switch at := a.attempt; {
	case !at.Stream:
		return
	case at.Closed == 0:
		a.settled = forever
	default:
		a.settled = max(a.settled, v.awake(at.Closed))
	}
	a.settle = a.settled
}
