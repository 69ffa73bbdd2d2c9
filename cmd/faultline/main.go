package main

import (
	"os"
	"runtime"
)

// ballast is how many bytes the garbage collector thinks are in use besides what is: without
// them it would run dozens of times a second under load, and take requests their time. They
// are never touched, so that they take no memory; up to as many bytes of garbage do.
const ballast = 64 << 20

func main() {
	held := make([]byte, ballast)
	code := Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	runtime.KeepAlive(held)
	os.Exit(code)
}
