package predict

import (
	"slices"

	"github.com/faultline-go/faultline/assert"
	"github.com/faultline-go/faultline/breakerref/model"
	"github.com/faultline-go/faultline/breakerref/mutant"
	"github.com/faultline-go/faultline/experiments"
)

// services are all dependencies of faultline's own service, each with its settings.
func services(ref *experiments.Reference) []*experiments.Reference {
	all := []*experiments.Reference{ref}
	for i := range ref.Routes {
		if s := ref.Routes[i].Service; s != nil {
			all = append(all, s)
		}
	}
	return all
}

// modelled is the breaker of another library that faultline's own service asks where a
// declared one is asked; nil: it is Resilience4j's.
func (b *breaker) modelled(declared assert.Breaker) *model.Config {
	ref := b.plan.SUT.Reference
	if ref == nil {
		return nil
	}
	for _, t := range b.plan.Targets {
		if !slices.Contains(declared.Targets, t.Name) {
			continue
		}
		s, _ := routed(ref, t.Path)
		if s == nil || s.Injector != declared.Injector {
			continue
		}
		if c, ok := libraryOf(s); ok {
			return &c
		}
	}
	return nil
}

// libraryOf is the breaker of another library, or the proxy, that one of faultline's own services
// has in place of Resilience4j's.
func libraryOf(s *experiments.Reference) (model.Config, bool) {
	switch {
	case s.Ejection != nil:
		return s.Ejection.Config(), true
	case s.Model != nil:
		c, err := s.Model.Config()
		return c, err == nil // Or it was told when the experiment was loaded.
	}
	return model.Config{}, false
}

// leavesModel reports whether a defect goes with any breaker. One of the breaker's numbers
// or its machine is one of what is declared, which is Resilience4j's, but for those of
// another library's rules.
func (d defect) leavesModel() bool {
	ofBreaker := d.mutant.Part == mutant.PartBreaker || d.mutant.Part == mutant.PartReport
	ofLibrary := ofBreaker && d.mutant.Base == mutant.Resilience4j
	return d.config == nil && d.late == 0 && d.opensIn == "" && !ofLibrary
}
