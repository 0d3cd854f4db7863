package cli_test

import (
	"strings"
	"testing"
)

// TestSleepNamesTheNamespaceThatKeepsAwake checks the note of the verb sleep for an object that stays awake because its
// namespace is kept awake.
func TestSleepNamesTheNamespaceThatKeepsAwake(t *testing.T) {
	const world = `
apiVersion: v1
kind: Namespace
metadata: {name: dev, annotations: {flyball.dev/awake-until: "2037-05-14T09:00:00Z"}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: api, namespace: dev, uid: a, resourceVersion: "1"}
spec: {replicas: 2}
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: dev}
spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}
`
	got := outcome(t, world, "sleep", "deployment/api", "--offline", "-f", "-", "-n", "dev", "--dry-run", "--time-zone=UTC")
	if want := "This changes nothing: namespace/dev keeps it awake until Thu 2037-05-14 09:00 UTC."; !strings.Contains(got, want) {
		t.Errorf("got\n%s\nwant %s", got, want)
	}
}
