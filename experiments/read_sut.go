package experiments

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
	"github.com/faultline-go/faultline/target/match"
)

// sutPort is the template for the port that is chosen for a launched SUT.
const sutPort = "{{sut.port}}"

// sut reads the system under test: faultline's reference, a command to launch, or
// something that runs already.
func (r *reader) sut(v yamldoc.Value) {
	m := v.Map("{base_url: http://127.0.0.1:8080}")
	defer m.Done()
	kind := m.Choice("reference", "launch", "replicas")
	base, ready, instance := m.Get("base_url"), m.Get("ready"), m.Get("instance_header")
	const noPort = "a SUT that runs already cannot know a port that is chosen later; give listen a fixed one"
	s := &r.plan.SUT
	switch {
	case kind == "reference":
		s.Reference = r.reference(m.Get(kind))
		for _, other := range []yamldoc.Value{base, ready, instance} {
			if other.Exists() {
				other.Problemf("is not for the reference service, which runs in this process, alone and always ready")
			}
		}
		return
	case kind == "launch":
		s.Launch = r.launch(m.Get(kind), m.Need("base_url"))
		m.Need("ready")
	case kind == "replicas":
		s.Replicas = r.replicas(m.Get(kind))
		r.needFixedPorts(nil, noPort)
		if base.Exists() {
			m.Key("base_url").Problemf("replicas and base_url exclude each other; each replica has its own address")
		}
		if instance.Exists() {
			m.Key("instance_header").Problemf("replicas and instance_header exclude each other; the name of a replica is its instance")
		}
	case base.Exists() && len(m.Unknown()) == 0: // An unknown key may have been meant to be launch.
		r.needFixedPorts(nil, noPort)
	case m.Exists() && !base.Exists():
		m.Lacks(m.Value, []string{"reference", "launch", "replicas", "base_url"}, "says none of reference, launch, replicas and base_url")
	}
	s.BaseURL = httpURL(base, sutPort)
	s.Ready = r.ready(ready)
	s.InstanceHeader = headerName(instance)
}

// replicas reads the instances of a SUT by name.
func (r *reader) replicas(v yamldoc.Value) []Replica {
	m := v.Map("{a: http://127.0.0.1:8081, b: http://127.0.0.1:8082}")
	seen := &names{kind: "address"}
	var all []Replica
	for _, e := range m.Entries() {
		one := Replica{Name: checkWord(e.Key, e.Name, "._-"), BaseURL: httpURL(e.Value, "")}
		seen.declare(e.Value, one.BaseURL)
		all = append(all, one)
	}
	if m.Exists() && len(all) == 0 {
		m.Problemf("names no replica; give each a name and an address, as {a: http://127.0.0.1:8081}")
	}
	return all
}

// ready reads how to tell that the SUT can take load. Requests that ask a breaker
// would fill its window before the first phase.
func (r *reader) ready(v yamldoc.Value) *Ready {
	if !v.Exists() {
		return nil
	}
	m := v.Map("{get: /health}")
	defer m.Done()
	get := m.Need("get")
	ready := &Ready{
		Get:     urlPath(get, nil),
		Expect:  status(m.Get("expect"), 200),
		Timeout: m.Get("timeout").Duration(time.Minute),
	}
	for _, b := range r.plan.Breakers {
		for _, t := range r.plan.Targets {
			if t.Path == ready.Get && t.Method == http.MethodGet && slices.Contains(b.Targets, t.Name) {
				get.Problemf("%s is target %s, which asks breaker %s: readiness checks would fill its window", ready.Get, t.Name, b.Name)
			}
		}
	}
	return ready
}

// launch reads the command that starts the SUT.
func (r *reader) launch(v, baseURL yamldoc.Value) *Launch {
	m := v.Map("{command: [java, -jar, app.jar]}")
	l := &Launch{
		Dir:  m.Get("dir").Text(""),
		Stop: m.Get("stop").Duration(10 * time.Second),
	}
	said, flawed := map[string]bool{}, r.flawed()
	l.Command = r.command(m.Need("command"), said)
	l.Env = r.env(m.Get("env"), said)
	m.Done()
	if flawed() || !m.Exists() || r.injectors.blind {
		return l // What the SUT is told is not known.
	}
	r.checkPort(m, baseURL, said)
	r.needFixedPorts(said, "neither launch.command nor launch.env tells the SUT the port that will be chosen; put {{injectors.NAME.url}} there, or give listen a fixed port")
	return l
}

// command reads a program and its arguments. Nothing splits a line into words.
func (r *reader) command(v yamldoc.Value, said map[string]bool) []string {
	var words []string
	for _, item := range v.Items() {
		words = append(words, item.Text(""))
		r.templates(item, said)
	}
	switch {
	case len(words) == 0:
	case strings.TrimSpace(words[0]) == "":
		v.Problemf("names no program; the first item is one, as in [java, -jar, app.jar]")
	case len(words) == 1 && strings.ContainsAny(words[0], " \t\n"):
		list := strings.Fields(words[0])
		if strings.ContainsAny(words[0], "\"'\\$`|&;<>*") {
			list = []string{"sh", "-c", words[0]} // It was meant for a shell.
		}
		v.Problemf("is one item, the name of a program; write a list of the program and its arguments, as %s", yamldoc.FlowList(list))
	}
	return words
}

// env reads environment variables.
func (r *reader) env(v yamldoc.Value, said map[string]bool) map[string]string {
	var env map[string]string
	for _, e := range v.Map("{PORT: 8080}").Entries() {
		if e.Name == "" || strings.ContainsAny(e.Name, "=\x00") {
			e.Key.Problemf("%q is not the name of an environment variable", e.Name)
		}
		if env == nil {
			env = map[string]string{}
		}
		env[e.Name] = e.Value.Text("")
		r.templates(e.Value, said)
	}
	return env
}

// checkPort compares the port that a launched SUT is told with the one where it
// will be sought.
func (r *reader) checkPort(m *yamldoc.Map, baseURL yamldoc.Value, said map[string]bool) {
	inURL := strings.Contains(baseURL.Text(""), sutPort)
	switch {
	case inURL && !said[sutPort]:
		m.Problemf("base_url has %s, but neither command nor env tells the SUT its port", sutPort)
	case !inURL && said[sutPort] && baseURL.Exists():
		baseURL.Problemf("the SUT is told %s, so base_url must have it too, as http://127.0.0.1:%s", sutPort, sutPort)
	}
}

// needFixedPorts notes the injectors that the SUT has no way to find.
func (r *reader) needFixedPorts(said map[string]bool, why string) {
	for i, in := range r.plan.Injectors {
		if strings.HasSuffix(in.Listen, ":0") && !said[in.Name] && !r.injectors.vague[in.Name] {
			r.at[i].Problemf("%s", why)
		}
	}
}

// templates checks the templates in a text, and notes in said which injectors, and
// whether {{sut.port}}, they tell.
func (r *reader) templates(v yamldoc.Value, said map[string]bool) {
	rest := v.Text("")
	for {
		_, after, found := strings.Cut(rest, "{{")
		if !found {
			return
		}
		name, tail, closed := strings.Cut(after, "}}")
		if !closed {
			v.Problemf("{{%s has no }}", name)
			return
		}
		rest = tail
		r.template(v, "{{"+name+"}}", said)
	}
}

func (r *reader) template(v yamldoc.Value, text string, said map[string]bool) {
	if text == sutPort {
		said[sutPort] = true
		return
	}
	known := []string{sutPort}
	for _, in := range r.injectors.known {
		url, addr := "{{injectors."+in+".url}}", "{{injectors."+in+".addr}}"
		if text == url || text == addr {
			said[in] = true
			return
		}
		known = append(known, url, addr)
		if at, ok := r.knownInjector(in); !ok || at.TLS != nil {
			known = append(known, "{{injectors."+in+".ca_file}}")
		}
	}
	if !r.injectors.blind && !slices.Contains(known, text) {
		v.Problemf("%s is not a template%s", text, yamldoc.Hint(text, known))
	}
}

// failure reads what counts as a failure at the dependency. Each kind is said once;
// of two slow limits one would be ignored.
func failure(v yamldoc.Value) match.Failure {
	if !v.Exists() {
		return match.DefaultFailure()
	}
	seen := &names{kind: "failure"}
	var words []string
	for _, item := range v.Items() {
		word := item.NonEmpty()
		if _, err := match.ParseFailure([]string{word}); err != nil && word != "" {
			item.Problemf("%v", err)
		} else if word != "" {
			kind, _, _ := strings.Cut(strings.ReplaceAll(word, " ", ""), ">")
			seen.declare(item, kind)
			words = append(words, word)
		}
	}
	f, err := match.ParseFailure(words)
	if err != nil {
		v.Problemf("%v", err)
	}
	return f
}

// httpFailure is what counts as a failure to the reference service.
func httpFailure(v yamldoc.Value) match.Failure {
	f := failure(v)
	if v.Exists() && (f.GRPC || len(f.Codes) > 0) {
		v.Problemf("the reference service speaks HTTP/1.1, over which there is no gRPC; leave the words of grpc out, or launch a service of your own")
	}
	f.GRPC, f.Codes = false, nil
	return f
}
