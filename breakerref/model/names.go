package model

import "fmt"

// name returns the i-th of names, or the type and the number.
func name(kind string, i int, names ...string) string {
	if i >= 0 && i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("%s(%d)", kind, i)
}

// String returns the name of the constant.
func (k WindowKind) String() string {
	return name("WindowKind", int(k), "Cumulative", "CountSliding", "CountTumbling", "TimeSliding", "TimeTumbling", "Gap")
}

// String returns the name of the constant.
func (a Align) String() string {
	return name("Align", int(a), "AlignStart", "AlignWall", "AlignWrite", "AlignOnePerWrite")
}

// String returns the name of the constant.
func (s Scope) String() string { return name("Scope", int(s), "PerState", "Shared") }

// String returns the name of the constant.
func (i Ignored) String() string { return name("Ignored", int(i), "IgnoredDropped", "IgnoredSuccess") }

// String returns the name of the constant.
func (r Rule) String() string { return name("Rule", int(r), "none", "Consecutive", "Failures", "Rate") }

// String returns the name of the constant.
func (a Arithmetic) String() string {
	return name("Arithmetic", int(a), "Quotient", "Rounded", "Product", "Percent")
}

// String returns the name of the constant.
func (j Judged) String() string {
	return name("Judged", int(j), "OnFailure", "OnRecord", "OnAcquire", "OnTick")
}

// String returns the name of the constant.
func (g Growth) String() string { return name("Growth", int(g), "Constant", "Linear", "Exponential") }

// String returns the name of the constant.
func (e Exit) String() string {
	return name("Exit", int(e), "ExitCall", "ExitTimer", "ExitTick", "ExitChecks")
}

// String returns the name of the constant.
func (a Admit) String() string {
	return name("Admit", int(a), "AdmitAll", "Total", "Concurrent", "Unlimited", "OnePerWait", "WaitForProbe")
}

// String returns the name of the constant.
func (p ProbeIgnored) String() string {
	return name("ProbeIgnored", int(p), "ProbeHangs", "ProbeReleased", "ProbeCloses", "ProbeReopens")
}

// String returns the name of the constant.
func (l Late) String() string {
	return name("Late", int(l), "LateDropped", "LateCounted", "LateByOrigin")
}

// String returns the name of the constant.
func (c OnClose) String() string {
	return name("OnClose", int(c), "Keep", "ClearAfter", "ClearBefore", "ClearApart")
}

// String returns success, failure or ignored.
func (o Outcome) String() string {
	return name("Outcome", int(o), "none", "success", "failure", "ignored")
}

// String returns rejected, admitted or waits.
func (a Answer) String() string { return name("Answer", int(a), "rejected", "admitted", "waits") }
