// Package yamldoc reads strict YAML into typed values, and tells everything that
// is wrong with it at once, each problem with its line and column.
//
// It is the only importer of the YAML library. A reader asks for the keys that it
// knows, with a type and a default; whatever it did not ask for is a problem:
//
//	doc := yamldoc.Parse("exp.yaml", src)
//	m := doc.Root().Map("")
//	name := m.Need("name").Text("")
//	wait := m.Get("wait").Duration(5 * time.Second)
//	m.Done() // unknown keys, with the nearest known one
//	err := doc.Err() // nil, or Problems sorted by position
//
// # Values
//
// A [Value] is always usable. One that is absent, or of the wrong type, gives the
// default; the wrong type was then noted as a problem. So a reader is a straight
// line without error handling, and it sees the whole document.
//
// Scalars are taken as they are written, not as YAML 1.1 resolves them: yes, 010,
// 1:30 and 1e3 have no second meaning here. Where a number is asked for, a leading
// zero is refused, because YAML makes an octal number of it. An empty value (null)
// is a problem for every type: a key is given a value or left out.
//
// # One cause, one problem
//
// A misspelt key is told once: what is said to be missing because of it is taken
// back (see [Map.Done] and [Map.Lacks]). What else follows from a part that has
// problems only its reader knows; [Doc.Noted] tells it when to keep quiet.
//
// # What is refused before reading
//
// A second document, an empty file, explicit tags (!!str), merge keys (<<, not in
// YAML 1.2), keys that are not scalars, duplicate keys, anchors that contain
// themselves and aliases that expand to more than 100,000 values. Anchors and
// aliases are fine otherwise; problems inside an alias are told at its anchor.
//
// # Syntax errors
//
// The YAML library tells a line that is often one off, or the line where the
// enclosing block began. The line told here is the one after the longest beginning
// of the file that is good YAML.
package yamldoc
