package ci

import (
	"encoding/xml"
	"strings"
	"unicode/utf8"
)

// suites is the document. Attributes and the order of elements are those of the
// schema that Jenkins publishes; file and line are what GitHub's readers add.
type suites struct {
	XMLName xml.Name `xml:"testsuites"`
	Name    string   `xml:"name,attr"`
	counts
	Time   string  `xml:"time,attr"`
	Suites []suite `xml:"testsuite"`
}

type suite struct {
	Name string `xml:"name,attr"`
	counts
	Time       string      `xml:"time,attr"`
	Timestamp  string      `xml:"timestamp,attr,omitempty"`
	Properties *properties `xml:"properties"`
	Cases      []testcase  `xml:"testcase"`
}

type counts struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
}

func (c *counts) add(d counts) {
	c.Tests += d.Tests
	c.Failures += d.Failures
	c.Errors += d.Errors
	c.Skipped += d.Skipped
}

type properties struct {
	Properties []property `xml:"property"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Name      string   `xml:"name,attr"`
	ClassName string   `xml:"classname,attr"`
	File      string   `xml:"file,attr,omitempty"`
	Line      int      `xml:"line,attr,omitempty"`
	Time      string   `xml:"time,attr"`
	Skipped   *skipped `xml:"skipped"`
	Error     *problem `xml:"error"`
	Failure   *problem `xml:"failure"`
	SystemOut *text    `xml:"system-out"`
}

func (c testcase) counts() counts {
	n := counts{Tests: 1}
	switch {
	case c.Failure != nil:
		n.Failures = 1
	case c.Error != nil:
		n.Errors = 1
	case c.Skipped != nil:
		n.Skipped = 1
	}
	return n
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",cdata"`
}

type skipped struct {
	Message string `xml:"message,attr"`
}

type text struct {
	Text string `xml:",cdata"`
}

// legible is text as XML can hold it: what is no text, and control characters,
// become U+FFFD. Attributes are treated so by encoding/xml, CDATA is not.
func legible(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0xFFFE, r == 0xFFFF:
			return utf8.RuneError
		}
		return r
	}, s)
}
