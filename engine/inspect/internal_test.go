package inspect

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMinimalRules(t *testing.T) {
	tests := []struct {
		reason string
		grants []grant
		want   string
	}{
		{reason: "nothing missing", want: ""},
		{
			reason: "verbs of one resource are one rule, in the usual order, each once",
			grants: []grant{{"apps", "deployments", "patch"}, {"apps", "deployments", "get"}, {"apps", "deployments", "escalate"}, {"apps", "deployments", "get"}},
			want:   "- apiGroups: [\"apps\"]\n  resources: [\"deployments\"]\n  verbs: [\"get\", \"patch\", \"escalate\"]\n",
		},
		{
			reason: "resources with the same verbs share a rule within their group only",
			grants: []grant{{"apps", "statefulsets", "patch"}, {"apps", "deployments", "patch"}, {"", "pods", "patch"}, {"apps", "deployments/scale", "get"}},
			want: "- apiGroups: [\"\"]\n  resources: [\"pods\"]\n  verbs: [\"patch\"]\n" +
				"- apiGroups: [\"apps\"]\n  resources: [\"deployments\", \"statefulsets\"]\n  verbs: [\"patch\"]\n" +
				"- apiGroups: [\"apps\"]\n  resources: [\"deployments/scale\"]\n  verbs: [\"get\"]\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.reason, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, RulesYAML(minimalRules(tt.grants))); diff != "" {
				t.Errorf("RulesYAML (-want +got):\n%s", diff)
			}
		})
	}
}

// Minimal rules grant exactly what was asked for, whatever the order.
func TestMinimalRulesAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) grant {
			return grant{
				rapid.SampledFrom([]string{"", "apps", "batch"}).Draw(t, "group"),
				rapid.SampledFrom([]string{"a", "b", "b/scale"}).Draw(t, "resource"),
				rapid.SampledFrom([]string{"get", "list", "patch"}).Draw(t, "verb"),
			}
		})
		grants := rapid.SliceOf(one).Draw(t, "grants")
		want, got := map[grant]bool{}, map[grant]bool{}
		for _, g := range grants {
			want[g] = true
		}
		for _, r := range minimalRules(grants) {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					got[grant{r.APIGroups[0], resource, verb}] = true
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("grants (-asked +given):\n%s", diff)
		}
	})
}

func TestDebouncer(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	d := debouncer{wait: 200 * time.Millisecond, echo: 5 * time.Second}
	d.add("apps", at(0))
	d.add("batch", at(100))
	d.add("apps", at(190)) // neither delays nor repeats the call
	steps := []struct {
		ms   int
		want []string
	}{
		{199, nil},
		{200, []string{"apps"}},
		{201, nil},
		{300, []string{"batch"}},
		{5199, nil},
		{5200, []string{"apps"}}, // the echo
		{5300, []string{"batch"}},
		{60000, nil},
	}
	for _, s := range steps {
		if diff := cmp.Diff(s.want, d.take(at(s.ms))); diff != "" {
			t.Errorf("due at %d ms (-want +got):\n%s", s.ms, diff)
		}
	}
	d.add("apps", at(61000))
	d.take(at(61200))
	d.add("apps", at(62000)) // puts the echo off
	if diff := cmp.Diff([]string{"apps"}, d.take(at(62200))); diff != "" {
		t.Errorf("a second event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string(nil), d.take(at(66300))); diff != "" {
		t.Errorf("the first echo after a second event (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"apps"}, d.take(at(67200))); diff != "" {
		t.Errorf("the echo of the second event (-want +got):\n%s", diff)
	}
}

func TestNearest(t *testing.T) {
	fields := []string{"replicas", "replica", "selector", "template", "paused"}
	tests := []struct{ name, want string }{
		{"replcias", "replicas"},
		{"Replicas", "replicas"},
		{"replicaz", "replica"}, // as near as replicas: the first in the alphabet
		{"pause", "paused"},
		{"minReadySeconds", ""},
		{"x", ""},
	}
	for _, tt := range tests {
		if got := nearest(tt.name, fields); got != tt.want {
			t.Errorf("nearest(%q) = %q, want %q", tt.name, got, tt.want)
		}
	}
	if got := nearest("anything", nil); got != "" {
		t.Errorf("nearest among none = %q", got)
	}
}

func TestGroupOf(t *testing.T) {
	for name, want := range map[string]string{
		"widgets.example.com": "example.com", "v1.apps": "apps", "v1.": "", "v1beta1.metrics.k8s.io": "metrics.k8s.io",
	} {
		if got := groupOf(name); got != want {
			t.Errorf("groupOf(%q) = %q, want %q", name, got, want)
		}
	}
}
