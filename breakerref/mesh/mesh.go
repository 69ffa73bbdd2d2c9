package mesh

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// Policy is what one place of a file says.
type Policy struct {
	Name     string // of the cluster, or the host, with subset and port
	Istio    bool   // of a DestinationRule, not of a cluster of Envoy
	Detects  bool   // it has outlier detection, even an empty one
	Settings []Setting
}

// Setting is a key below its part, such as outlierDetection.interval, with its value as it
// is written.
type Setting struct {
	Key   string
	Value string
	Pos   yamldoc.Pos
}

// part finds the parts of a document that are read.
var part = regexp.MustCompile(`^(|.*\.)(outlier_detection|outlierDetection|circuit_breakers|connectionPool)(\..+)?$`)

// Read reads the documents of a file. The error has everything that is wrong, one problem
// a line, each with its place.
func Read(file string, src []byte) ([]Policy, error) {
	docs, err := yamldoc.SpringProperties(file, src)
	if err != nil {
		return nil, err
	}
	r := reader{file: file}
	for _, doc := range docs {
		r.document(doc)
	}
	for i := range r.policies {
		r.check(&r.policies[i])
	}
	if len(r.problems) > 0 {
		return nil, errors.Join(r.problems...)
	}
	return r.policies, nil
}

type reader struct {
	file     string
	policies []Policy
	problems []error
}

func (r *reader) problem(at yamldoc.Pos, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d:%d: %s", r.file, at.Line, at.Col, fmt.Sprintf(format, args...)))
}

// document collects the policies of a document.
func (r *reader) document(doc []yamldoc.Property) {
	values := map[string]string{}
	for _, p := range doc {
		values[p.Key] = p.Value
	}
	istio := values["kind"] == "DestinationRule"
	from := map[string]int{}
	for _, p := range doc {
		m := part.FindStringSubmatch(p.Key)
		if m != nil && m[2] == "outlierDetection" && values["kind"] == "" {
			r.problem(p.At, "outlierDetection is not read in a cluster of Envoy; write outlier_detection, and its keys so, or kind: DestinationRule")
		}
		if m == nil || istio && !strings.HasPrefix(p.Key, "spec.") || istio != (m[2] == "outlierDetection" || m[2] == "connectionPool") {
			continue
		}
		i, known := from[m[1]]
		if !known {
			i = len(r.policies)
			from[m[1]] = i
			r.policies = append(r.policies, Policy{Name: owner(m[1], values, istio), Istio: istio})
		}
		policy := &r.policies[i]
		policy.Detects = policy.Detects || strings.HasPrefix(strings.ToLower(m[2]), "outlier")
		if m[3] != "" {
			policy.Settings = append(policy.Settings, Setting{Key: m[2] + m[3], Value: p.Value, Pos: p.At})
		}
	}
}

// owner names what a path belongs to.
func owner(path string, values map[string]string, istio bool) string {
	if !istio {
		return values[path+"name"]
	}
	name := values["spec.host"]
	if subset, _, ok := strings.Cut(path, ".trafficPolicy."); ok && strings.HasPrefix(subset, "spec.subsets[") {
		name += " subset " + values[subset+".name"]
	}
	if strings.Contains(path, "portLevelSettings[") {
		name += " port " + values[path+"port.number"]
	}
	return name
}

// kind is how the value of a key is read.
type kind int

const (
	count    kind = iota // a whole number of at least 0
	percent              // from 0 to 100
	duration             // above 0
	truth
	other // not looked at
)

// known are the keys of the two dialects.
func known(istio bool) map[string]kind {
	if istio {
		return map[string]kind{
			"outlierDetection.consecutive5xxErrors": count, "outlierDetection.consecutiveErrors": count,
			"outlierDetection.consecutiveGatewayErrors": count, "outlierDetection.consecutiveLocalOriginFailures": count,
			"outlierDetection.splitExternalLocalOriginErrors": truth,
			"outlierDetection.interval":                       duration, "outlierDetection.baseEjectionTime": duration,
			"outlierDetection.maxEjectionPercent": percent, "outlierDetection.minHealthPercent": percent,
			"connectionPool.tcp.maxConnections": count, "connectionPool.tcp.connectTimeout": duration,
			"connectionPool.tcp.maxConnectionDuration": duration, "connectionPool.tcp.idleTimeout": duration,
			"connectionPool.http.http1MaxPendingRequests": count, "connectionPool.http.http2MaxRequests": count,
			"connectionPool.http.maxRequestsPerConnection": count, "connectionPool.http.maxRetries": count,
			"connectionPool.http.idleTimeout": duration, "connectionPool.http.h2UpgradePolicy": other,
			"connectionPool.http.useClientProtocol": truth, "connectionPool.http.maxConcurrentStreams": count,
		}
	}
	all := map[string]kind{
		"consecutive_5xx": count, "consecutive_gateway_failure": count, "consecutive_local_origin_failure": count,
		"interval": duration, "base_ejection_time": duration, "max_ejection_time": duration, "max_ejection_time_jitter": duration,
		"max_ejection_percent": percent, "enforcing_consecutive_5xx": percent, "enforcing_consecutive_gateway_failure": percent,
		"enforcing_success_rate": percent, "enforcing_consecutive_local_origin_failure": percent,
		"enforcing_local_origin_success_rate": percent, "enforcing_failure_percentage": percent,
		"enforcing_failure_percentage_local_origin": percent, "success_rate_minimum_hosts": count,
		"success_rate_request_volume": count, "success_rate_stdev_factor": count, "failure_percentage_threshold": percent,
		"failure_percentage_minimum_hosts": count, "failure_percentage_request_volume": count,
		"split_external_local_origin_errors": truth, "successful_active_health_check_uneject_host": truth,
		"always_eject_one_host": truth,
	}
	out := map[string]kind{}
	for key, k := range all {
		out["outlier_detection."+key] = k
	}
	for key, k := range map[string]kind{
		"priority": other, "max_connections": count, "max_pending_requests": count, "max_requests": count, "max_retries": count,
		"track_remaining": truth, "max_connection_pools": count,
	} {
		out["circuit_breakers.thresholds[]."+key] = k
		out["circuit_breakers.per_host_thresholds[]."+key] = k
	}
	for _, key := range []string{"budget_percent.value", "min_retry_concurrency"} {
		out["circuit_breakers.thresholds[].retry_budget."+key] = other
	}
	return out
}

var number = regexp.MustCompile(`\[\d+\]`)

// check notes keys that are not known, and values that the mesh would refuse.
func (r *reader) check(p *Policy) {
	keys := known(p.Istio)
	for _, s := range p.Settings {
		key := number.ReplaceAllString(s.Key, "[]")
		k, ok := keys[key]
		if !ok && !strings.HasPrefix(key, "connectionPool.tcp.tcpKeepalive.") {
			var all []string
			for name := range keys {
				all = append(all, name)
			}
			slices.Sort(all)
			r.problem(s.Pos, "%s: %s is not known%s", p.Name, s.Key, yamldoc.Hint(key, all))
			continue
		}
		if want := k.wrong(s.Value); ok && want != "" {
			r.problem(s.Pos, "%s: %s is %q, must be %s", p.Name, s.Key, s.Value, want)
		}
	}
}

// wrong says what a value must be, if it is not.
func (k kind) wrong(value string) string {
	n, err := strconv.ParseUint(value, 10, 32)
	switch k {
	case count:
		if err != nil {
			return "a whole number of at least 0"
		}
	case percent:
		if err != nil || n > 100 {
			return "a whole number from 0 to 100"
		}
	case duration:
		if d, err := time.ParseDuration(value); err != nil || d < time.Millisecond {
			return "a duration of at least 1ms, such as 30s"
		}
	case truth:
		if value != "true" && value != "false" {
			return "true or false"
		}
	case other:
	}
	return ""
}

// Get returns a setting by its key, without the part that it is in for outlier detection:
// interval, maxEjectionPercent or max_ejection_percent; or with it.
func (p Policy) Get(key string) (Setting, bool) {
	i := slices.IndexFunc(p.Settings, func(s Setting) bool {
		_, short, _ := strings.Cut(s.Key, ".")
		return s.Key == key || short == key && strings.HasPrefix(strings.ToLower(s.Key), "outlier")
	})
	if i < 0 {
		return Setting{}, false
	}
	return p.Settings[i], true
}

// Detector says which answers count as failures.
type Detector string

// The detectors that are modelled.
const (
	None    Detector = ""        // none of them: hosts are not ejected by rows of failures
	FiveXX  Detector = "5xx"     // answers of 500 and above, and what Envoy makes such of: timeouts, resets
	Gateway Detector = "gateway" // 502, 503 and 504 alone
)

// Counts returns the detector and how many failures in a row eject. Where both are on, as
// Istio can have them, it is that of 5xx: every gateway error counts there as well.
func (p Policy) Counts() (Detector, int) {
	five, gateway := p.row(5, "consecutive5xxErrors", "consecutiveErrors", "consecutive_5xx"), p.row(0, "consecutiveGatewayErrors")
	if !p.Istio {
		// Envoy counts gateway errors from 5 on as well, but enforces it by 0 % unless told.
		gateway = p.row(5, "consecutive_gateway_failure")
		if p.row(0, "enforcing_consecutive_gateway_failure") == 0 {
			gateway = 0
		}
		if p.row(100, "enforcing_consecutive_5xx") == 0 {
			five = 0
		}
	}
	switch {
	case !p.Detects || five == 0 && gateway == 0:
		return None, 0
	case five == 0:
		return Gateway, gateway
	}
	return FiveXX, five
}

// row is the first of some whole numbers that is there.
func (p Policy) row(def int, keys ...string) int {
	for _, key := range keys {
		if s, ok := p.Get(key); ok {
			n, _ := strconv.Atoi(s.Value) // Read has checked it.
			return n
		}
	}
	return def
}

func (p Policy) duration(def time.Duration, keys ...string) time.Duration {
	for _, key := range keys {
		if s, ok := p.Get(key); ok {
			d, _ := time.ParseDuration(s.Value) // Read has checked it.
			return d
		}
	}
	return def
}

// Unmodelled returns the settings that the model of the detector does not know: what they
// do is seen in no prediction.
func (p Policy) Unmodelled() []Setting {
	modelled := []string{
		"consecutive5xxErrors", "consecutiveErrors", "consecutiveGatewayErrors", "interval", "baseEjectionTime", "maxEjectionPercent", "minHealthPercent",
		"consecutive_5xx", "consecutive_gateway_failure", "enforcing_consecutive_5xx", "enforcing_consecutive_gateway_failure",
		"base_ejection_time", "max_ejection_time", "max_ejection_percent", "always_eject_one_host",
	}
	_, five := p.Get("consecutive5xxErrors")
	gateway := p.row(0, "consecutiveGatewayErrors")
	return slices.DeleteFunc(slices.Clone(p.Settings), func(s Setting) bool {
		head, key, _ := strings.Cut(s.Key, ".")
		if !strings.HasPrefix(strings.ToLower(head), "outlier") {
			return true
		}
		share := strings.HasPrefix(key, "enforcing_consecutive_") && s.Value != "0" && s.Value != "100"
		both := key == "consecutiveGatewayErrors" && gateway != 0 && (!five || p.row(5, "consecutive5xxErrors") > gateway)
		return slices.Contains(modelled, key) && !share && !both
	})
}

// Config returns what the model runs on, for one of so many hosts. The error says that
// nothing is ejected by rows of failures, or what cannot be.
func (p Policy) Config(hosts int) (model.Config, error) {
	detector, failures := p.Counts()
	if detector == None {
		return model.Config{}, fmt.Errorf("%s ejects no host for failures in a row", p.Name)
	}
	c, _ := model.Preset("envoy")
	c.Name = p.Name
	c.Trip.Failures = failures
	c.Open.Interval = p.duration(10*time.Second, "interval")
	c.Open.Wait = p.duration(30*time.Second, "baseEjectionTime", "base_ejection_time")
	c.Open.MaxWait = max(c.Open.Wait, p.duration(300*time.Second, "max_ejection_time"))
	c.Hosts.Count = hosts
	c.Hosts.MaxEjected = p.row(10, "maxEjectionPercent", "max_ejection_percent")
	if s, ok := p.Get("always_eject_one_host"); ok {
		c.Hosts.AlwaysOne = s.Value == "true"
	}
	if p.Istio {
		c.Hosts.Panic = p.row(0, "minHealthPercent")
	}
	return c, c.Validate()
}
