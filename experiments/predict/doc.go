// Package predict plays a plan in virtual time against a system that does what
// the plan declares, and says of each assertion whether its load can decide it: it
// is pure, so that nothing is sent, opened, waited for or measured.
package predict
