// Package mesh reads what a service mesh ejects hosts by, and how many connections it
// allows: outlier_detection and circuit_breakers of the clusters of Envoy, and the
// outlierDetection and connectionPool of an Istio DestinationRule.
//
// Each place that has one of them is a Policy of its own, also in a subset or for a port.
// What a subset takes over from its host, because it does not say it, is not filled in.
// Keys of Envoy are read as its documentation spells them (outlier_detection).
// Every value knows where it stands. Keys that are not known are errors, with their place.
//
// Policy.Config makes of it what breakerref/model runs on: its preset envoy, one host of
// a pool. Modelled is the detector of consecutive 5xx, or that of gateway errors where
// the other is off; Policy.Counts says which. Detectors that compare hosts (success rate,
// failure percentage), those of local origin and jitter are read, but not modelled: see
// Policy.Unmodelled. A panic threshold other than the default, which Envoy has elsewhere,
// is the caller's matter.
//
// The defaults are those of Envoy (outlier_detection.proto), which Istio's are as well,
// but for the panic threshold: minHealthPercent is 0 there.
package mesh
