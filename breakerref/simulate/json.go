package simulate

import (
	"encoding/json"
	"io"
)

// Table is what is reported: one row, or one for each combination of varied values.
type Table struct {
	Source string   // where the model comes from, in a few words
	Notes  []string // of how it was made
	Rows   []Row
	Out    []*Result // one for each row
}

// The form of a report as JSON. Names that end in _ns are nanoseconds.
type (
	reportJSON struct {
		Kind   string    `json:"kind"` // SimulationReport
		Source string    `json:"source,omitempty"`
		Notes  []string  `json:"notes,omitempty"`
		Seed   uint64    `json:"seed"`
		Rows   []rowJSON `json:"rows"`
	}
	rowJSON struct {
		Changed  []string          `json:"changed,omitempty"`
		Values   map[string]string `json:"values"`
		Trials   int               `json:"trials"`
		Calls    int64             `json:"calls_simulated"`
		Cut      int               `json:"trials_stopped_early"`
		Outage   *outageJSON       `json:"outage,omitempty"`
		Healthy  Quiet             `json:"healthy"`
		Advice   []Advice          `json:"advice,omitempty"`
		Timeline *Course           `json:"typical_trial"`
	}
	outageJSON struct {
		From       int64   `json:"from_ns"`
		To         int64   `json:"to_ns"`
		Breakers   int     `json:"breakers"`
		NotClosed  int     `json:"not_closed_when_it_began"`
		Opened     int     `json:"opened"`
		Never      int     `json:"never_opened"`
		ToOpen     Spread  `json:"time_to_open_ns"`
		Outcomes   Spread  `json:"outcomes_to_open"`
		Recovered  Spread  `json:"time_to_recover_ns"`
		Settled    Spread  `json:"time_to_recover_for_good_ns"`
		Unsettled  int     `json:"not_recovered_for_good"`
		Late       int64   `json:"openings_after"`
		Comeback   int64   `json:"calls_that_came_back"`
		Before     Ends    `json:"calls_before"`
		During     Ends    `json:"calls_during"`
		After      Ends    `json:"calls_after"`
		LoadBefore float64 `json:"load_before_per_second"`
		LoadDuring float64 `json:"load_during_per_second"`
		LoadAfter  float64 `json:"load_after_per_second"`
		PeakBefore Spread  `json:"peak_second_before"`
		PeakAfter  Spread  `json:"peak_second_after"`
	}
)

// WriteJSON writes the report as JSON.
func (t *Table) WriteJSON(w io.Writer) error {
	doc := reportJSON{Kind: "SimulationReport", Source: t.Source, Notes: t.Notes}
	for i, r := range t.Out {
		doc.Seed = r.Seed
		row := rowJSON{Changed: t.Rows[i].Changed, Values: map[string]string{}, Trials: r.Trials, Calls: r.Calls, Cut: r.Cut, Healthy: r.Quiet, Advice: r.Advice, Timeline: r.Typical}
		for _, p := range Params() {
			row.Values[p.Name] = p.Get(&r.Model)
		}
		if o := r.Model.outage(); !o.none() {
			row.Outage = &outageJSON{
				int64(o.From), int64(o.To), r.Breakers, r.NotClosed, r.Opened, r.Never, r.ToOpen, r.Outcomes, r.Recovered, r.Settled, r.Unsettled, r.Late, r.Comeback,
				r.Before, r.During, r.After, r.LoadBefore, r.LoadDuring, r.LoadAfter, r.PeakBefore, r.PeakAfter,
			}
		}
		doc.Rows = append(doc.Rows, row)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(doc)
}
