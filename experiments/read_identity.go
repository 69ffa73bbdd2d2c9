package experiments

import (
	"slices"
	"strings"

	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// Carriers of a call's identity that need nothing to be sent.
const (
	carrierSingleFlight = "single_flight"
	carrierAggregate    = "aggregate"
)

// correlate reads how attempts are joined with calls.
func (r *reader) correlate(v yamldoc.Value) {
	m := v.Map("{order: [traceparent, single_flight]}")
	defer m.Done()
	c := Correlate{MinJoin: m.Get("min_join").Share(0)}
	r.order = m.Get("order")
	if r.order.Exists() {
		c.Order = carriers(r.order)
	} else {
		c.Order = []string{match.Traceparent, match.HeaderPrefix + match.RequestID, carrierSingleFlight}
	}
	r.plan.Correlate = c
}

// carriers reads the order in which carriers of a call's identity are tried.
func carriers(v yamldoc.Value) []string {
	seen := &names{kind: "carrier"}
	var order []string
	for _, item := range v.Items() {
		text := item.NonEmpty()
		header, isHeader := strings.CutPrefix(text, match.HeaderPrefix)
		field, isField := strings.CutPrefix(text, match.CarrierTemplate+":")
		switch {
		case isHeader && strings.EqualFold(header, match.Traceparent):
			item.Problemf("write traceparent: the header is read for the trace-id in it, not as a whole")
			continue
		case isHeader && isToken(header):
			text = match.HeaderPrefix + strings.ToLower(header)
		case isField && field != "" && strings.TrimSpace(field) == field:
		case slices.Contains([]string{"", match.Traceparent, match.CarrierTemplate, carrierSingleFlight, carrierAggregate}, text):
		default:
			item.Problemf("%q is not a carrier; known are traceparent, header:NAME, template, template:NAME, single_flight and aggregate", text)
			continue
		}
		if slices.Contains(order, carrierAggregate) {
			item.Problemf("comes after aggregate, which always works; put it before")
		}
		seen.declare(item, text)
		order = append(order, text)
	}
	return order
}

// templated reads the text of a target, in which a call's identity may stand.
func (r *reader) templated(v yamldoc.Value, text string) string {
	t, err := match.ParseTemplate(text)
	if err != nil {
		v.Problemf("%v", err)
	}
	r.tokens = r.tokens || t.Templated()
	return text
}

// withoutTokens puts something harmless in the place of a call's identity.
func withoutTokens(text string) string {
	return strings.NewReplacer(match.TemplateID, "0", match.TemplateUUID, "0").Replace(text)
}

// tokenOrder settles whether a call's identity is sought outside headers, which
// the targets decide.
func (r *reader) tokenOrder() {
	c := &r.plan.Correlate
	if !r.order.Exists() {
		if r.tokens {
			i := slices.Index(c.Order, carrierSingleFlight)
			c.Order = slices.Insert(c.Order, i, match.CarrierTemplate)
		}
		return
	}
	for _, carrier := range c.Order {
		if name, _, _ := strings.Cut(carrier, ":"); name == match.CarrierTemplate && !r.tokens && !r.targets.blind {
			r.order.Problemf("%s seeks what no target sends; put %s or %s into the path, the headers or the body of one",
				carrier, match.TemplateID, match.TemplateUUID)
		}
	}
}
