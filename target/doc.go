// Package target starts the system under test as a process, waits until it is
// ready, and stops it for certain.
//
// Everything that a launched command starts belongs to one process group, led
// by a small guard: a shell that waits for the end of a pipe which only this
// process holds. When this process ends, however it ends (a panic, kill -9, a
// job that a CI system cuts off), the pipe ends with it and the guard kills
// the group. No pid is passed around, so there is no instant at which a child
// exists unguarded and no pid that could have been given to somebody else.
//
// A process that leaves the group (setsid, a daemon) is followed on Linux by the
// variable FAULTLINE_LAUNCH, which all that the command starts inherits: it is told
// to stop, waited for and killed with the others. One that is meant to stay, such
// as a build daemon, is started without that variable (env -u FAULTLINE_LAUNCH).
//
// Limits: who leaves the group is not followed when its environment is another one
// (env -i, another user's, a container's), or has been written over, or where the
// system has no /proc. There, too, [Process.Stop] is patient only with the
// process it started and kills the rest at once. Where it has no process groups
// at all (Windows) only the started process is stopped, and nothing guards it.
package target
