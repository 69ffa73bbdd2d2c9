// Package ci writes what CI systems read. JUnit XML is written so that GitLab,
// Jenkins and the common GitHub actions each find the suite, the case, the file
// with its line, and the message: names hold nothing that differs from run to
// run, because readers follow a case by its class name and name, and each case
// has at most one of failure, error and skipped, because readers take the first.
//
// What is found in files without running anything is written as SARIF 2.1.0 or as
// annotations of GitHub.
package ci
