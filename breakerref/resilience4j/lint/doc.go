// Package lint reads a Resilience4j configuration for what will surprise its owner: a
// value that Spring refuses, a key that has no effect, a breaker that cannot open, a
// default that is not what most people think it is.
//
// It is held to three things. A finding of [Error] is certain from the file alone: the
// application does not start, or what is written does nothing. What another file could
// mend is at most a [Warning]: a file for one profile, such as application-prod.yml, is
// not blamed for what it leaves out. And what depends on a value that is not known, such
// as a placeholder without a default, is not judged.
//
// # Suppression
//
// A comment takes back the findings of one rule on its own line, or on the line after
// it; several such comments may stand above one another:
//
//	minimumNumberOfCalls: 50  # faultline:ignore minimum-above-window the window grows in May
//
// The reason is part of it. Without one, for a rule that does not exist, or where there
// is nothing to take back, the comment is a finding itself.
package lint
