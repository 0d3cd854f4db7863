package cli_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// slowReader calls done when its text has been read.
type slowReader struct {
	text io.Reader
	done func()
}

func (r *slowReader) Read(p []byte) (int, error) {
	n, err := r.text.Read(p)
	if err == io.EOF {
		r.done()
	}
	return n, err
}

const asleepSinceAMoment = `
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: shop, name: nights}
spec: {timeZone: UTC, upscale: "0 8 * * *", downscale: "0 20 * * *"}
---
apiVersion: apps/v1
kind: Deployment
metadata:
  namespace: shop
  name: web
  annotations:
    flyball.dev/ledger: |-
      {"/spec/replicas":{"was":2,"set":0,"by":"Schedule/shop/nights","since":"2037-05-13T20:00:00Z"},"of":"Deployment/web"}
spec:
  replicas: 0
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: app}]}}
`

// TestTheClockIsReadAfterTheObjects reads objects over a transition: with the instant before, each verb would announce that the write of
// the transition is undone.
func TestTheClockIsReadAfterTheObjects(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"plan", "report", "explain deployment/web"} {
		now := time.Date(2037, 5, 13, 19, 59, 59, 0, time.UTC)
		in := &slowReader{strings.NewReader(asleepSinceAMoment), func() { now = now.Add(2 * time.Second) }}
		var out, errOut bytes.Buffer
		cli.Run(t.Context(), append(strings.Fields(line), "--offline", "-", "-n", "shop", "--time-zone", "UTC"),
			factory.Env{IOStreams: genericiooptions.IOStreams{In: in, Out: &out, ErrOut: &errOut}, Now: func() time.Time { return now }})
		if text := out.String(); !strings.Contains(text, "2037-05-14 08:00") && line != "report" || strings.Contains(text, "19:59") {
			t.Errorf("%s:\n%s%s", line, text, errOut.String())
		}
	}
}
