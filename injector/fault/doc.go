// Package fault decides how the dependency misbehaves for the n-th request that
// a rule sees in a phase; it does nothing itself.
//
// A [Script] is data. A decision depends on (seed, phase, rule, index) and on
// nothing else, so a run can be repeated and a ratio is exact at every moment.
package fault
