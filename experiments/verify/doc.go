// Package verify proves that a running service does what its Resilience4j configuration
// declares.
//
// A [System] is what is declared. [Derive] makes a plan of it: an experiment whose calls
// come one after another and whose answers are scripted, so that the reference of
// breakerref says of every call whether it must be let through. What was recorded is then
// replayed: [Judge] asks which configurations of the reference would have let through
// exactly the calls that came through, at the instants at which they did. If the declared
// one would, and no neighbour in a parameter, that parameter is proved. If it would not,
// the parameter is named whose other value explains all that was seen.
//
// Everything here is pure: it makes plans and judges traces.
package verify
