package experiments

import (
	"slices"

	"github.com/faultline-go/faultline/injector/fault"
)

// h2Schema is what only HTTP/2 has beside an answer.
func h2Schema() schema {
	code := oneOf(errCodes()...)
	reset := object(keys{"code": code, "at": oneOf("start", "body"), "bytes": ref(sizeDef)}, "code").
		with("if", required("bytes")).with("then", schema{"required": []string{"at"}, "properties": map[string]any{"at": schema{"const": "body"}}})
	goaway := object(keys{"code": code, "last": oneOf("this", "none"), "fin": boolean()})
	return schema{"anyOf": []schema{
		oneOf("abort"),
		object(keys{"reset": {"anyOf": []schema{code, reset}}, "goaway": {"anyOf": []schema{code, goaway}}}).with("oneOf", anyKey("reset", "goaway")),
	}}
}

// settingsSchema is how connections of HTTP/2 are served.
func settingsSchema() schema {
	return object(keys{
		"max_concurrent_streams": count(1), "initial_window_size": ref(sizeDef), "no_window_updates": isTrue(), "settings_ack_delay": ref(durationDef),
	}).with("minProperties", 1)
}

// grpcSchema is an answer of a gRPC server.
func grpcSchema() schema {
	status := oneOf(wordsOf(fault.GRPCCodes())...)
	base64 := schema{"type": []string{"string", "number", "boolean"}, "pattern": "^[A-Za-z0-9+/]*={0,2}$"}
	return schema{"anyOf": []schema{status, object(keys{
		"status": status, "message": ref(textDef), "details": base64, "messages": some(base64),
		"end": oneOf("no_trailers", "reset"), "code": oneOf(errCodes()...), "frame": oneOf(grpcFrames()...),
		"headers": named(ref(textDef)), "header_fill": ref(sizeDef),
	}).with("allOf", []schema{
		{"if": required("end"), "then": schema{"not": schema{"anyOf": anyKey("status", "message", "details")}}},
		{"if": required("code"), "then": schema{"required": []string{"end"}, "properties": map[string]any{"end": schema{"const": "reset"}}}},
		{"if": required("frame"), "then": required("messages")},
	})}}
}

// handshakeSchema is what becomes of a connection with TLS.
func handshakeSchema() schema {
	return schema{"anyOf": []schema{
		oneOf(handshakeWords()...),
		object(keys{"alert": {"type": "integer", "minimum": 0, "maximum": mostAlert}}, "alert"),
	}}
}

// tlsSchema is how an injector speaks TLS.
func tlsSchema() schema {
	return schema{"anyOf": []schema{isTrue(), object(keys{
		"names": list(ref(textDef)), "protocols": some(oneOf(protocolHTTP2, protocolHTTP1)), "ca_file": ref(textDef),
	})}}
}

// protocolSchemas are the conditions of what not every protocol knows.
func protocolSchemas() []schema {
	connections := []string{"sticky", "hold", "read"}
	return []schema{
		{"if": required("h2"), "then": schema{"not": schema{"anyOf": anyKey(minus(actions(), "respond", "grpc", "pass")...)}}},
		{"if": schema{"anyOf": anyKey("settings", "tls")}, "then": schema{"not": schema{"anyOf": anyKey(slices.Concat(connections, formKeys())...)}}},
		apart("settings", "latency"), apart("h2", "cut"), apart("h2", "connection"),
	}
}
