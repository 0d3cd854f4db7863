package decide_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// memory is a world in memory with the adapters of the library, namespace shop, and policies and objects in it.
func memory(t *testing.T, policies []policy.Object, objects ...string) *world.Memory {
	t.Helper()
	all, err := library()
	if err != nil {
		t.Fatal(err)
	}
	return memoryOf(t, all, policies, objects...)
}

var library = sync.OnceValues(adapters.All)

// memoryOf is memory with other adapters.
func memoryOf(t *testing.T, library []v1alpha1.Adapter, policies []policy.Object, objects ...string) *world.Memory {
	t.Helper()
	lists := world.Lists{Scope: selector.Scope{Protected: sets.New[string]()}, Policies: policies,
		Namespaces: []*workload.Object{{Name: "shop"}, {Name: "argocd"}, {Name: "bank"}}}
	for i := range library {
		lists.Adapters = append(lists.Adapters, &library[i])
	}
	for _, manifest := range objects {
		lists.Objects = append(lists.Objects, []byte(manifest))
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// nightly is a Schedule that sleeps from eight in the evening to eight in the morning, with a batch each way
// if batch is not 0.
func nightly(batch int32) *v1alpha1.Schedule {
	s := &v1alpha1.Schedule{TypeMeta: metav1.TypeMeta{Kind: schedule.Kind}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
	s.Spec.Downscale, s.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	if batch > 0 {
		s.Spec.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: batch, DelayBetweenBatches: "10m"}
		s.Spec.UpscaleRateLimit = &v1alpha1.RateLimit{BatchSize: batch, DelayBetweenBatches: "1h"}
	}
	return s
}

// simulated returns the writes of a simulation as text: instant, direction and target.
func simulated(t *testing.T, w decide.Sandbox, from, to time.Time) []string {
	t.Helper()
	writes, err := decide.Simulate(w, from, to)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, write := range writes {
		if write.By != nights || write.Message == "" {
			t.Errorf("%s is written by %s: %q", write.Target, write.By, write.Message)
		}
		lines = append(lines, fmt.Sprintf("%s %s %s", write.At.Format("2 15:04"), write.Direction, write.Target.Name))
	}
	return lines
}

func TestSimulationEqualsTheDecisions(t *testing.T) {
	morning := evening.Add(12 * time.Hour)
	daemonSet := `{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"name":"logs","namespace":"shop","uid":"u","resourceVersion":"7"},` +
		`"spec":{"updateStrategy":{"type":"OnDelete"},"template":{"spec":{"containers":[]}}}}`
	freeze := &v1alpha1.ChangeFreeze{TypeMeta: metav1.TypeMeta{Kind: "ChangeFreeze"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
	freeze.Spec.StartTime, freeze.Spec.EndTime = metav1.NewTime(noon), metav1.NewTime(evening.Add(90*time.Minute))
	freeze.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionRollOut}
	bounded := nightly(1)
	bounded.Spec.AsleepAs = &v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Min: new(int64(1))}}
	deleted := nightly(1)
	deleted.DeletionTimestamp = &metav1.Time{Time: noon}
	three := []string{worldtest.Deployment("a", 3, ""), worldtest.Deployment("b", 3, ""), worldtest.Deployment("c", 3, "")}
	asleep := strings.ReplaceAll(webLedger, "Deployment/web", "Deployment/%s")
	for _, tc := range []struct {
		reason   string
		policies []policy.Object
		objects  []string
		from, to time.Time
		want     []string
	}{
		{reason: "both ends are included", policies: []policy.Object{nightly(0)}, objects: three[:1], from: evening, to: morning,
			want: []string{"2 20:00 down a", "3 08:00 up a"}},
		{reason: "due writes come at the beginning", policies: []policy.Object{nightly(0)}, objects: three[:1],
			from: evening.Add(time.Hour), to: morning.Add(-time.Second), want: []string{"2 21:00 down a"}},
		{reason: "no policies", objects: three, from: noon, to: morning},
		{reason: "two to a batch", policies: []policy.Object{nightly(2)}, objects: three, from: noon, to: morning.Add(time.Hour),
			want: []string{"2 20:00 down a", "2 20:00 down b", "2 20:10 down c", "3 08:00 up a", "3 08:00 up b", "3 09:00 up c"}},
		{reason: "a batch each night", policies: []policy.Object{nightly(1)}, objects: three[:1], from: noon, to: morning.Add(24 * time.Hour),
			want: []string{"2 20:00 down a", "3 08:00 up a", "3 20:00 down a", "4 08:00 up a"}},
		{reason: "restores for a deleted policy are not limited", policies: []policy.Object{deleted}, from: evening, to: evening,
			objects: []string{worldtest.Deployment("a", 0, fmt.Sprintf(asleep, "a")), worldtest.Deployment("b", 0, fmt.Sprintf(asleep, "b"))},
			want:    []string{"2 20:00 up a", "2 20:00 up b"}},
		{reason: "an autoscaler goes first when its target goes to zero, last when it wakes, and takes no place in a batch",
			policies: []policy.Object{nightly(1)}, objects: []string{three[0], worldtest.Autoscaler("hpa", "a", 0, 9, "")}, from: noon, to: morning,
			want: []string{"2 20:00 down hpa", "2 20:00 down a", "3 08:00 up a", "3 08:00 up hpa"}},
		{reason: "an autoscaler that is a target itself takes a place in a batch", policies: []policy.Object{bounded}, from: noon,
			to:      morning.Add(-time.Second),
			objects: []string{worldtest.Autoscaler("a", "x", 3, 9, ""), worldtest.Autoscaler("b", "y", 3, 9, "")},
			want:    []string{"2 20:00 down a", "2 20:10 down b"}},
		{reason: "a pod restart waits for the end of a freeze", policies: []policy.Object{nightly(0), freeze},
			objects: []string{three[0], daemonSet},
			from:    noon, to: morning.Add(-time.Second), want: []string{"2 20:00 down a", "2 21:30 down logs"}},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, simulated(t, memory(t, tc.policies, tc.objects...), tc.from, tc.to)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// faulty is a world whose objects apply patches wrongly.
type faulty struct {
	*world.Memory
	err error
}

func (f faulty) Apply(ref workload.Ref, _ *workload.Patch) ([]workload.Ref, error) {
	return []workload.Ref{ref, ref}, f.err
}

// A target that is unchanged after each write would be written for ever.
func TestSimulateStopsEndlessWrites(t *testing.T) {
	w := faulty{Memory: memory(t, []policy.Object{nightly(0)}, worldtest.Deployment("a", 3, ""))}
	writes, err := decide.Simulate(w, noon, evening.Add(time.Hour))
	if !errors.Is(err, decide.ErrRestless) || !strings.Contains(err.Error(), "shop/a at 2026-03-02T20:00:00Z") {
		t.Errorf("error %v", err)
	}
	if len(writes) != 17 {
		t.Errorf("%d writes before it gives up, want 17", len(writes))
	}
	w.err = errors.New("no such field")
	writes, err = decide.Simulate(w, noon, evening.Add(time.Hour))
	if !errors.Is(err, w.err) || !strings.Contains(err.Error(), "shop/a at 2026-03-02T20:00:00Z") || len(writes) != 0 {
		t.Errorf("error %v after %d writes", err, len(writes))
	}
}
