//go:build unix && !linux

package target

import "os"

// left would need a list of processes, and here there is no cheap one. Answering
// no makes Stop patient only with the process that was started; close kills the
// rest.
func (g *group) left() bool { return false }

// strays cannot be found without such a list.
func (g *group) strays() []*os.Process { return nil }
