//go:build !unix

package injector

import "errors"

// holdPort is not possible here.
func holdPort(string) (release func(), err error) {
	return nil, errors.New("connections can be refused while the port is kept on Unix only; use close or reset")
}

// fillBacklog is not possible here.
func fillBacklog(string) (release func(), err error) {
	return nil, errors.New("connections that time out can be had on Linux only; use hang")
}
