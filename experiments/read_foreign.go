package experiments

import "github.com/faultline-go/faultline/internal/yamldoc"

// foreign tells of keys that are a fault's in other tools, and what they are called here.
func foreign(m *yamldoc.Map) {
	for _, name := range m.Unknown() {
		if here := calledHere(name); here != "" {
			m.Get(name) // It was told.
			m.Key(name).Problemf("unknown key; %s", here)
		}
	}
}

func isForeign(key string) bool { return calledHere(key) != "" }

// calledHere is what a key of other tools is here; nothing for any other key.
func calledHere(key string) string {
	switch key {
	case "delay", "fixed", "jitter":
		return "to answer late, write latency: {fixed: 200ms}"
	case "abort", "error", "status":
		return "to answer otherwise, write respond: {status: 503}"
	case "timeout":
		return "to give no answer, write hang: true"
	case "probability", "percentage", "percent", "toxicity", "share":
		return "to hit a part of the requests, write ratio: 30%"
	case "path", "method", "header", "headers":
		return "to choose the requests, write match: {method: POST, path: /pay}, or match: {header: {X-User: anna}}"
	}
	return ""
}
