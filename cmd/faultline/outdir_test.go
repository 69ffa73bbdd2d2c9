package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func TestFolderName(t *testing.T) {
	for name, want := range map[string]string{
		"good": "good", "a.b_c-d": "a.b_c-d", "..": "experiment", ".hidden": "hidden", "a/../b": "a-..-b", `a\b`: "a-b", "-o": "o",
	} {
		if got := folderName(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

// A write that goes wrong leaves what was there, and no rubbish beside it.
func TestWriteAtomic(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "verdicts.json")
	write := func(text string, err error) error {
		return writeAtomic(path, func(w io.Writer) error {
			_, _ = io.WriteString(w, text)
			return err
		})
	}
	if err := write("one", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("broken")
	if err := write("two", broken); !errors.Is(err, broken) {
		t.Errorf("error: %v", err)
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != "one" {
		t.Errorf("content %q, %v", got, err)
	}
	if err := write("three", nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(path); string(got) != "three" {
		t.Errorf("content %q", got)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("left in the folder: %v, %v", entries, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o644 {
		t.Errorf("mode %v, %v: others, such as a CI system's collector, must be able to read it", info.Mode(), err)
	}
	if err := writeAtomic(filepath.Join(dir, "no", "such"), func(io.Writer) error { return nil }); err == nil {
		t.Error("no error without a folder")
	}
}
