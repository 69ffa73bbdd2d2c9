package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
)

// Secured is how an injector of a plan speaks TLS, as its hand wants it; nil: it does not.
func Secured(t *experiments.TLS) *injector.TLS {
	if t == nil {
		return nil
	}
	return &injector.TLS{Names: t.Names, Protocols: t.Protocols}
}

// WriteCAs writes the certificates that callers of running injectors must trust, one
// after the other where injectors share a file, and returns the files by the injectors'
// names. A relative ca_file is relative to dir, a folder; the certificate of who names none goes
// into the folder other, or nowhere if that is empty. The paths are absolute.
func WriteCAs(plan []experiments.Injector, running []*injector.Injector, dir, other string) (map[string]string, error) {
	files, text := map[string]string{}, map[string][]byte{}
	for i, in := range plan {
		if in.TLS == nil || in.TLS.CAFile == "" && other == "" {
			continue
		}
		file := filepath.Join(dir, in.TLS.CAFile)
		switch {
		case in.TLS.CAFile == "":
			file = filepath.Join(other, in.Name+".pem")
		case filepath.IsAbs(in.TLS.CAFile):
			file = in.TLS.CAFile
		}
		file, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("find the file for the certificate of %s: %w", in.Name, err)
		}
		files[in.Name] = file
		text[file] = append(text[file], running[i].CA()...)
	}
	for file, pem := range text {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, caError(file, err)
		}
		if err := os.WriteFile(file, pem, 0o644); err != nil { //nolint:gosec // It is to be read by the callers, whoever runs them, and is no secret.
			return nil, caError(file, err)
		}
	}
	return files, nil
}

func caError(file string, err error) error {
	return fmt.Errorf("write the certificate that callers have to trust to %s: %w; correct injectors.NAME.tls.ca_file", file, err)
}

// writeCAs writes the certificates before anybody needs them: where no file is named,
// into a folder that goes with the run.
func (r *runner) writeCAs() error {
	unnamed := func(in experiments.Injector) bool { return in.TLS != nil && in.TLS.CAFile == "" }
	var err error
	if slices.ContainsFunc(r.plan.Injectors, unnamed) {
		if r.caFolder, err = os.MkdirTemp("", "faultline-ca-"); err != nil {
			return &PreconditionError{What: fmt.Sprintf("make a folder for the certificates of the run: %v", err)}
		}
	}
	if r.caFiles, err = WriteCAs(r.plan.Injectors, r.injectors, r.opt.BaseDir, r.caFolder); err != nil {
		return &PreconditionError{What: err.Error()}
	}
	return nil
}

// removeCAs removes what nobody asked to keep.
func (r *runner) removeCAs() error {
	if r.caFolder == "" {
		return nil
	}
	if err := os.RemoveAll(r.caFolder); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the certificates of the run: %w", err)
	}
	return nil
}
