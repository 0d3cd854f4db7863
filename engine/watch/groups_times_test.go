package watch

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
)

// There is one callback for all events of a group within a moment, and Groups repeats each callback once, a while
// later.
func TestGroupsGatherEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var calls []string
		g := &Groups{calls: workqueue.NewTypedDelayingQueue[groupCall](),
			Changed: func(group string) { calls = append(calls, fmt.Sprintf("%s %s", group, time.Since(start))) }}
		go g.run(t.Context())
		for _, event := range []struct {
			at    time.Duration
			group string
		}{
			{0, "apps"}, {100 * time.Millisecond, "batch"},
			{190 * time.Millisecond, "apps"}, // this event neither delays nor repeats the callback
			{4900 * time.Millisecond, "batch"},
		} {
			time.Sleep(event.at - time.Since(start))
			g.note(event.group)
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
