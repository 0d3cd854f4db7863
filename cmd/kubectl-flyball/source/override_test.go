package source_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// TestOverridesOfManifestsBeginNow checks the creation of Overrides in files: now, or as the cluster has it.
func TestOverridesOfManifestsBeginNow(t *testing.T) {
	now := time.Date(2037, 5, 13, 10, 0, 0, 500, time.UTC)
	const manifest = `
{apiVersion: flyball.dev/v1alpha1, kind: Override, metadata: {name: demo, namespace: shop AT}, spec: {effect: Awake, for: 2h, reason: demo}}
---
{apiVersion: flyball.dev/v1alpha1, kind: ClusterOverride, metadata: {name: demo AT},
 spec: {target: {namespaces: [shop]}, effect: Awake, for: 2h, reason: demo}}
---
{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: nights, namespace: shop AT},
 spec: {upscale: 0 8 * * *, downscale: 0 20 * * *}}`
	read := func(at string, now time.Time) *source.Manifests {
		m, err := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(strings.ReplaceAll(manifest, " AT", at)), Namespace: "shop",
			Now: now}.Read()
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	const earlier = ", creationTimestamp: \"2037-05-13T07:00:00Z\""
	for _, tc := range []struct {
		reason, at string
		now        time.Time
		want       [3]string
	}{
		{"created on reading", "", now, [3]string{"10:00:00", "10:00:00", "00:00:00"}},
		{"with a creation of their own", earlier, now, [3]string{"07:00:00", "07:00:00", "07:00:00"}},
		{"without an instant", "", time.Time{}, [3]string{"00:00:00", "00:00:00", "00:00:00"}},
	} {
		for i, p := range read(tc.at, tc.now).Policies {
			if got := p.GetCreationTimestamp().UTC().Format(time.TimeOnly); got != tc.want[i] {
				t.Errorf("%s: %s is created at %s, want %s", tc.reason, source.IDOf(p), got, tc.want[i])
			}
		}
	}
	inCluster, err := (source.Files{FlyballNamespace: source.DefaultNamespace}).World(read(earlier, now))
	if err != nil {
		t.Fatal(err)
	}
	edited, err := inCluster.Overlay(read("", now))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range edited.Policies {
		if got := p.GetCreationTimestamp().UTC().Format(time.TimeOnly); got != "07:00:00" {
			t.Errorf("an edit of %s moves its creation to %s", source.IDOf(p), got)
		}
	}
}
