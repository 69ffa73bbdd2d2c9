package run_test

import "os"

// deep reports whether the large counts were asked for.
func deep() bool { return os.Getenv("FAULTLINE_DEEP") == "1" }
