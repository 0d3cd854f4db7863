package doctor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// TestDemandWithoutAnswerIsFound checks that the reason why a demand has no answer, as the manager knows it, is a problem.
func TestDemandWithoutAnswerIsFound(t *testing.T) {
	const schedule = `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: idle, namespace: shop},
  spec: {idle: {demand: "rate(requests[2m])", asleepAfter: 2h}},
  status: {conditions: [
    {type: Ready, status: "%s", reason: DemandFailed, message: no answer, lastTransitionTime: "2037-01-01T00:00:00Z"}]}}`
	for ready, want := range map[string]string{"True": "1 policy, all readable", "False": "Schedule/shop/idle is not ready: no answer"} {
		w, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(fmt.Sprintf(schedule, ready)), Namespace: "shop",
			FlyballNamespace: source.DefaultNamespace}.Load()
		if err != nil {
			t.Fatal(err)
		}
		memory, err := w.Memory()
		if err != nil {
			t.Fatal(err)
		}
		c := &Checkup{}
		c.policies(w, memory, Input{Live: true, Now: time.Date(2037, 1, 1, 0, 0, 0, 0, time.UTC)})
		if said := strings.Join(c.Checks[0].Details, "\n"); said != want {
			t.Errorf("%s: got %q, want %q", ready, said, want)
		}
	}
}
