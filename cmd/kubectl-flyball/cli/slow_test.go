package cli_test

import (
	"bytes"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// TestNowIsNotThePast checks that a slow read of the cluster does not turn now into an instant of the past. An answer
// about the past would be marked as hypothetical.
func TestNowIsNotThePast(t *testing.T) {
	for _, args := range [][]string{{"explain", "deployment/web"}, {"explain", "schedule/office-hours"}, {"plan", "--for", "1d"}} {
		var out bytes.Buffer
		clock := now
		env := factory.Env{IOStreams: genericiooptions.IOStreams{Out: &out, ErrOut: &out}, Now: func() time.Time {
			clock = clock.Add(3 * time.Second)
			return clock
		}}
		cli.Run(t.Context(), append(args, "--offline", "testdata/shop", "-n", "shop"), env)
		if text := out.Bytes(); !bytes.Contains(text, []byte("2037")) || bytes.Contains(text, []byte("hypothetical")) {
			t.Errorf("%v:\n%s", args, text)
		}
	}
}
