//go:build race

package attack_test

// raceDetector reports whether this test was built with -race.
const raceDetector = true
