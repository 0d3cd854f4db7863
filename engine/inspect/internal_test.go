package inspect

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// Rules on one line are the same rules. The line is for a terminal, a condition or a copy into a ClusterRole.
func TestRulesLine(t *testing.T) {
	want := []rbacv1.PolicyRule{RuleOf(schema.GroupResource{Group: "apps", Resource: "deployments"}, "get", "patch"),
		RuleOf(schema.GroupResource{Group: "apps", Resource: "deployments/scale"}, "patch"), RuleOf(schema.GroupResource{Resource: "pods"}, "list")}
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
