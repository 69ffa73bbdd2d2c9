//go:build !unix

package main

import "os"

// terminalWidth takes nothing for a terminal where there is no way to ask.
func terminalWidth(*os.File) (int, bool) { return 0, false }
