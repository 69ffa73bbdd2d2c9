package injector

import "github.com/faultline-go/faultline/target/trace"

// markShut records that a stage shuts the door, before it is in force: from then on
// connections end that nobody is served on. turn is held, or nobody else knows of the
// injector.
func (i *Injector) markShut(next *stage) {
	if next.door == "" || i.shut {
		return
	}
	i.shut = true
	i.mark(trace.MarkDoorShut, string(next.door))
}

// markOpen records that the door is open again, once it surely is. A stage that shuts it
// anew may have come meanwhile: then it was not. A door that could not be opened has no such
// mark.
func (i *Injector) markOpen() {
	i.turn.Lock()
	defer i.turn.Unlock()
	if i.shut && i.phase.Load().door == "" {
		i.shut = false
		i.mark(trace.MarkDoorOpen, "")
	}
}
