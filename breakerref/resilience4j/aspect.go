package resilience4j

import (
	"cmp"
	"slices"
)

// Aspect is where a module stands among those around a method.
type Aspect struct {
	Module Module
	Order  int // a lower one is further out
	Origin Origin
}

// lowest is Spring's Ordered.LOWEST_PRECEDENCE, from which the library counts.
const lowest = 1<<31 - 1

// orderOf is the key of a module's order, and the order without it. A thread pool bulkhead
// has that of the bulkhead.
func orderOf(m Module) (key string, def int) {
	switch m {
	case Retry:
		return "retryAspectOrder", lowest - 5
	case CircuitBreaker:
		return "circuitBreakerAspectOrder", lowest - 4
	case RateLimiter:
		return "rateLimiterAspectOrder", lowest - 3
	case TimeLimiter:
		return "timeLimiterAspectOrder", lowest - 2
	case Bulkhead:
		return "bulkheadAspectOrder", lowest - 1
	case ThreadPoolBulkhead:
	}
	return "", 0
}

func isOrder(m Module, name string) bool {
	key, _ := orderOf(m)
	return key != "" && uniform(key) == name
}

// aspects reads the orders.
func (f *File) aspects() {
	for _, m := range []Module{Retry, CircuitBreaker, RateLimiter, TimeLimiter, Bulkhead} {
		key, def := orderOf(m)
		a := Aspect{Module: m, Order: def}
		for _, s := range f.sources {
			found := s.byName[join(elements("resilience4j."+m.String()+"."+key))]
			if len(found) == 0 {
				continue
			}
			p := property{key: key, kind: integer, least: -lowest - 1, primitive: true}
			all := make([]occurrence, len(found))
			for i, p := range found {
				all[i].prop = p
			}
			dashed := "resilience4j." + m.String() + "." + kebab(key)
			if v, err := f.one(p, all, dashed); err == nil && !v.null {
				a.Order, a.Origin = int(v.num), Origin{Source: FromInstance, Pos: found[chosen(all, dashed)].pos}
			}
			break
		}
		f.orders = append(f.orders, a)
	}
	slices.SortStableFunc(f.orders, func(a, b Aspect) int { return cmp.Compare(a.Order, b.Order) })
}

// AspectOrder returns the modules as they stand around a method, the outermost first. Of
// equal ones, which Spring puts in an order of its own, the first is that which would
// be without the file.
func (f *File) AspectOrder() []Aspect { return slices.Clone(f.orders) }
