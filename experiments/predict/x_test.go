package predict

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/faultline-go/faultline/assert/report"
	"github.com/faultline-go/faultline/experiments"
)

func TestX(t *testing.T) {
	for _, f := range strings.Fields(os.Getenv("X")) {
		src, _ := os.ReadFile(f)
		plan, err := experiments.LoadPlan(f, src, 1)
		if err != nil {
			t.Fatal(err)
		}
		t0 := time.Now()
		fc, err := Of(plan)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(time.Since(t0))
		var b strings.Builder
		fc.WriteText(&b, report.TextOptions{Width: 80})
		t.Log("\n" + b.String())
	}
}
