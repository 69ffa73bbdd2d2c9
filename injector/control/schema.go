package control

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/injector/fault"
)

// schemas are the JSON Schemas of named types, by name: what encoding/json makes of a Go
// type, so that the document cannot fall behind it.
type schemas map[string]object

// all are those that are used.
func (s schemas) all() object {
	all := object{}
	for name, schema := range s {
		all[name] = schema
	}
	return all
}

// of is a type's schema, or a reference to it.
func (s schemas) of(t reflect.Type) object {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return object{"type": "integer", "description": "nanoseconds"}
	case reflect.TypeFor[time.Time]():
		return object{"type": "string", "format": "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return s.of(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": s.of(t.Elem())}
	case reflect.Map:
		return object{"type": "object", "additionalProperties": s.of(t.Elem())}
	case reflect.Struct:
		return s.named(t)
	default:
		return scalar(t)
	}
}

// scalar is the schema of a type without parts.
func scalar(t reflect.Type) object {
	switch {
	case t.Kind() == reflect.String:
		d := object{"type": "string"}
		if values := words()[t]; values != nil {
			d["enum"] = values
		}
		return d
	case t.Kind() == reflect.Bool:
		return object{"type": "boolean"}
	case t.ConvertibleTo(reflect.TypeFor[float64]()) && t.Kind() != reflect.Float64 && t.Kind() != reflect.Float32:
		d := object{"type": "integer"}
		if strings.HasPrefix(t.Kind().String(), "uint") {
			d["minimum"] = 0
		}
		return d
	case t.Kind() == reflect.Float64:
		return object{"type": "number"}
	}
	return object{}
}

// named puts a struct's schema among the others.
func (s schemas) named(t reflect.Type) object {
	if t.Name() == "" {
		return s.structure(t)
	}
	name := t.Name()
	if _, known := s[name]; !known {
		s[name] = object{} // A type that holds itself finds it.
		s[name] = s.structure(t)
	}
	return object{"$ref": "#/components/schemas/" + name}
}

// structure is a struct's schema. What an answer always has is required; what is sent may
// leave out all but what has no sensible zero.
func (s schemas) structure(t reflect.Type) object {
	properties := object{}
	required := []string{}
	s.fields(t, properties, &required)
	if must, ok := musts()[t]; ok {
		required = must
	}
	if fromCaller := t.PkgPath() == reflect.TypeFor[fault.Script]().PkgPath(); fromCaller && musts()[t] == nil {
		required = []string{}
	}
	slices.Sort(required)
	return object{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
}

// musts are the parts without which nobody can be understood.
func musts() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[fault.Script](): {"phases"},
		reflect.TypeFor[fault.Rule]():   {"action"},
		reflect.TypeFor[fault.Select](): {"kind"},
	}
}

// fields adds those of a struct, and of what it embeds.
func (s schemas) fields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		tag := strings.Split(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && tag[0] == "":
			s.fields(f.Type, properties, required)
		case !f.IsExported() || tag[0] == "-":
		default:
			name := tag[0]
			if name == "" {
				name = f.Name
			}
			properties[name] = s.of(f.Type)
			if !slices.Contains(tag, "omitempty") && !slices.Contains(tag, "omitzero") {
				*required = append(*required, name)
			}
		}
	}
}
