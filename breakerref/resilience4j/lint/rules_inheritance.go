package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/faultline-go/faultline/breakerref/resilience4j"
)

// inheritanceRules are about what flows from a config into another block.
func inheritanceRules() []Rule {
	return []Rule{defaultNotInherited(), shadowsDefault(), listReplaced(), twoSections()}
}

// keysOf are the properties that a block sets, without what never is a breaker's
// behaviour, or flows from default in any case.
func keysOf(b resilience4j.Block) []string {
	var keys []string
	for _, s := range b.Settings {
		switch s.Key {
		case "baseConfig", "registerHealthIndicator", "allowHealthIndicatorToFail", "eventConsumerBufferSize", "ignoreClassBindingExceptions":
		default:
			keys = append(keys, s.Key)
		}
	}
	return keys
}

// lacking are the keys of configs.default that none of the blocks sets.
func (v *view) lacking(m resilience4j.Module, chain []resilience4j.Block) []string {
	def, found := v.config(m, "default")
	if !found {
		return nil
	}
	var keys []string
	for _, key := range keysOf(def) {
		if !slices.ContainsFunc(chain, func(b resilience4j.Block) bool { _, said := said(b, key); return said }) {
			keys = append(keys, key)
		}
	}
	return keys
}

func defaultNotInherited() Rule {
	return Rule{
		ID: "default-not-inherited", Severity: Warning,
		Title:  "A circuit breaker's config that does not inherit default",
		Why:    "A config of a circuit breaker inherits from no other unless it has a baseConfig; what configs.default says does not hold for instances that are based on it. With every other module it does.",
		Source: "resilience4j#947, #1280, #1378, #1554",
		Fix:    "add baseConfig: default to the config, or repeat the keys",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				root := s.chain[0]
				if !root.Config || root.Name == "default" || root.Name == s.name && !s.config {
					continue // The last of them is a config of the instance's own name, which is another rule's.
				}
				if keys := c.lacking(s.module, s.chain[:max(1, len(s.chain)-1)]); len(keys) > 0 {
					c.add(draft{module: s.module, name: root.Name, config: true, at: root.At, what: "does not get from configs.default: " + names(keys)})
				}
			}
		},
	}
}

func shadowsDefault() Rule {
	return Rule{
		ID: "config-shadows-default", Severity: Warning,
		Title:  "A config of an instance's name stands in for default",
		Why:    "If a circuit breaker without baseConfig has the name of a config, that config is what it is based on, and configs.default is not looked at.",
		Source: "the library's circuit breaker configuration, 2.4.0",
		Fix:    "give the config another name, or say baseConfig in the instance",
		check: func(c *checker) {
			for _, s := range c.breakers() {
				root := s.chain[0]
				if s.config || !root.Config || root.Name != s.name || root.Name == "default" {
					continue
				}
				if keys := c.lacking(s.module, s.chain); len(keys) > 0 {
					c.findIn(s, root.At, fmt.Sprintf("the config of the same name stands in for configs.default, so it lacks %s", names(keys)))
				}
			}
		},
	}
}

func listReplaced() Rule {
	return Rule{
		ID: "list-replaced", Severity: Warning,
		Title:  "A list that takes the place of the base's",
		Why:    "Lists are not put together: what a config lists is gone where a block that is based on it has a list of its own.",
		Source: "resilience4j#1849",
		Fix:    "repeat what should still be listed",
		check: func(c *checker) {
			for _, s := range c.subjects {
				for _, key := range []string{"recordExceptions", "ignoreExceptions", "retryExceptions"} {
					c.replaced(s, key)
				}
			}
		},
	}
}

// replaced tells what the last list of a chain has lost of the one before it.
func (c *checker) replaced(s *subject, key string) {
	var lists []resilience4j.Setting
	for _, b := range s.chain {
		if w, there := settingIn(b, key); there {
			lists = append(lists, w)
		}
	}
	if len(lists) < 2 || !s.sure(key) {
		return
	}
	last, before := lists[len(lists)-1], lists[len(lists)-2]
	var lost []string
	for _, class := range items(before.Value) {
		if !slices.Contains(items(last.Value), class) {
			lost = append(lost, simple(class))
		}
	}
	if len(lost) > 0 {
		c.findIn(s, last.Origin.Pos, fmt.Sprintf("%s takes the place of the list at line %d; %s no longer in it", key, before.Origin.Pos.Line, plural(lost)))
	}
}

// plural names things in a sentence with their verb.
func plural(all []string) string {
	if len(all) == 1 {
		return all[0] + " is"
	}
	return names(all) + " are"
}

// simple is the name of a class without its package.
func simple(class string) string { return class[strings.LastIndexByte(class, '.')+1:] }

func twoSections() Rule {
	return Rule{
		ID: "instances-and-backends", Severity: Warning,
		Title:  "Instances under two names",
		Why:    "backends (and limiters) is an old name of instances. Both fill one list, and of an instance that stands in both only one of its blocks counts.",
		Source: "the library's configuration classes",
		Fix:    "put all of them under instances",
		check: func(c *checker) {
			for _, m := range resilience4j.Modules() {
				prefix := "resilience4j." + plain(m.String()) + "."
				today, old := c.below(prefix+"instances."), c.below(prefix+"backends.", prefix+"limiters.")
				if len(today) > 0 && len(old) > 0 {
					c.find(old[0].at, fmt.Sprintf("resilience4j.%v has instances, and the same under an old name", m), "")
				}
			}
		},
	}
}
