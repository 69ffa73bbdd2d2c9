package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// helpful adds to cobra's own errors what to write instead.
func helpful(root *cobra.Command, err error) error {
	var word, parent string
	if _, scanErr := fmt.Sscanf(err.Error(), "unknown command %q for %q", &word, &parent); scanErr != nil {
		return err
	}
	cmd, _, findErr := root.Find(strings.Fields(parent)[1:])
	if findErr != nil {
		return err
	}
	var known []string
	for _, c := range cmd.Commands() {
		known = append(known, c.Name())
	}
	near := yamldoc.Nearest(word, known)
	if i := slices.IndexFunc(known, func(name string) bool { return strings.HasPrefix(name, word) }); near == "" && i >= 0 {
		near = known[i]
	}
	hint := ""
	if near != "" {
		hint = fmt.Sprintf("; did you mean %s %s?", parent, near)
	}
	return fmt.Errorf("%s has no command %q%s\nSee %s --help", parent, word, hint, parent)
}

// flagError adds to a flag that was refused what to write instead.
func flagError(cmd *cobra.Command, err error) error {
	hint := ""
	if unknown, ok := errors.AsType[*pflag.NotExistError](err); ok {
		word, letter := unknown.GetSpecifiedName(), ""
		if short := unknown.GetSpecifiedShortnames(); short != "" {
			word, letter = short, short[:1] // Such as seed of -seed.
		}
		hint = nearFlag(cmd, word, letter)
	}
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok && invalid.GetFlag().Value.Type() == "int" {
		// The words of strconv say nothing to who types a command.
		err = fmt.Errorf("invalid argument %q for %q flag: write a whole number, as %s",
			invalid.GetValue(), "--"+invalid.GetFlag().Name, invalid.GetFlag().DefValue)
	}
	return fmt.Errorf("%w%s\nSee %s --help", err, hint, cmd.CommandPath())
}

// nearFlag continues a sentence about a flag that is not known with the nearest one,
// or the first that begins with the letter, if one was given.
func nearFlag(cmd *cobra.Command, word, letter string) string {
	var known []string
	first := ""
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		known = append(known, f.Name)
		if first == "" && letter != "" && strings.HasPrefix(f.Name, letter) {
			first = f.Name
		}
	})
	near := yamldoc.Nearest(word, known)
	if near == "" {
		near = first
	}
	if near == "" {
		return ""
	}
	return "; did you mean --" + near + "?"
}

// hintOf continues a sentence about a word that is not known: with the nearest known
// one, or else with all of them.
func hintOf(word string, known []string) string {
	if near := yamldoc.Nearest(word, known); near != "" {
		return "; did you mean " + near + "?"
	}
	if len(known) == 0 {
		return ""
	}
	return "; there are " + strings.Join(known, ", ")
}

// nearFile continues a sentence about a file that does not exist, with the nearest
// one of its folder.
func nearFile(file string) string {
	dir, base := filepath.Split(file)
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil {
		return "; check the name and the working directory"
	}
	var names []string
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); !e.IsDir() && (ext == ".yaml" || ext == ".yml") {
			names = append(names, e.Name())
		}
	}
	if near := yamldoc.Nearest(base, names); near != "" {
		return "; did you mean " + dir + near + "?"
	}
	return "; check the name and the working directory"
}
