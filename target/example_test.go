package target_test

import (
	"fmt"

	"github.com/faultline-go/faultline/target"
)

// What a command line of the SUT may refer to is filled in, and what does not exist
// is told.
func ExampleExpand() {
	vars := map[string]string{"sut.port": "8080", "injectors.payments.url": "http://127.0.0.1:9901"}
	fmt.Println(target.Expand("--payments={{injectors.payments.url}}", vars))
	_, err := target.Expand("{{injectors.billing.url}}", vars)
	fmt.Println(err)
	// Output:
	// --payments=http://127.0.0.1:9901 <nil>
	// "{{injectors.billing.url}}": {{injectors.billing.url}} is not known, did you mean {{injectors.payments.url}}; known are injectors.payments.url, sut.port
}
