package lint

import (
	"fmt"
	"regexp"
	"strings"
)

// Markdown explains a rule: what, why, how to do better, a bad example and a good one.
func (r Rule) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** (%v). %s\n\n", r.Title, r.Severity, r.Why)
	fmt.Fprintf(&b, "To do: %s.\n\n", r.Fix)
	if r.Whole {
		b.WriteString("Not applied to a file for one profile.\n\n")
	}
	fmt.Fprintf(&b, "Known from: %s.\n\n", linked(r.Source))
	fmt.Fprintf(&b, "```yaml\n# bad\n%s```\n\n```yaml\n# good\n%s```\n", r.Bad(), r.Good())
	return b.String()
}

// Text explains a rule in plain text.
func (r Rule) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%v): %s\n\n%s\n\nTo do: %s.\n", r.ID, r.Severity, r.Title, r.Why, r.Fix)
	if r.Whole {
		b.WriteString("Not applied to a file for one profile, such as application-prod.yml.\n")
	}
	fmt.Fprintf(&b, "Known from: %s.\n", r.Source)
	for _, e := range [][2]string{{"bad", r.Bad()}, {"good", r.Good()}} {
		fmt.Fprintf(&b, "\n%s:\n", e[0])
		for line := range strings.Lines(e[1]) {
			b.WriteString("  " + line)
		}
	}
	return b.String()
}

// issue is a reference to an issue: a project, if it is another than that of the one
// before, and a number.
var issue = regexp.MustCompile(`([A-Za-z][A-Za-z0-9-]*)?#(\d+)`)

// linked makes links of the issues that a text names.
func linked(text string) string {
	project := ""
	return issue.ReplaceAllStringFunc(text, func(ref string) string {
		m := issue.FindStringSubmatch(ref)
		if m[1] != "" {
			project = m[1]
		}
		owner := "spring-cloud"
		if strings.HasPrefix(strings.ToLower(project), "resilience4j") {
			owner = "resilience4j"
		}
		return fmt.Sprintf("[%s](https://github.com/%s/%s/issues/%s)", ref, owner, project, m[2])
	})
}

// Page is the page of documentation about all rules, in Markdown.
func Page() string {
	var b strings.Builder
	b.WriteString(`# The rules of faultline lint

<!-- Written by go test ./breakerref/resilience4j/lint -update from the rules and their examples. -->

` + "`faultline lint FILE...`" + ` reads the Resilience4j configuration of a Spring Boot application and runs nothing.

- An **error** is certain from the file alone: the application does not start, or what is written does nothing, or the breaker can never open.
- A **warning** is most likely not what is wanted. A **note** is worth knowing.
- A file for one profile (` + "`application-prod.yml`" + `) says only what differs, so rules about what is not written are left out, and a config that is not there is a warning. Files are looked at one by one.
- What depends on a placeholder without a value, or on a value that Spring refuses, is not judged.
- Facts are those of Resilience4j 2.4 and Spring Boot 3.

A comment on the line of a finding, or above it, takes the findings of one rule back and says why:

` + "```yaml" + `
minimumNumberOfCalls: 50  # faultline:ignore minimum-above-window the window grows in May
` + "```" + `

In .properties files, which have comments only on lines of their own, it stands above. The line is the one that the finding names.

| rule | severity | about |
|---|---|---|
`)
	for _, r := range Rules() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %v | %s |\n", r.ID, r.ID, r.Severity, r.Title)
	}
	for _, r := range Rules() {
		fmt.Fprintf(&b, "\n## `%s`\n\n%s", r.ID, r.Markdown())
	}
	return b.String()
}
