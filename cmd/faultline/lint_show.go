package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/breakerref/resilience4j/lint"
	"github.com/faultline-go/faultline/internal/yamldoc"
)

// explainRules explains rules, or lists all.
func (a app) explainRules(f lintFlags, ids []string) error {
	if f.format.word != formatText && f.format.word != formatJSON {
		return exit(report.ExitDefinition, fmt.Errorf("--explain has the formats text and json, not %s", f.format.word))
	}
	rules := lint.Rules()
	if len(ids) > 0 {
		rules = nil
	}
	for _, id := range ids {
		r, ok := lint.Find(id)
		if !ok {
			hint := "; faultline lint --explain lists all"
			if near := yamldoc.Nearest(id, lint.IDs()); near != "" {
				hint = "; did you mean " + near + "?"
			}
			return exit(report.ExitDefinition, fmt.Errorf("there is no rule %q%s", id, hint))
		}
		rules = append(rules, r)
	}
	var err error
	switch {
	case f.format.word == formatJSON:
		err = writeRulesJSON(a.stdout, rules)
	case len(ids) == 0:
		_, err = io.WriteString(a.stdout, a.listOfRules(f, rules))
	default:
		var texts []string
		for _, r := range rules {
			texts = append(texts, r.Text())
		}
		_, err = io.WriteString(a.stdout, strings.Join(texts, "\n"))
	}
	if err != nil {
		return exit(report.ExitInconclusive, fmt.Errorf("explain: %w", err))
	}
	return nil
}

func (a app) listOfRules(f lintFlags, rules []lint.Rule) string {
	var rows [][]string
	for _, r := range rules {
		rows = append(rows, []string{r.ID, r.Severity.String(), r.Title})
	}
	return strings.Join(report.Table([]string{"rule", "severity", "about"}, rows, a.textOptions(f)), "\n") + "\n"
}

func writeRulesJSON(w io.Writer, rules []lint.Rule) error {
	type rule struct {
		ID       string        `json:"id"`
		Severity lint.Severity `json:"severity"`
		Title    string        `json:"title"`
		Why      string        `json:"why"`
		Fix      string        `json:"fix"`
		Source   string        `json:"source"`
		Bad      string        `json:"bad"`
		Good     string        `json:"good"`
	}
	var all []rule
	for _, r := range rules {
		all = append(all, rule{r.ID, r.Severity, r.Title, r.Why, r.Fix, r.Source, r.Bad(), r.Good()})
	}
	return writeJSON(w, all)
}

// What instances are configured to, in JSON.
type (
	effectiveFile struct {
		File      string              `json:"file"`
		Instances []effectiveInstance `json:"instances"`
		Nesting   []string            `json:"nesting"` // of the modules around a method, the outermost first
	}
	effectiveInstance struct {
		Module   string             `json:"module"`
		Name     string             `json:"name"`
		Settings []effectiveSetting `json:"settings,omitempty"`
		Unusable string             `json:"unusable,omitempty"` // why Spring cannot make it
	}
	effectiveSetting struct {
		Key    string `json:"key"`
		Value  string `json:"value"`
		From   string `json:"from"` // instance, config or library
		Config string `json:"config,omitempty"`
		Line   int    `json:"line,omitempty"`
		Column int    `json:"column,omitempty"`
	}
)

// printEffective prints what instances are configured to.
func (a app) printEffective(f lintFlags, files []string) error {
	if f.format.word != formatText && f.format.word != formatJSON {
		return exit(report.ExitDefinition, fmt.Errorf("--effective has the formats text and json, not %s", f.format.word))
	}
	opt := f.options(a.getenv)
	var all []effectiveFile
	var known []string
	unread := false
	for _, file := range files {
		name, src, err := a.source(file)
		var read *resilience4j.File
		if err == nil {
			read, err = resilience4j.Read(name, src, resilience4j.Options{Profiles: opt.Profiles, Env: opt.Env})
		}
		if err != nil {
			unread = true
			a.say("%v", err)
			continue
		}
		all = append(all, shownOf(name, read, f.instance, &known))
	}
	if err := a.writeEffective(f, all); err != nil {
		return exit(report.ExitInconclusive, fmt.Errorf("lint: %w", err))
	}
	if unread {
		return exit(report.ExitDefinition, nil)
	}
	return f.shown(all, known)
}

// shown ends with an error if what was asked for is not there, or cannot be made.
func (f *lintFlags) shown(all []effectiveFile, known []string) error {
	count, unusable := 0, false
	for _, file := range all {
		count += len(file.Instances)
		for _, i := range file.Instances {
			unusable = unusable || i.Unusable != ""
		}
	}
	switch {
	case count == 0 && f.instance != "":
		return exit(report.ExitDefinition, fmt.Errorf("--effective: there is no instance %q%s", f.instance, hintOf(f.instance, slices.Compact(slices.Sorted(slices.Values(known))))))
	case count == 0:
		return exit(report.ExitDefinition, errors.New("--effective: there is no instance in what was read"))
	case unusable:
		return exit(report.ExitFail, nil)
	}
	return nil
}

// shownOf returns the instances of a file, or the one that is asked for, and adds
// the names of all to known.
func shownOf(name string, file *resilience4j.File, instance string, known *[]string) effectiveFile {
	out := effectiveFile{File: name, Instances: []effectiveInstance{}}
	for _, m := range resilience4j.Modules() {
		for _, n := range file.Instances(m) {
			*known = append(*known, n)
			if instance == "" || n == instance {
				out.Instances = append(out.Instances, shownInstanceOf(file, m, n))
			}
		}
	}
	for _, a := range file.AspectOrder() {
		out.Nesting = append(out.Nesting, a.Module.String())
	}
	return out
}

func shownInstanceOf(file *resilience4j.File, m resilience4j.Module, name string) effectiveInstance {
	i := effectiveInstance{Module: m.String(), Name: name}
	settings, err := file.Effective(m, name)
	if err != nil {
		i.Unusable = err.Error()
	}
	for _, s := range settings {
		i.Settings = append(i.Settings, settingOf(s))
	}
	return i
}

func settingOf(s resilience4j.Setting) effectiveSetting {
	out := effectiveSetting{Key: s.Key, Value: s.Value, From: "library", Config: s.Origin.Config, Line: s.Origin.Pos.Line, Column: s.Origin.Pos.Col}
	switch s.Origin.Source {
	case resilience4j.FromInstance:
		out.From = "instance"
	case resilience4j.FromConfig:
		out.From = "config"
	case resilience4j.FromLibrary:
	}
	return out
}

// origin is where a setting came from, for a person.
func (s effectiveSetting) origin(file string) string {
	at := fmt.Sprintf("%s:%d:%d", file, s.Line, s.Column)
	switch s.From {
	case "instance":
		return at
	case "config":
		return at + ", config " + s.Config
	}
	return "library default"
}

// text lays out the settings of an instance.
func (i effectiveInstance) text(file string, opt report.TextOptions) string {
	if i.Unusable != "" {
		return "  Spring does not start: " + oneLine(i.Unusable) + "\n"
	}
	var rows [][]string
	for _, s := range i.Settings {
		rows = append(rows, []string{s.Key, cmp.Or(s.Value, "-"), s.origin(file)})
	}
	return strings.Join(report.Table([]string{"key", "value", "from"}, rows, opt), "\n") + "\n"
}

func (a app) writeEffective(f lintFlags, all []effectiveFile) error {
	if f.format.word == formatJSON {
		return writeJSON(a.stdout, all)
	}
	var b strings.Builder
	opt := a.textOptions(f)
	if !a.screenOf(a.stdout, f.noColor).terminal {
		opt.Width = 200 // The longest names stay whole.
	}
	for _, file := range all {
		for _, i := range file.Instances {
			fmt.Fprintf(&b, "%s: %s %s\n%s\n", oneLine(file.File), i.Module, oneLine(i.Name), i.text(file.File, opt))
		}
		if len(file.Instances) > 0 {
			fmt.Fprintf(&b, "%s: around a method, the outermost first: %s\n", oneLine(file.File), strings.Join(file.Nesting, ", "))
		}
	}
	_, err := io.WriteString(a.stdout, b.String())
	return err
}
