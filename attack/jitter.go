package attack

import (
	"time"

	"github.com/faultline-go/faultline/attack/pace"
)

// jitter is added to a call's timeout: 1 to 999 ns. In a bubble a round timeout
// would otherwise end a call at the very instant at which a later slot is due,
// and it would be up to the scheduler whether the slot finds room.
func jitter(phase int, seq uint64) time.Duration {
	return pace.Between(pace.Draw(uint64(phase), seq), 1, 999)
}
