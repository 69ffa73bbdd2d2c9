// Package imports turns the fault configuration of other tools into faults of this one,
// and says what of it has no equivalent.
package imports
