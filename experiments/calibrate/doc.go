// Package calibrate judges services whose truth is known: the good references, which nothing
// may fail, and every mutant, which a rule has to name. It says which defects were missed and
// which alarms were false, so that a gate is believed for a reason.
//
// It plays the catalogue of package experiments and the experiments beside this file, which
// look at what the catalogue has no place for.
package calibrate
