package model_test

import (
	"context"
	"time"
)

// wallNow reads the clock that the real proxies read, too.
func wallNow() time.Time {
	return time.Now() //nolint:forbidigo // The proxies live in real time, and what they do has to be dated by it.
}

// pause lets real time pass between two requests. No check relies on its length.
func pause(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}
