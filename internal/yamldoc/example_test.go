package yamldoc_test

import (
	"fmt"
	"time"

	"github.com/faultline-go/faultline/internal/yamldoc"
)

// A reader asks for the keys that it knows, and every problem is told at the end.
func ExampleParse() {
	doc := yamldoc.Parse("phase.yaml", []byte("name: outage\nduration: 10x\nmesure: false\n"))
	m := doc.Root().Map("{name: outage, duration: 5s}")
	name, duration := m.Need("name").NonEmpty(), m.Get("duration").Duration(time.Second)
	measure := m.Get("measure").Bool(true)
	m.Done()
	fmt.Println(name, duration, measure)
	fmt.Println(doc.Err())
	// Output:
	// outage 1s true
	// phase.yaml:2:11: duration: "10x" is not a duration; write it as 5s, 250ms or 1m30s
	// phase.yaml:3:1: mesure: unknown key; did you mean "measure"?
}
