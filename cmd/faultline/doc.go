// Command faultline proves, from outside, what a circuit breaker does.
//
// Flags come in, an exit code goes out: 0 all passed, 1 an assertion failed, 2
// bad usage or definition, 3 could not tell, 130 or 143 interrupted. Standard output carries the report, standard error what is
// said on the way. One file holds one command.
package main
