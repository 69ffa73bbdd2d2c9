package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// outRoot is where runs go when nobody says where.
const outRoot = "faultline-out"

// newFolder makes a folder for a run under [outRoot], named by experiment and
// time. It never takes one that exists.
func newFolder(experiment string, now time.Time) (string, error) {
	stem := filepath.Join(outRoot, folderName(experiment)+"-"+now.Format("20060102-150405"))
	if err := os.MkdirAll(outRoot, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the run: %w; choose another with --out", err)
	}
	for n := 1; ; n++ {
		dir := stem
		if n > 1 {
			dir = fmt.Sprintf("%s-%d", stem, n)
		}
		err := os.Mkdir(dir, 0o755)
		switch {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrExist):
			return "", fmt.Errorf("make the folder of the run: %w; choose another with --out", err)
		}
	}
}

// givenFolder makes the folder that --out names. One that has something in it is
// refused: a run never writes over what another left.
func givenFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("--out %s: %w; name a folder that can be made", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("--out %s: %w; name a folder that can be read", dir, err)
	}
	if len(entries) > 0 {
		return fmt.Errorf("--out %s: the folder is not empty (it has %s) and a run writes over nothing; name a new folder, or remove this one", dir, entries[0].Name())
	}
	return nil
}

// givenFile makes the folder of a file that a flag names, and finds out whether
// [writeAtomic] will be able to write the file, before there is something to lose.
func givenFile(path string) error {
	if path == "" {
		return errors.New("names no file; write one, or leave the flag out")
	}
	dir := filepath.Dir(path)
	switch info, err := os.Stat(path); {
	case err == nil && info.IsDir():
		return fmt.Errorf("is a folder; name a file, such as %s", filepath.Join(path, "junit.xml"))
	case err == nil && !info.Mode().IsRegular():
		// It would be replaced, and it may be a device that others need.
		return errors.New("is not a regular file; name one, or a new one")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("%w; name a file in a folder that can be made", err)
	}
	probe, err := tempFor(path)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err // The name of the probe is nobody's business.
	}
	if err != nil {
		return fmt.Errorf("cannot be written: %w; name a file that can be written", err)
	}
	if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("%w; name a file that can be written", err)
	}
	return nil
}

// tempFor makes the file that becomes path when all of it is written.
func tempFor(path string) (*os.File, error) {
	return os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
}

// folderName is an experiment's name as the name of a folder that is not hidden
// and leads nowhere else.
func folderName(experiment string) string {
	name := strings.TrimLeft(strings.NewReplacer("/", "-", `\`, "-").Replace(experiment), ".-")
	if name == "" {
		return "experiment"
	}
	return name
}

// writeAtomic writes a file so that whoever reads it, also after a crash, finds
// all of it or nothing.
func writeAtomic(path string, write func(io.Writer) error) (err error) {
	f, err := tempFor(path)
	if err != nil {
		return unwritten(path, err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // The error that is returned is why.
		}
	}()
	if err := fill(f, write); err != nil {
		return unwritten(path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return unwritten(path, err)
	}
	return nil
}

// unwritten says why a file could not be written, without the name of the one that
// would have become it, and what to do.
func unwritten(path string, err error) error {
	switch e, ok := errors.AsType[*fs.PathError](err); {
	case ok:
		err = e.Err
	default:
		if e, ok := errors.AsType[*os.LinkError](err); ok {
			err = e.Err
		}
	}
	advice := ""
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		advice = "; make room, or choose another folder with --out"
	case errors.Is(err, syscall.EFBIG):
		advice = "; raise the limit on the size of files (ulimit -f)"
	case errors.Is(err, fs.ErrPermission):
		advice = "; choose a folder that may be written with --out"
	}
	return fmt.Errorf("write %s: %w%s", path, err, advice)
}

// fill writes a file's content to the disk and closes it, whatever happens.
func fill(f *os.File, write func(io.Writer) error) error {
	buffered := bufio.NewWriter(f)
	err := write(buffered)
	if err == nil {
		err = buffered.Flush()
	}
	if err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	return errors.Join(err, f.Close())
}
