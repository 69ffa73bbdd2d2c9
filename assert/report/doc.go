// Package report says what a judged run came to: as a summary that scripts read
// (verdicts.json), as text for a terminal and as Markdown for a pull request.
//
// It reads verdicts and writes bytes; it never judges. What it is given may hold
// anything that a system under test answered, so text for people has its control
// characters spelled out. It shortens nothing silently: cells wrap, and where a
// list is cut the number of what is missing is printed.
package report
