package injector

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// spoolMemory is how much of a body is kept in memory, in bytes; the rest goes
// to a temporary file.
const spoolMemory = 1 << 20

// spool reads r to its end and returns what it read. Closing that frees it.
func spool(r io.Reader) (io.ReadCloser, error) {
	var head bytes.Buffer
	if _, err := io.CopyN(&head, r, spoolMemory); errors.Is(err, io.EOF) {
		return io.NopCloser(&head), nil
	} else if err != nil {
		return nil, fmt.Errorf("read the request's body: %w", err)
	}
	file, err := os.CreateTemp("", "faultline-body-*")
	if err != nil {
		return nil, fmt.Errorf("keep the request's body: %w", err)
	}
	body := &spooled{Reader: io.MultiReader(&head, file), file: file}
	_, err = io.Copy(file, r)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("keep the request's body: %w", err), body.Close())
	}
	return body, nil
}

// spooled is a body whose end lies in a file.
type spooled struct {
	io.Reader
	file *os.File
}

// Close removes the file.
func (s *spooled) Close() error {
	return errors.Join(s.file.Close(), os.Remove(s.file.Name()))
}
