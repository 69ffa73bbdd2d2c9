package probe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Form is what a page is written in.
type Form string

// The forms.
const (
	FormActuator   Form = "actuator"   // GET /actuator/circuitbreakers of Resilience4j 2 in Spring Boot
	FormEvents     Form = "events"     // GET /actuator/circuitbreakerevents/NAME/STATE_TRANSITION of the same
	FormPrometheus Form = "prometheus" // its gauge resilience4j_circuitbreaker_state
	FormCounter    Form = "counter"    // any series of a page of Prometheus
	FormEnvoy      Form = "envoy"      // GET /clusters?format=json of Envoy's admin interface
)

// States of a host as Envoy's outlier detection has it: it knows no half-open.
const (
	Ejected = "EJECTED"
	Healthy = "HEALTHY"
)

// stateSeries is the gauge that micrometer makes of a breaker of Resilience4j: one series
// for each state, of which one has the value 1.
const stateSeries = "resilience4j_circuitbreaker_state"

// Reading is what is looked for on a page.
type Reading struct {
	Form    Form
	Subject string            // of the mark: the breaker as the experiment names it, or the series
	Name    string            // as the page has it: of the breaker, the series or the cluster
	Labels  map[string]string // FormCounter: those that a series has at least; several are added up
	Host    string            // FormEnvoy: address:port; may be empty if the cluster has one host
}

// read finds the texts of one reading on a page: one, but of FormEvents any number.
func (r Reading) read(page string) ([]string, error) {
	one := func(text string, err error) ([]string, error) {
		if err != nil {
			return nil, err
		}
		return []string{text}, nil
	}
	switch r.Form {
	case FormActuator:
		return one(r.actuator(page))
	case FormEvents:
		return r.events(page)
	case FormPrometheus:
		return one(r.gauge(page))
	case FormCounter:
		return one(r.counter(page))
	case FormEnvoy:
		return one(r.ejection(page))
	}
	return nil, fmt.Errorf("%q is no form of a page", r.Form)
}

// actuator finds the state of a breaker.
func (r Reading) actuator(page string) (string, error) {
	var all struct {
		CircuitBreakers json.RawMessage `json:"circuitBreakers"`
	}
	if err := json.Unmarshal([]byte(page), &all); err != nil {
		return "", fmt.Errorf("the page is not the actuator's: %w", err)
	}
	var states map[string]struct {
		State string `json:"state"`
	}
	if err := json.Unmarshal(all.CircuitBreakers, &states); err != nil {
		return "", errors.New("the page has no states of circuit breakers; Resilience4j 2 and Spring Boot tell them")
	}
	b, ok := states[r.Name]
	switch {
	case !ok:
		return "", fmt.Errorf("the page has no circuit breaker %q; it has %s", r.Name, list(slices.Sorted(maps.Keys(states))))
	case b.State == "":
		return "", fmt.Errorf("the page has no state of circuit breaker %q", r.Name)
	}
	return b.State, nil
}

// events finds the changes of a breaker's state: the instant by its own clock and FROM_TO.
func (r Reading) events(page string) ([]string, error) {
	var all struct {
		Events *[]struct {
			Breaker    string `json:"circuitBreakerName"`
			Type       string `json:"type"`
			Created    string `json:"creationTime"`
			Transition string `json:"stateTransition"`
		} `json:"circuitBreakerEvents"`
	}
	if err := json.Unmarshal([]byte(page), &all); err != nil {
		return nil, fmt.Errorf("the page is not the actuator's: %w", err)
	}
	if all.Events == nil {
		return nil, errors.New("the page has no events of circuit breakers")
	}
	var texts []string
	for _, e := range *all.Events {
		if e.Breaker == r.Name && e.Type == "STATE_TRANSITION" && e.Transition != "" {
			texts = append(texts, e.Created+" "+e.Transition)
		}
	}
	return texts, nil
}

// gauge finds the state whose series is 1.
func (r Reading) gauge(page string) (string, error) {
	samples, err := ParseText(page)
	if err != nil {
		return "", err
	}
	var states, seen []string
	for _, s := range samples {
		switch {
		case s.Name != stateSeries:
			continue
		case s.Labels["name"] != r.Name:
			seen = append(seen, s.Labels["name"])
			continue
		case s.Value == 1:
			states = append(states, strings.ToUpper(s.Labels["state"]))
		case s.Value != 0:
			return "", fmt.Errorf("%s of %q has the value %v, which is neither 0 nor 1", stateSeries, r.Name, s.Value)
		}
		seen = append(seen, r.Name)
	}
	slices.Sort(seen)
	switch seen = slices.Compact(seen); {
	case len(states) == 1 && states[0] != "":
		return states[0], nil
	case len(states) > 1:
		return "", fmt.Errorf("%s says that %q is %s at once", stateSeries, r.Name, strings.Join(states, " and "))
	case slices.Contains(seen, r.Name):
		return "", fmt.Errorf("%s has no state of %q with the value 1", stateSeries, r.Name)
	}
	return "", fmt.Errorf("the page has no %s of %q; it has %s", stateSeries, r.Name, list(seen))
}

// counter adds up the series that have the labels; it is empty if there is none, which is
// what a library that makes them at their first event begins with.
func (r Reading) counter(page string) (string, error) {
	samples, err := ParseText(page)
	if err != nil {
		return "", err
	}
	sum, found := 0.0, false
	for _, s := range samples {
		if s.Has(r.Name, r.Labels) {
			sum, found = sum+s.Value, true
		}
	}
	if !found {
		return "", nil
	}
	return strconv.FormatFloat(sum, 'g', -1, 64), nil
}

// cluster is what Envoy tells of one.
type cluster struct {
	Name  string `json:"name"`
	Hosts []struct {
		Address struct {
			Socket struct {
				Address string `json:"address"`
				Port    int    `json:"port_value"`
			} `json:"socket_address"`
		} `json:"address"`
		Health struct {
			Ejected bool `json:"failed_outlier_check"` // left out when false
		} `json:"health_status"`
	} `json:"host_statuses"`
}

// ejection finds whether the host of a cluster is ejected.
func (r Reading) ejection(page string) (string, error) {
	var all struct {
		Clusters []cluster `json:"cluster_statuses"`
	}
	if err := json.Unmarshal([]byte(page), &all); err != nil {
		return "", fmt.Errorf("the page is not Envoy's /clusters?format=json: %w", err)
	}
	var names []string
	for _, c := range all.Clusters {
		if c.Name == r.Name {
			return c.ejection(r.Host)
		}
		names = append(names, c.Name)
	}
	return "", fmt.Errorf("the page has no cluster %q; it has %s", r.Name, list(names))
}

// ejection is the state of one host of a cluster.
func (c cluster) ejection(host string) (string, error) {
	var hosts []string
	for _, h := range c.Hosts {
		at := h.Address.Socket
		name := at.Address + ":" + strconv.Itoa(at.Port)
		hosts = append(hosts, name)
		if name != host && (host != "" || len(c.Hosts) > 1) {
			continue
		}
		if h.Health.Ejected {
			return Ejected, nil
		}
		return Healthy, nil
	}
	if host == "" && len(hosts) > 1 {
		return "", fmt.Errorf("cluster %q has more than one host, name one of %s", c.Name, list(hosts))
	}
	return "", fmt.Errorf("cluster %q has no host %q; it has %s", c.Name, host, list(hosts))
}

// list names what there is, the first few.
func list(names []string) string {
	const most = 8
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", n-most)
	}
	return strings.Join(names, ", ")
}
