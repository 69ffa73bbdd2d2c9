package run

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/faultline-go/faultline/experiments"
	"github.com/faultline-go/faultline/injector"
)

// secured is how an injector of the plan speaks TLS; nil: it does not.
func secured(t *experiments.TLS) *injector.TLS {
	if t == nil {
		return nil
	}
	return &injector.TLS{Names: t.Names, Protocols: t.Protocols}
}

// writeCAs writes the certificates that callers must trust, before there are any:
// to where the plan wants them, else into a folder that goes with the run.
func (r *runner) writeCAs() error {
	r.caFiles = map[string]string{}
	text := map[string][]byte{}
	for i, in := range r.plan.Injectors {
		if in.TLS == nil {
			continue
		}
		file, err := r.caFile(in)
		if err != nil {
			return err
		}
		r.caFiles[in.Name] = file
		text[file] = append(text[file], r.injectors[i].CA()...) // Injectors may share a file.
	}
	for file, pem := range text {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return caError(file, err)
		}
		if err := os.WriteFile(file, pem, 0o644); err != nil { //nolint:gosec // It is to be read by the SUT, whoever runs it, and is no secret.
			return caError(file, err)
		}
	}
	return nil
}

// caFile is where an injector's certificate belongs, as a path that does not depend on
// a working directory.
func (r *runner) caFile(in experiments.Injector) (string, error) {
	if in.TLS.CAFile != "" {
		file, err := filepath.Abs(r.dir(in.TLS.CAFile))
		if err != nil {
			return "", caError(in.TLS.CAFile, err)
		}
		return file, nil
	}
	if r.caFolder == "" {
		folder, err := os.MkdirTemp("", "faultline-ca-")
		if err != nil {
			return "", caError("a temporary folder", err)
		}
		r.caFolder = folder
	}
	return filepath.Join(r.caFolder, in.Name+".pem"), nil
}

func caError(file string, err error) error {
	return &PreconditionError{
		What:   fmt.Sprintf("the certificate that the SUT has to trust cannot be written to %s: %v", file, err),
		Remedy: "correct injectors.NAME.tls.ca_file",
	}
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
