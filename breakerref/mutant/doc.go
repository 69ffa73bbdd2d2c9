// Package mutant has named defects of circuit breakers and of the policies around them, each
// with its base model.
//
// A [Mutant] is a negative control: a service that has it is right but for the one thing that
// it says, and whatever judges services has to name that thing. What is a defect in one
// breaker is the rule in another: in Resilience4j the late success of a call that was
// admitted before the trip counts as a probe's, in gobreaker it must not. So each mutant says
// whose rule it breaks.
//
// A mutant is carried out by whoever plays a service: the reverse proxy of package
// breakerref/proxy over sockets, and package experiments/predict in virtual time. Both ask
// Build for the breaker, and read what is around it from [Around].
package mutant
