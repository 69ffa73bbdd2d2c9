package imports

import (
	"fmt"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// notebook is what a file comes to, and what is wrong with it.
type notebook struct {
	out   Imported
	wrong []Note
}

func (b *notebook) problems(file string) (all []error) {
	for _, n := range b.wrong {
		all = append(all, fmt.Errorf("%s:%s", file, n))
	}
	return all
}

func (b *notebook) note(p yamldoc.Property, format string, args ...any) {
	b.out.Notes = append(b.out.Notes, Note{p.At, p.Key, fmt.Sprintf(format, args...)})
}

func (b *notebook) problem(p yamldoc.Property, format string, args ...any) {
	b.wrong = append(b.wrong, Note{p.At, p.Key, fmt.Sprintf(format, args...)})
}
