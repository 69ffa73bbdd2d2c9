package ci

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"path"
	"strings"
)

// Check is a rule that files are held to.
type Check struct {
	ID       string
	Level    Level  // of its findings, as a rule; one may be lighter
	Title    string // one line, no full stop
	Text     string // why it is one
	Help     string // how to do better, plain text
	Markdown string // the same, formatted
}

// Inspection is what files were held to, and what was found.
type Inspection struct {
	Tool     string // faultline's version
	Checks   []Check
	Findings []Finding
	// Unread are files that could not be read: their Rule is empty, and the level
	// does not count.
	Unread []Finding
}

// WriteSARIF writes an inspection as SARIF 2.1.0, which GitHub, GitLab and Azure read.
// Names of files stay relative if they are, because readers look for them in the
// repository; columns count characters. It returns an error only when w does.
//
// Source: OASIS, Static Analysis Results Interchange Format 2.1.0 with errata 01.
func WriteSARIF(w io.Writer, in Inspection) error {
	log := sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0",
		Runs:    []sarifRun{in.run()},
	}
	out, err := json.MarshalIndent(log, "", "  ")
	if err != nil {
		return fmt.Errorf("encode SARIF: %w", err)
	}
	if _, err := w.Write(append(out, '\n')); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

// run is an inspection as the one run of a log.
func (in Inspection) run() sarifRun {
	r := sarifRun{
		Tool: sarifTool{sarifDriver{
			Name: "faultline", Version: in.Tool,
			InformationURI: "https://github.com/faultline-go/faultline",
			Rules:          []sarifRule{},
		}},
		Invocations: []sarifInvocation{{ExecutionSuccessful: len(in.Unread) == 0}},
		Results:     []sarifResult{},
		ColumnKind:  "unicodeCodePoints",
	}
	index := map[string]int{}
	for i, c := range in.Checks {
		index[c.ID] = i
		r.Tool.Driver.Rules = append(r.Tool.Driver.Rules, c.sarif())
	}
	for _, f := range in.Findings {
		res := sarifResult{RuleID: f.Rule, Level: f.Level, Message: sarifText{Text: f.Message}, Locations: f.locations()}
		if i, known := index[f.Rule]; known {
			res.RuleIndex = &i
		}
		if f.Suppressed != "" {
			res.Suppressions = []sarifSuppression{{"inSource", f.Suppressed}}
		}
		r.Results = append(r.Results, res)
	}
	for _, f := range in.Unread {
		r.Invocations[0].Notifications = append(r.Invocations[0].Notifications,
			sarifNotification{LevelError, sarifText{Text: f.Message}, f.locations()})
	}
	return r
}

func (c Check) sarif() sarifRule {
	return sarifRule{
		ID:               c.ID,
		ShortDescription: sarifText{Text: c.Title},
		FullDescription:  sarifText{Text: c.Text},
		Help:             sarifText{Text: c.Help, Markdown: c.Markdown},
		Configuration:    sarifConfiguration{c.Level},
	}
}

// locations is where a finding is, as the list that SARIF wants.
func (f Finding) locations() []sarifLocation {
	var l sarifLocation
	l.Physical.Artifact.URI = fileURI(f.File)
	if f.Line > 0 {
		l.Physical.Region = &sarifRegion{f.Line, f.Column}
	}
	return []sarifLocation{l}
}

// fileURI is a file's name as a URI, relative if the name is.
func fileURI(name string) string {
	u := url.URL{Path: path.Clean(strings.ReplaceAll(name, `\`, "/"))}
	if path.IsAbs(u.Path) {
		u.Scheme = "file"
	}
	return u.String()
}

// The parts of SARIF that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool         `json:"tool"`
		Invocations []sarifInvocation `json:"invocations"`
		Results     []sarifResult     `json:"results"`
		ColumnKind  string            `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string             `json:"id"`
		ShortDescription sarifText          `json:"shortDescription"`
		FullDescription  sarifText          `json:"fullDescription"`
		Help             sarifText          `json:"help"`
		Configuration    sarifConfiguration `json:"defaultConfiguration"`
	}
	sarifConfiguration struct {
		Level Level `json:"level"`
	}
	sarifText struct {
		Text     string `json:"text"`
		Markdown string `json:"markdown,omitempty"`
	}
	sarifInvocation struct {
		ExecutionSuccessful bool                `json:"executionSuccessful"`
		Notifications       []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level     Level           `json:"level"`
		Message   sarifText       `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    *int               `json:"ruleIndex,omitempty"`
		Level        Level              `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact struct {
				URI string `json:"uri"`
			} `json:"artifactLocation"`
			Region *sarifRegion `json:"region,omitempty"`
		} `json:"physicalLocation"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
	}
)
