// Package fault decides how the dependency misbehaves for the n-th request that
// a rule sees in a phase; it does nothing itself.
//
// A [Script] is data. A decision depends on the seed, the phase and the order in
// which requests arrive, and on nothing else, so a run can be repeated and a ratio
// is exact at every moment. With one rule for a request, that order is no more than
// its index among those that the rule saw.
package fault
