package control

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// The sizes of bodies, in bytes.
const (
	maxPlan = 4 << 20
	maxBody = 64 << 10
)

// read decodes the body of a request strictly. An empty body is {} where that may be.
func read(w http.ResponseWriter, r *http.Request, limit int64, optional bool, to any) *problem {
	if optional && r.ContentLength == 0 {
		return nil // Who clears by hand need not know what JSON is; pages of others are told by their origin.
	}
	if !isJSON(r) {
		return refuse(http.StatusUnsupportedMediaType, "media_type", "send Content-Type: application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return refuse(http.StatusRequestEntityTooLarge, "too_large", fmt.Sprintf("the body has more than %d bytes", limit))
	}
	if err != nil {
		return refuse(http.StatusBadRequest, "bad_body", "the body broke off: "+err.Error())
	}
	if len(body) == 0 && optional {
		return nil
	}
	if err := decode(body, to); err != nil {
		return refuse(http.StatusBadRequest, "bad_body", err.Error())
	}
	return nil
}

// decode decodes one JSON value: unknown and repeated keys, and anything after it, are errors.
func decode(text []byte, to any) error {
	if !utf8.Valid(text) {
		return errors.New("the body is not UTF-8")
	}
	if err := noTwins(text); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	err := dec.Decode(to)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the body is not what is expected: %s is a JSON %s, and %s", cmp.Or(wrong.Field, "it"), wrong.Value, wants(wrong.Type))
	}
	if err != nil {
		return errors.New("the body is not what is expected: " + strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// wants says what belongs where another kind of value stands.
func wants(t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch k := t.Kind(); {
	case k == reflect.Struct || k == reflect.Map:
		return "an object belongs there"
	case k == reflect.Slice:
		return "an array belongs there"
	case k == reflect.Bool:
		return "true or false belongs there"
	case k == reflect.String:
		return "a string belongs there"
	case t == reflect.TypeFor[time.Duration]():
		return "a number of nanoseconds belongs there"
	}
	return "a number of its range belongs there"
}

// mostDepth is how deep objects and arrays may lie within one another.
const mostDepth = 64

// noTwins reads one JSON value, and refuses an object with a key that it has already, of
// which a decoder would silently take one. Keys that differ in the case of letters are the
// same to the decoder, see folded.
func noTwins(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var n nesting
	for began := false; !began || len(n.open) > 0; began = true {
		token, err := dec.Token()
		if err == nil {
			err = n.take(token)
		} else {
			err = fmt.Errorf("the body is not JSON: %w", err)
		}
		if err != nil {
			return err
		}
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body goes on after its end")
	}
	return nil
}

// nesting is the objects and arrays around a place in a JSON text.
type nesting struct {
	open []map[string]bool // the keys of each; nil: an array
	key  bool              // a key comes next, or the end of an object
}

// take goes on by one token.
func (n *nesting) take(token json.Token) error {
	switch t := token.(type) {
	case json.Delim:
		return n.nest(t)
	case string:
		if n.key {
			n.key = false
			return n.add(t)
		}
	}
	n.valueEnds()
	return nil
}

// add notes a key of the innermost object.
func (n *nesting) add(key string) error {
	keys, name := n.open[len(n.open)-1], folded(key)
	if keys[name] {
		return fmt.Errorf("the body has the key %q twice in an object", key)
	}
	keys[name] = true
	return nil
}

// folded is what keys have in common that are the same to encoding/json: Unicode has letters outside of ASCII
// that are other cases of such within, the long s and the Kelvin sign.
func folded(key string) string {
	return strings.Map(func(r rune) rune {
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return least
	}, key)
}

// nest opens or closes an object or array.
func (n *nesting) nest(d json.Delim) error {
	switch d {
	case '{':
		n.open, n.key = append(n.open, map[string]bool{}), true
	case '[':
		n.open, n.key = append(n.open, nil), false
	default:
		n.open = n.open[:len(n.open)-1]
		n.valueEnds()
	}
	if len(n.open) > mostDepth {
		return fmt.Errorf("the body is nested more than %d deep", mostDepth)
	}
	return nil
}

// valueEnds tells that a value is complete: in an object, a key is next.
func (n *nesting) valueEnds() { n.key = len(n.open) > 0 && n.open[len(n.open)-1] != nil }
