package experiments

import "github.com/faultline-go/faultline/internal/yamldoc"

// Switches are the words of sut.reference.paging.on_switch: what a source of the
// reference service does with a cursor of the other one. The last three are wrong.
func Switches() []string {
	return []string{"continue", "restart", "gone", "skip", "repeat", "rewind"}
}

// paging reads a list that the reference service has in two sources.
func paging(m *yamldoc.Map, v yamldoc.Value) *Paging {
	if !v.Exists() {
		return nil
	}
	pm := v.Map("{items: 40, page: 5}")
	defer pm.Done()
	if m.Get("fallback").Exists() {
		m.Key("fallback").Problemf("paging and fallback exclude each other; the second source of the list is the fallback")
	}
	return &Paging{
		Items: pm.Need("items").Count(1, 1), Page: pm.Need("page").Count(1, 1),
		OnSwitch: pm.Get("on_switch").OneOf(Switches()[0], Switches()...),
	}
}
