package limit

import (
	"errors"
	"fmt"
	"time"
)

// longest is the longest window, so that two of them fit into a time.Duration.
const longest = time.Duration(1 << 62)

// problems gathers what is wrong with a configuration.
type problems []error

func (p *problems) require(ok bool, field string, value any, allowed string) {
	if !ok {
		*p = append(*p, fmt.Errorf("%s is %v, must be %s", field, value, allowed))
	}
}

func (p *problems) atLeastOne(field string, value int) {
	p.require(value >= 1, field, value, "at least 1")
}

func (p *problems) span(field string, value time.Duration) {
	p.require(value >= 1 && value <= longest, field, value,
		fmt.Sprintf("from 1ns to %v (146 years)", longest))
}

func (p *problems) join() error { return errors.Join(*p...) }
