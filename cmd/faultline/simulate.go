package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/breakerref/resilience4j"
	"github.com/faultline-go/faultline/breakerref/simulate"
	"github.com/faultline-go/faultline/target/trace"
)

// simulateFlags are the flags of simulate that are no values of the model.
type simulateFlags struct {
	config    string
	instance  string
	profiles  []string
	trace     string
	injector  string
	vary      []string
	trials    int
	seed      seed
	seedGiven bool
	healthy   timespan
	format    choice
	out       string
	values    map[string]*modelValue // by the names of flags
}

func (a app) simulateCommand() *cobra.Command {
	f := simulateFlags{seed: defaultSeed, format: choice{formatText, []string{formatText, formatJSON}}, values: map[string]*modelValue{}}
	cmd := &cobra.Command{
		Use:   "simulate [FILE]",
		Short: "Say what a breaker will do under a traffic, before it runs",
		Long: `simulate plays Resilience4j's circuit breaker in virtual time, many times over,
and says what its configuration will do: how soon it opens in an outage, what
becomes of calls meanwhile, how soon it closes afterwards and under which load,
and how often it opens without need. It calls nobody.

The breaker is Resilience4j's default, or that of --config, or of a FILE of
kind: Simulation; flags change single values of it, and --vary tries several,
with the same random traffic for each. Flags of the breaker have the names of
its properties; --slidingWindowSize is --sliding-window-size.

The traffic is 50 calls a second with an outage of 30 s, or that of the FILE, or
what a run of faultline recorded (--trace); flags change it as well. What no
trial has shown is not said to be impossible: false openings that were not seen
have an upper bound. docs/simulate.md has the model, and what it leaves out.

Exit codes: 0 simulated, 2 bad usage or file, 3 the report could not be written.`,
		Example: `  faultline simulate --config application.yml --instance payments --rate 20/s
  faultline simulate --vary minimumNumberOfCalls=10,20,50,100 --rate 5/s
  faultline simulate --slidingWindowSize 20 --background 2% --vary failureRateThreshold=30,50,70`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return errors.New("simulate takes one file, of kind: Simulation")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			f.seedGiven = cmd.Flags().Changed("seed")
			return a.simulate(f, cmd.Flags(), files)
		},
	}
	f.register(cmd.Flags())
	return cmd
}

// register declares the flags.
func (f *simulateFlags) register(flags *pflag.FlagSet) {
	flags.SetNormalizeFunc(func(_ *pflag.FlagSet, name string) pflag.NormalizedName {
		return pflag.NormalizedName(kebab(name))
	})
	flags.StringVar(&f.config, "config", "", "take the breaker from the `FILE`, an application.yml of Spring Boot with resilience4j.circuitbreaker")
	flags.StringVar(&f.instance, "instance", "", "`NAME` of the breaker in --config; not needed if there is only one")
	flags.StringSliceVar(&f.profiles, "spring-profile", nil, "`PROFILE` of Spring whose documents in --config count; repeatable")
	flags.StringVar(&f.trace, "trace", "", "take the traffic from the `FILE`, the trace.jsonl of a run, or its folder")
	flags.StringVar(&f.injector, "injector", "", "`NAME` of the dependency in --trace; not needed if there is only one")
	flags.StringArrayVar(&f.vary, "vary", nil, "try several values, as `NAME=VALUE,VALUE`, of any flag below that is a value of the model; of several --vary all combinations, at most "+fmt.Sprint(simulate.MostRows))
	flags.IntVar(&f.trials, "trials", 0, "`N` outages to simulate; 0 is as many as make 20 million calls, from 50 to 1000")
	flags.Var(&f.seed, "seed", "seed `N` of everything random; wins over the one in the file")
	flags.Var(&f.healthy, "healthy", "how long to simulate without an outage, to count false openings, as 720h; 0s is as long as 20 million calls take")
	flags.Var(&f.format, "format", "what goes to standard output")
	flags.StringVar(&f.out, "out", "", "write the report as JSON to the `FILE` as well")
	base := simulate.Default().Complete()
	for _, p := range simulate.Params() {
		v := &modelValue{text: p.Get(&base), kind: p.Kind}
		f.values[kebab(p.Name)] = v
		help := p.Help
		if strings.Contains(p.Kind, "|") {
			v.kind = "word"
			help += ": " + enumerated(strings.Split(p.Kind, "|"))
		}
		flags.Var(v, p.Name, help)
	}
}

// modelValue is a flag that is a value of the model, which is read when all are known.
type modelValue struct{ text, kind string }

// String implements pflag.Value.
func (v *modelValue) String() string { return v.text }

// Type implements pflag.Value.
func (v *modelValue) Type() string { return v.kind }

// Set implements pflag.Value.
func (v *modelValue) Set(text string) error {
	v.text = text
	return nil
}

// kebab writes slidingWindowSize as sliding-window-size.
func kebab(name string) string {
	var b strings.Builder
	for i, r := range name {
		if unicode.IsUpper(r) && i > 0 {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// simulate carries out the command.
func (a app) simulate(f simulateFlags, flags *pflag.FlagSet, files []string) error {
	table, opt, err := f.table(flags, files)
	if err != nil {
		a.say("%v", err)
		return exit(report.ExitDefinition, errors.New("there is nothing to simulate"))
	}
	if f.out != "" {
		if err := givenFile(f.out); err != nil {
			return exit(report.ExitDefinition, fmt.Errorf("--out %s: %w", f.out, err))
		}
	}
	meter := &simulateMeter{w: a.stderr, screen: a.screenOf(a.stderr, true), from: a.now(), now: a.now}
	opt.Run = onAllCores(meter.show)
	models := make([]simulate.Model, len(table.Rows))
	for i, r := range table.Rows {
		models[i] = r.Model
	}
	table.Out, err = simulate.RunAll(models, opt)
	meter.done()
	if err != nil {
		a.say("%v", err)
		return exit(report.ExitDefinition, errors.New("there is nothing to simulate"))
	}
	if f.out != "" {
		if err := writeAtomic(f.out, table.WriteJSON); err != nil {
			return exit(report.ExitInconclusive, err)
		}
	}
	if f.format.word == formatJSON {
		err = table.WriteJSON(a.stdout)
	} else {
		err = table.WriteText(a.stdout, a.screenOf(a.stdout, true).width)
	}
	if err != nil {
		return exit(report.ExitInconclusive, err)
	}
	return nil
}

// table makes the models that are simulated: what a file says, then the breaker of
// another file, then recorded traffic, then flags.
func (f *simulateFlags) table(flags *pflag.FlagSet, files []string) (*simulate.Table, simulate.Options, error) {
	opt := simulate.Options{Seed: uint64(f.seed), Trials: f.trials, QuietTime: time.Duration(f.healthy)}
	doc := simulate.Document{Model: simulate.Default()}
	t := &simulate.Table{}
	if len(files) == 1 {
		src, err := readInput(files[0])
		if err != nil {
			return nil, opt, err
		}
		if doc, err = simulate.Read(files[0], src, doc.Model); err != nil {
			return nil, opt, err
		}
		t.Source = files[0]
		if doc.Seed != nil && !f.seedGiven {
			opt.Seed = *doc.Seed
		}
		if f.trials == 0 {
			opt.Trials = doc.Trials
		}
	}
	m, err := f.breaker(doc.Model)
	if err == nil {
		m, t.Notes, err = f.traffic(m)
	}
	if err == nil {
		err = f.set(&m, flags)
	}
	if err != nil {
		return nil, opt, err
	}
	vary, err := f.varied(doc.Vary)
	if err != nil {
		return nil, opt, err
	}
	t.Rows, err = simulate.Rows(m, vary)
	return t, opt, err
}

// breaker takes the breaker from --config.
func (f *simulateFlags) breaker(m simulate.Model) (simulate.Model, error) {
	switch {
	case f.config == "" && f.instance != "":
		return m, fmt.Errorf("--instance %s: there is no file that could have it; add --config application.yml", f.instance)
	case f.config == "" && len(f.profiles) > 0:
		return m, errors.New("--spring-profile: there is no file that could have documents for it; add --config application.yml")
	case f.config == "":
		return m, nil
	}
	src, err := readInput(f.config)
	if err != nil {
		return m, err
	}
	file, err := resilience4j.Read(f.config, src, resilience4j.Options{Profiles: f.profiles, Env: os.LookupEnv})
	if err == nil {
		err = file.Err()
	}
	if err != nil {
		return m, err
	}
	name := f.instance
	if all := file.Instances(resilience4j.CircuitBreaker); name == "" {
		if len(all) != 1 {
			return m, fmt.Errorf("%s has %d circuit breakers%s; name one with --instance", f.config, len(all), listing(all))
		}
		name = all[0]
	}
	m.Breaker, err = file.CircuitBreaker(name)
	return m, err
}

// listing continues a sentence with names, if there are any.
func listing(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return ": " + enumerated(names)
}

// traffic takes the traffic from --trace.
func (f *simulateFlags) traffic(m simulate.Model) (simulate.Model, []string, error) {
	if f.trace == "" {
		if f.injector != "" {
			return m, nil, fmt.Errorf("--injector %s: there is no trace that could have it; add --trace FILE", f.injector)
		}
		return m, nil, nil
	}
	path := f.trace
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		path = filepath.Join(path, "trace.jsonl")
	}
	file, err := os.Open(path)
	if err != nil {
		return m, nil, fmt.Errorf("--trace %w", err)
	}
	defer func() { _ = file.Close() }() // It was only read.
	recorded, err := trace.Read(file)
	if err != nil {
		return m, nil, fmt.Errorf("--trace %s: %w", path, err)
	}
	m, notes, err := simulate.TakeTrace(m, recorded, f.injector)
	if err != nil {
		return m, nil, fmt.Errorf("--trace %s: %w", path, err)
	}
	return m, notes, nil
}

// set sets what flags were given, in the order of the parameters.
func (f *simulateFlags) set(m *simulate.Model, flags *pflag.FlagSet) error {
	if flags.Changed("rate") && flags.Changed("clients") {
		return errors.New("--rate and --clients exclude each other: the pauses of clients make the rate")
	}
	var problems []error
	for _, p := range simulate.Params() {
		name := kebab(p.Name)
		if flags.Changed(name) {
			if err := p.Set(m, f.values[name].text); err != nil {
				problems = append(problems, fmt.Errorf("--%w", err))
			}
		}
	}
	return errors.Join(problems...)
}

// varied reads --vary; without it the file's own counts.
func (f *simulateFlags) varied(own []simulate.Vary) ([]simulate.Vary, error) {
	if len(f.vary) == 0 {
		return own, nil
	}
	var all []simulate.Vary
	for _, text := range f.vary {
		v, err := simulate.ParseVary(text)
		if err != nil {
			return nil, fmt.Errorf("--vary %w", err)
		}
		all = append(all, v)
	}
	return all, nil
}

// readInput reads a file that the command line names.
func readInput(path string) ([]byte, error) {
	src, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s: no such file%s", path, nearFile(path))
	}
	return src, err
}
