package inspect

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
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
			grants: []grant{{"apps", "deployments", "patch"}, {"apps", "deployments", "get"}, {"apps", "deployments", "escalate"},
				{"apps", "deployments", "get"}},
			want: "- apiGroups: [\"apps\"]\n  resources: [\"deployments\"]\n  verbs: [\"get\", \"patch\", \"escalate\"]\n",
		},
		{
			reason: "resources with the same verbs share a rule within their group only",
			grants: []grant{{"apps", "statefulsets", "patch"}, {"apps", "deployments", "patch"}, {"", "pods", "patch"},
				{"apps", "deployments/scale", "get"}},
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

// Rules on one line are the same rules. The line is for a terminal, a condition or a copy into a ClusterRole.
func TestRulesLine(t *testing.T) {
	want := minimalRules([]grant{{"apps", "deployments", "patch"}, {"apps", "deployments/scale", "get"}, {"", "pods", "list"}})
	line := RulesLine(want)
	if strings.ContainsAny(line, "\n\\") {
		t.Errorf("%q is no plain line", line)
	}
	var got []rbacv1.PolicyRule
	if err := yaml.UnmarshalStrict([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rules (-) and pasted (+):\n%s", diff)
	}
}

// Minimal rules grant exactly the input, in any order.
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

// The watcher makes one callback for all events of a group within a moment, and repeats each callback once, a while
// later.
func TestWatcherGathersEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls []string
		w := newWatcher(WatcherOptions{}, func(group string) { calls = append(calls, fmt.Sprintf("%s %s", group, time.Since(start))) })
		go w.run(t.Context())
		for _, event := range []struct {
			at    time.Duration
			group string
		}{
			{0, "apps"}, {100 * time.Millisecond, "batch"},
			{190 * time.Millisecond, "apps"}, // this event neither delays nor repeats the callback
			{4900 * time.Millisecond, "batch"},
		} {
			time.Sleep(event.at - time.Since(start))
			w.note(event.group)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []string{"apps 200ms", "batch 300ms", "batch 5.1s", "apps 5.2s", "batch 5.3s", "batch 10.1s"}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Error(diff)
		}
	})
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
