package experiments

import "github.com/faultline-go/faultline/injector/fault"

// tcpSchema is a dependency whose connections are passed on.
func tcpSchema() schema {
	return object(keys{
		"upstream": {"type": "string", "pattern": ".:[0-9]+$"}, "undialled": oneOf("reset", "close"),
	}, "upstream")
}

// onlyTCPSchema is the condition that all injectors pass connections on.
func onlyTCPSchema() schema {
	return schema{"properties": schema{"injectors": schema{"additionalProperties": required("tcp")}}}
}

// tcpFaultSchema is what becomes of a connection.
func tcpFaultSchema() schema {
	by := oneOf("reset", "close")
	stream := object(keys{
		"latency": latencySchema(),
		"bandwidth": {"anyOf": []schema{
			ref(throughputDef), object(keys{"rate": ref(throughputDef), "shared": oneOf(sharedByFault, sharedByAll)}, "rate", "shared"),
		}},
		"slice": object(keys{"size": ref(sizeDef), "gap": ref(durationDef)}, "size"),
		"cut":   object(keys{"after": ref(sizeDef), "by": oneOf("reset", "close", "hang")}),
	}).with("minProperties", 1)
	return object(keys{
		"up": stream, "down": stream, "life": object(keys{"for": ref(durationDef), "by": by}, "for"),
	}).with("minProperties", 1)
}

// webSocketSchema is what becomes of a WebSocket.
func webSocketSchema() schema {
	one := oneOf(wayClient, wayServer)
	all := oneOf(wayClient, wayServer, wayBoth)
	return object(keys{
		"accept":   oneOf(string(fault.AcceptWrong), string(fault.AcceptMissing)),
		"messages": list(messageSchema(one)).with("minItems", 1),
		"close": object(keys{
			"after": count(0), "of": all, "code": schema{"type": "integer", "minimum": 1, "maximum": 65535}, "reason": ref(textDef), "by": oneOf("close", "reset"),
		}, "code"),
		"stall":        object(keys{"after": count(0), "to": all}, "to"),
		"no_pong":      {"anyOf": []schema{isTrue(), object(plainSchema()).with("oneOf", anyKey(plainSelections()...))}},
		"ignore_close": isTrue(),
	}).with("minProperties", 1)
}

// plainSchema are the selections of messages.
func plainSchema() keys {
	return keys{
		"ratio": ref(shareDef), "first": count(1), "after": count(1), "every": count(2), "script": {"type": "string", "pattern": "^[X.]*X[X.]*$"},
	}
}

// messageSchema is what is done to some messages.
func messageSchema(to schema) schema {
	props := keys{"to": to, "at": some(count(1)), "control": boolean()}
	for _, do := range deeds() {
		switch fault.WSDo(do) {
		case fault.WSDelay:
			props[do] = steadySchema()
		case fault.WSCut:
			props[do] = oneOf("reset", "close")
		case fault.WSOversize, fault.WSFragment:
			props[do] = ref(sizeDef)
		default:
			props[do] = isTrue()
		}
	}
	return object(plus(props, plainSchema()), "to").with("oneOf", anyKey(deeds()...)).with("allOf", []schema{
		apart(append([]string{"at"}, plainSelections()...)...),
	})
}
