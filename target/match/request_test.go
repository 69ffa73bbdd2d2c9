package match_test

import (
	"bytes"
	"encoding/json"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/faultline-go/faultline/target/match"
)

// body is what Request.Body returns.
func body(s string) func() []byte { return func() []byte { return []byte(s) } }

// TestIdentifyTemplate shows where a call's token is found, and where not.
func TestIdentifyTemplate(t *testing.T) {
	const id = "0123456789abcdef" + "0001" + "00000000000c"
	uuid, other := match.UUID(id), strings.Replace(id, "0c", "0d", 1)
	header := func(k, v string) http.Header { return http.Header{k: {v}} }
	for _, tc := range []struct {
		name, carrier string
		request       match.Request
		want          string
	}{
		{"path", "template", match.Request{URI: "/orders/" + id}, "outage/12"},
		{"path, within", "template", match.Request{URI: "/orders/web-" + id + "-x/items"}, "outage/12"},
		{"query", "template", match.Request{URI: "/charges?ref=" + uuid + "&x"}, "outage/12"},
		{"header", "template", match.Request{URI: "/", Header: header("X-Customer", "c/"+id)}, "outage/12"},
		{"second value of a header", "template", match.Request{Header: http.Header{"X-A": {"1", id}}}, "outage/12"},
		{"traceparent is a header, too", "template", match.Request{Header: header("Traceparent", "00-"+id+"-00f067aa0ba902b7-01")}, "outage/12"},
		{"body", "template", match.Request{Body: body(`{"o":"` + id + `"}`)}, "outage/12"},
		{"body of any kind", "template", match.Request{Body: body("\x00\xff" + uuid + "\x01")}, "outage/12"},
		{"upper case", "template", match.Request{URI: "/" + strings.ToUpper(uuid)}, "outage/12"},
		{"digits behind it", "template", match.Request{URI: "/" + id + "00"}, "outage/12"},
		{"digits before it", "template", match.Request{URI: "/01234567" + id}, "outage/12"},
		{"one call twice", "template", match.Request{URI: "/" + id, Body: body(uuid)}, "outage/12"},
		{"two calls in the body", "template", match.Request{Body: body(id + " " + other)}, ""},
		{"two calls, path and body", "template", match.Request{URI: "/" + id, Body: body(other)}, ""},
		{"two calls, headers", "template", match.Request{Header: http.Header{"A": {id}, "B": {other}}}, ""},
		{"another run", "template", match.Request{URI: "/f" + id[1:]}, ""},
		{"another run beside", "template", match.Request{URI: "/f" + id[1:] + "/" + id}, "outage/12"},
		{"no such phase", "template", match.Request{URI: "/" + id[:16] + "0002" + id[20:]}, ""},
		{"cut off", "template", match.Request{URI: "/" + id[:31]}, ""},
		{"no digit", "template", match.Request{URI: "/" + id[:31] + "g"}, ""},
		{"dashes elsewhere", "template", match.Request{URI: "/" + id[:16] + "-" + id[16:]}, ""},
		{"nothing", "template", match.Request{}, ""},

		{"parameter", "template:order_id", match.Request{URI: "/c?a=1&order_id=" + id}, "outage/12"},
		{"parameter, escaped name", "template:order id", match.Request{URI: "/c?order+id=" + id}, "outage/12"},
		{"parameter, escaped otherwise", "template:order id", match.Request{URI: "/c?order%20id=" + id}, "outage/12"},
		{"parameter of another name", "template:order_id", match.Request{URI: "/c?order=" + id}, ""},
		{"the name in the path", "template:order_id", match.Request{URI: "/order_id=" + id}, ""},
		{"another parameter does not disturb", "template:order_id", match.Request{URI: "/" + other + "?order_id=" + id + "&x=" + other}, "outage/12"},
		{"no header", "template:order_id", match.Request{URI: "/c", Header: header("Order_id", id)}, ""},
		{"form", "template:order_id", match.Request{URI: "/c", Body: body("a=%zz&order%5Fid=" + uuid)}, "outage/12"},
		{"form of another name", "template:order_id", match.Request{Body: body("order_ids=" + id)}, ""},
		{"member", "template:orderId", match.Request{Body: body(` {"orderId":"` + uuid + `"}`)}, "outage/12"},
		{"member, deep", "template:orderId", match.Request{Body: body(`{"a":[1,{"b":{"orderId":"x-` + id + `"}}]}`)}, "outage/12"},
		{"member, a list", "template:orderId", match.Request{Body: body(`{"orderId":["` + id + `"]}`)}, "outage/12"},
		{"member, an object", "template:orderId", match.Request{Body: body(`{"orderId":{"v":{"w":"` + id + `"}},"x":1}`)}, "outage/12"},
		{"member of another name", "template:orderId", match.Request{Body: body(`{"orderId":1,"order":"` + id + `"}`)}, ""},
		{"the name as a value", "template:orderId", match.Request{Body: body(`{"a":"orderId","b":"` + id + `"}`)}, ""},
		{"beside a member", "template:orderId", match.Request{Body: body(`{"orderId":{"a":1},"b":"` + id + `"}`)}, ""},
		{"beside a member in a list", "template:orderId", match.Request{Body: body(`[{"orderId":1},"` + id + `"]`)}, ""},
		{"a name that is the token", "template:orderId", match.Request{Body: body(`{"orderId":{"` + id + `":1}}`)}, ""},
		{"members of two calls", "template:orderId", match.Request{Body: body(`[{"orderId":"` + id + `"},{"orderId":"` + other + `"}]`)}, ""},
		{"JSON that is cut off behind it", "template:orderId", match.Request{Body: body(`{"orderId":"` + id + `","long":"abc`)}, "outage/12"},
		{"JSON that is cut off in it", "template:orderId", match.Request{Body: body(`{"orderId":"` + id)}, ""},
		{"a number out of range before it", "template:orderId", match.Request{Body: body(`{"n":1e999,"orderId":"` + id + `"}`)}, "outage/12"},
		{"no JSON", "template:orderId", match.Request{Body: body(`{orderId: ` + id + `}`)}, ""},
		{"parts of a form", "template:order", match.Request{Body: body("--b\r\nContent-Disposition: form-data; name=\"order\"\r\n\r\n" + id + "\r\n--b--\r\n")}, "outage/12"},
		{"parts of a form, another", "template:order", match.Request{Body: body("--b\r\nContent-Disposition: form-data; name=\"orders\"\r\n\r\n" + id + "\r\n--b--\r\n")}, ""},

		{"a plain header with a UUID", "header:x-order", match.Request{Header: header("X-Order", uuid)}, "outage/12"},
		{"a plain header is nothing but the token", "header:x-order", match.Request{Header: header("X-Order", "a"+id)}, ""},
		{"a traceparent with a UUID", "traceparent", match.Request{Header: header("Traceparent", "00-"+uuid+"-00f067aa0ba902b7-01")}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, by, ok := run(tc.carrier).Identify(tc.request)
			if ok != (tc.want != "") || got != tc.want || ok && by != tc.carrier {
				t.Errorf("identified %q by %q, %t; want %q", got, by, ok, tc.want)
			}
		})
	}
}

// Of a run whose digits have letters, tokens are found in upper and lower case, and
// two of one call are one.
func TestIdentifyInAnyCase(t *testing.T) {
	c := run("template")
	c.Run = 0xfedcba9876543210
	id := c.TraceID(1, 12)
	for _, uri := range []string{"/" + id, "/" + strings.ToUpper(id), "/" + strings.ToUpper(match.UUID(id)), "/" + id + "/" + strings.ToUpper(id)} {
		if got, _, ok := c.Identify(match.Request{URI: uri}); !ok || got != "outage/12" {
			t.Errorf("%s: identified %q, %t", uri, got, ok)
		}
	}
	if got, _, ok := c.Identify(match.Request{URI: "/" + id + "/" + strings.ToUpper(c.TraceID(1, 13))}); ok {
		t.Errorf("of two calls %q was taken", got)
	}
}

// A body is read only by a carrier that looks into it, after those before it.
func TestIdentifyReadsTheBodyLast(t *testing.T) {
	c := run("traceparent", "template")
	asked := 0
	r := match.Request{Header: carried(c, 1, 12), Body: func() []byte { asked++; return nil }}
	if id, by, _ := c.Identify(r); id != "outage/12" || by != "traceparent" || asked != 0 {
		t.Errorf("identified %q by %q, body read %d times", id, by, asked)
	}
	r.Header = nil
	if _, _, ok := c.Identify(r); ok || asked != 1 {
		t.Errorf("identified: %t, body read %d times, want once", ok, asked)
	}
}

// Wherever the field stands that net/url, encoding/json or mime/multipart wrote, it is
// found, and no other field is taken for it.
func TestIdentifyWhatWasEncoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.StringMatching(`[a-zA-Z_.$ é%&=+-]{1,8}`).Draw(t, "name")
		c := run("template:" + name)
		own, other := "o-"+c.TraceID(1, 7), c.TraceID(1, 8)
		values := url.Values{name: {own}, name + "2": {other}, "a" + name: {other}}
		var parts bytes.Buffer
		form := multipart.NewWriter(&parts)
		for k, v := range values {
			if err := form.WriteField(k, v[0]); err != nil {
				t.Fatal(err)
			}
		}
		if err := form.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]any{"\n": []any{other, map[string]any{name: own, name + "2": other}}, name + "1": name})
		if err != nil {
			t.Fatal(err)
		}
		for where, r := range map[string]match.Request{
			"query": {URI: "/" + other + "?" + values.Encode()}, "form": {Body: body(values.Encode())},
			"parts": {Body: parts.Bytes}, "JSON": {Body: body(string(text))},
		} {
			if id, _, ok := c.Identify(r); !ok || id != "outage/7" {
				t.Errorf("%s: identified %q, %t of %q", where, id, ok, name)
			}
		}
	})
}

// Nothing that a SUT may send makes identification panic, or find a call that no
// token stands for.
func FuzzIdentify(f *testing.F) {
	f.Add("/a?b=c", "v", `{"a":[{"b":"c"}]}`, "b")
	f.Add("/?%zz=%&&=", "00-1-2-3", "--x\r\n\r\n--x", "")
	f.Add("0123456789abcdef0001", "01234567-89ab-cdef-", "}]{", ":")
	f.Fuzz(func(t *testing.T, uri, value, text, name string) {
		c := run("traceparent", "header:x-trace", "template:"+name, "template")
		c.Run = 0xfedcba9876543210
		r := match.Request{URI: uri, Header: http.Header{"Traceparent": {value}, "X-Trace": {value}}, Body: body(text)}
		id, by, ok := c.Identify(r)
		if !ok {
			return
		}
		for _, s := range []string{uri, value, text} {
			s = strings.ReplaceAll(strings.ToLower(s), "-", "")
			if strings.Contains(s, "fedcba9876543210") || strings.Contains(s, `\u`) {
				return
			}
		}
		t.Errorf("identified %q by %q in %q", id, by, []string{uri, value, text})
	})
}
