package injector

import (
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// timerfd is a timer of the kernel that is read like a file (timerfd_create(2)).
type timerfd struct {
	fd   int
	file *os.File // of fd, in the runtime's poller
}

// newClock returns nil where there is none to be had.
func newClock() clock {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return nil // The runtime's timers do as well, less exactly.
	}
	return &timerfd{fd: fd, file: os.NewFile(uintptr(fd), "timer")}
}

func (t *timerfd) set(in time.Duration) {
	// It fails for times that are none; there is one.
	_ = unix.TimerfdSettime(t.fd, 0, &unix.ItimerSpec{Value: unix.NsecToTimespec(in.Nanoseconds())}, nil)
}

func (t *timerfd) wait() bool {
	var rings [8]byte
	_, err := t.file.Read(rings[:])
	return err == nil
}

func (t *timerfd) close() { _ = t.file.Close() } // Who waits is told of it.
