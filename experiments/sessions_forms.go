package experiments

import (
	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// sessionsOut writes the users of a phase and what they do.
func sessionsOut(s Sessions) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("users", s.Users)
	o.Put("rounds", s.Rounds)
	o.Put("think", thinkOut(s.ThinkMin, s.ThinkMax))
	o.PutIf(s.Script.Cookies, "cookies", true)
	if len(s.Script.RestartOn) > 0 {
		restart := &yamldoc.Out{}
		restart.Put("on", s.Script.RestartOn)
		restart.Put("most", s.Script.Restarts)
		o.Put("restart", restart)
	}
	o.Put("steps", each(s.Script.Steps, stepOut))
	return o
}

func stepOut(s match.Step) *yamldoc.Out {
	o := &yamldoc.Out{}
	o.Put("target", s.Target)
	o.PutIf(s.Path != "", "path", s.Path)
	o.PutIf(len(s.Headers) > 0, "headers", s.Headers)
	o.PutIf(s.Body != "", "body", s.Body)
	if len(s.Capture) > 0 {
		all := &yamldoc.Out{}
		for _, c := range s.Capture {
			one := &yamldoc.Out{}
			one.PutIf(c.JSONPath != "", "jsonpath", c.JSONPath)
			one.PutIf(c.Header != "", "header", c.Header)
			one.PutIf(c.Cookie != "", "cookie", c.Cookie)
			one.PutIf(c.List, "list", true)
			all.Put(c.Name, one)
		}
		o.Put("capture", all)
	}
	if s.While != "" {
		repeat := &yamldoc.Out{}
		repeat.Put("while", s.While)
		repeat.Put("most", s.Most)
		o.Put("repeat", repeat)
	}
	return o
}

// sessionsSchema is what users do.
func sessionsSchema() schema {
	where := []string{"jsonpath", "header", "cookie"}
	capture := object(keys{
		"jsonpath": schema{"type": "string", "pattern": `^\$`}, "header": ref(textDef), "cookie": ref(textDef), "list": boolean(),
	}).with("oneOf", []schema{
		only(where[:1], where[1:]), only(where[1:2], []string{"jsonpath", "cookie", "list"}), only(where[2:], []string{"jsonpath", "header", "list"}),
	})
	captures := named(capture).with("propertyNames", schema{"pattern": "^[A-Za-z0-9_]+$"})
	step := object(keys{
		"target": ref(nameDef), "path": ref(textDef), "headers": named(ref(textDef)), "body": ref(textDef), "capture": captures,
		"repeat": object(keys{"while": ref(textDef), "most": count(1)}, "while", "most"),
	}, "target")
	return object(keys{
		"users": count(1), "rounds": count(1), "think": thinkSchema(), "cookies": boolean(),
		"restart": object(keys{"on": some(ref(nameDef)), "most": count(1)}, "on"),
		"steps":   list(step).with("minItems", 1),
	}, "users", "rounds", "steps")
}

// thinkSchema is the time between an answer and the next call.
func thinkSchema() schema {
	return schema{"anyOf": []schema{ref(durationDef), object(keys{"uniform": uniformSchema()}, "uniform")}}
}
