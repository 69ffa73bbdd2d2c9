package target

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// tailLines and tailBytes bound how much of a log an error message quotes.
const (
	tailLines = 12
	tailBytes = 4 << 10
)

// size is how much a log held before the process wrote to it, so that the end of
// another process is never quoted as this one's.
func size(log *os.File) int64 {
	if log == nil {
		return 0
	}
	info, err := log.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// quoteLog says where the log is and quotes its last lines.
func quoteLog(log *os.File, from int64) string {
	if log == nil {
		return "its output was not kept"
	}
	lines, err := lastLines(log.Name(), from)
	switch {
	case err != nil:
		return fmt.Sprintf("its log is %s (not read: %v)", log.Name(), err)
	case len(lines) == 0:
		return fmt.Sprintf("its log %s is empty", log.Name())
	}
	return fmt.Sprintf("its log is %s, with these last lines:\n  | %s", log.Name(), strings.Join(lines, "\n  | "))
}

// lastLines reads the last lines that were written after offset from. It opens
// the file anew, because the one that the process wrote to may be write-only.
func lastLines(name string, from int64) ([]string, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // Nothing was written to it.
	cut := max(from, info.Size()-tailBytes)
	text, err := io.ReadAll(io.NewSectionReader(f, cut, tailBytes))
	if err != nil {
		return nil, err
	}
	trimmed := strings.TrimRight(strings.ToValidUTF8(string(text), "?"), " \r\n\t")
	if trimmed == "" {
		return nil, nil
	}
	lines := strings.Split(trimmed, "\n")
	if cut > from && len(lines) > 1 {
		lines = lines[1:] // The first one was cut in the middle.
	}
	return lines[max(0, len(lines)-tailLines):], nil
}
