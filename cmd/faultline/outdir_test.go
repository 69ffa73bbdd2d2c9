package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

// What --junit names is known to be writable before a run that would be lost.
func TestGivenFile(t *testing.T) {
	dir := t.TempDir()
	// A socket stands for all that is no regular file: to write over a device, as a
	// broken check would, is to break the machine.
	socket := filepath.Join(dir, "socket")
	var lc net.ListenConfig
	l, err := lc.Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Skipf("no sockets in files here: %v", err)
	}
	defer func() { _ = l.Close() }()
	there := filepath.Join(dir, "there.xml")
	if err := os.WriteFile(there, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		filepath.Join(dir, "new.xml"):              "",
		filepath.Join(dir, "ci", "a", "junit.xml"): "",
		there:                             "",
		dir:                               "is a folder; name a file",
		socket:                            "is not a regular file",
		filepath.Join(there, "junit.xml"): "name a file in a folder that can be made",
		filepath.Join(dir, strings.Repeat("x", 300)): "name a file that can be written",
	} {
		err := givenFile(path)
		if got := fmt.Sprint(err); (err == nil) != (want == "") || !strings.Contains(got, want) && want != "" {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
	if got, _ := os.ReadFile(there); string(got) != "old" {
		t.Errorf("the check wrote over a file: %q", got)
	}
	var left []string
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if !d.IsDir() {
			left = append(left, d.Name())
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"socket", "there.xml"}, left); diff != "" {
		t.Errorf("files (-want +left by the check):\n%s", diff)
	}
}
