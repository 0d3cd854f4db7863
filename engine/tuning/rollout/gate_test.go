package rollout

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/reconcile"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

var another = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

var tuned = workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}

// restarting are pods of which a container is restarted by a change in place.
var restarting = &workload.Fleet{Own: "flyball", Pods: []*workload.Pod{{
	Resize: workload.Resize{By: "flyball", State: workload.ResizeInProgress}, Containers: []workload.Container{{RestartsForMemory: true}},
}}}

// scene is a Gate with its own world, whose objects are in memory.
type scene struct {
	*Gate
	clock   *clocktesting.FakeClock
	budgets budgets
	fleets  fleets
}

// fleets has the pods of targets, by name.
type fleets map[string]*workload.Fleet

func (f fleets) Fleet(ref workload.Ref) (*workload.Fleet, bool) {
	return f[ref.Name], f[ref.Name] != nil
}

func newScene(t *testing.T) *scene {
	t.Helper()
	s := &scene{clock: clocktesting.NewFakeClock(time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)), budgets: budgets{}, fleets: fleets{}}
	w := world.New(selector.Scope{})
	m, err := status.NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	queue := reconcile.NewQueue(w, status.NewTracker(w, s.clock, m), s.clock)
	t.Cleanup(queue.Stop)
	s.Gate = New(w, queue, s.fleets, s.budgets, s.clock)
	namespaces := &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	w.Update(func(tx *world.Tx) { tx.SetNamespaces(namespaces) })
	return s
}

// put adds an object.
func (s *scene) put(t *testing.T, k *world.LiveKind, manifest string) {
	t.Helper()
	obj := worldtest.Project(t, k.Kind, manifest)
	k.Live.Objects.(*worldtest.Store).Put(obj)
	s.world.ObjectChanged(k.Live, nil, obj)
}

// tune puts kinds to use with their tuned fields, and adds a Tortoise over all Deployments.
func (s *scene) tune(t *testing.T) (deployments, autoscalers *world.LiveKind) {
	t.Helper()
	use := func(name string) *world.LiveKind {
		k := worldtest.KindWith(t, name, adapter.Keys{Amounts: true})
		live := world.NewLive(k.Adapter)
		live.Objects = &worldtest.Store{}
		used := &world.LiveKind{Kind: k, Live: live}
		s.world.Update(func(tx *world.Tx) { tx.UseKind(used) })
		return used
	}
	deployments, autoscalers = use(worldtest.Deployments), use(worldtest.Autoscalers)
	k, _ := kinds.Find("Tortoise")
	obj := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: tuned.Namespace, Name: tuned.Name, Generation: 1,
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	obj.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	obj.Spec.Mode = v1alpha1.TortoiseAuto
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(k, obj) })
	return deployments, autoscalers
}

// tunedBy returns the metadata of an object with a ledger entry of the Tortoise.
func tunedBy(kind, name, pointer string, id workload.Policy) string {
	ledger := fmt.Sprintf(`{%q:{"was":"1","set":"2","by":%q,"since":"2037-05-11T18:00:00Z"},"of":"%s/%s"}`, pointer, id, kind, name)
	return fmt.Sprintf(`,"annotations":{%q:%q}`, v1alpha1.AnnotationLedger, ledger)
}

// running returns a Deployment with a request and three pods, of which the given number is updated.
func running(name, metadata string, updated int) string {
	bare := strings.TrimSuffix(worldtest.Deployment(name, 3, metadata), "}")
	return strings.Replace(bare, `"template":{`, `"template":{"spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"2"}}}]},`,
		1) +
		fmt.Sprintf(`,"status":{"observedGeneration":1,"replicas":3,"availableReplicas":3,"updatedReplicas":%d}}`, updated)
}

// The unsettled targets are the tuned targets that have not settled yet, and the targets whose pods are restarted in
// place. The policy also writes autoscalers, but they never count, because they have no pods of their own.
func TestUnsettledTargetsOfAnEarlierManager(t *testing.T) {
	s := newScene(t)
	deployments, autoscalers := s.tune(t)
	const request = "/spec/template/spec/containers/0/resources/requests/cpu"
	s.put(t, deployments, running("rolling", tunedBy("Deployment", "rolling", request, tuned), 1))
	s.put(t, deployments, running("settled", tunedBy("Deployment", "settled", request, tuned), 3))
	s.put(t, deployments, running("of-another", tunedBy("Deployment", "of-another", request, another), 1))
	s.put(t, deployments, running("untouched", "", 1))
	s.put(t, deployments, running("in-place", "", 3))
	s.put(t, autoscalers, worldtest.Autoscaler("rolling", "rolling", 2, 9,
		tunedBy("HorizontalPodAutoscaler", "rolling", "/spec/minReplicas", tuned)))
	s.fleets["in-place"] = restarting
	p := s.world.Snapshot().Find(tuned)
	if p == nil || p.IsBroken() {
		t.Fatalf("%+v", p)
	}
	got := map[string]bool{}
	for _, turn := range s.unsettled(p) {
		got[fmt.Sprintf("%s %s %t", turn.Kind, turn.Name, turn.InPlace)] = true
	}
	want := map[string]bool{"Deployment rolling false": true, "Deployment in-place true": true}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// budgets has the obstacle of each target, by name.
type budgets map[string]string

func (b budgets) Ask(_ context.Context, ref workload.Ref, _ bool, _ workload.Allocations) string {
	return b[ref.Name]
}
func (b budgets) Waits(ref workload.Ref) string { return b[ref.Name] }
func (budgets) Forget(workload.Ref)             {}

// While a target waits for a budget, other targets restart pods, one at a time. A policy that no longer acts restores
// without asking for budgets.
func TestTargetsWaitingForABudgetTakeNoRolloutPlace(t *testing.T) {
	s := newScene(t)
	s.tune(t)
	r := s.Gate
	r.SetTargets(map[workload.Policy]int{tuned: 10})
	s.budgets["a"] = "waits for a budget"
	named := func(name string) workload.Ref {
		return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: name}
	}
	for _, step := range []struct{ name, want string }{{"a", "waits for a budget"}, {"b", ""}, {"a", "waits for a budget"},
		{"c", waitsForOthers}, {"b", ""}} {
		if got := r.TakeRestart(t.Context(), named(step.name), tuned, Need{}); got != step.want {
			t.Errorf("%s: %q, want %q", step.name, got, step.want)
		}
	}
	if running, waiting, late := r.Counts(tuned); running != 1 || waiting != 1 || late != 0 {
		t.Errorf("%d run, %d wait, %d are late", running, waiting, late)
	}
	if got := r.Waiting(named("a")); got != "waits for a budget" {
		t.Errorf("a %q", got)
	}
	r.NoteRestart(named("b"), false)
	if got := r.TakeRestart(t.Context(), named("c"), tuned, Need{}); got != waitsForOthers {
		t.Errorf("b has not settled, and c %q", got)
	}
	r.NoteRestart(named("b"), true)
	if got := r.TakeRestart(t.Context(), named("c"), tuned, Need{}); got != "" {
		t.Errorf("b has settled, and c %q", got)
	}
	s.clock.Step(Longest)
	r.NoteRestart(named("c"), false)
	if _, late := r.Late(named("c")); !late || r.TakeRestart(t.Context(), named("b"), tuned, Need{}) != "" {
		t.Error("restarts that hang delay the others")
	}
	off := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "off", Generation: 1,
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	k, _ := kinds.Find("Tortoise")
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(k, off) })
	p := s.world.Snapshot().Find(workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "off"})
	if got := r.askBudgets(t.Context(), named("a"), p, false, nil); got != "" {
		t.Errorf("with mode Off: %q", got)
	}
}
