package reconcile

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/await"
	"flyball.dev/flyball/test/worldtest"
)

var nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}

func webs(i int) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: fmt.Sprint("web-", i)}
}

// scene is a Loop with its own world. The objects are in memory, and writes go to a server of the test.
type scene struct {
	*Loop
	clock    *clocktesting.FakeClock
	registry *prometheus.Registry
	client   client.Client
	objects  *worldtest.Store
	kind     *world.LiveKind
}

// noTemplates is for policies that create no objects.
type noTemplates struct{}

func (noTemplates) Keep(context.Context, workload.Ref) (changed, missing bool, err error) {
	return false, false, nil
}
func (noTemplates) Failure(workload.Ref, workload.Policy) string     { return "" }
func (noTemplates) WantedBy(workload.Ref) []*world.Policy            { return nil }
func (noTemplates) Follow(world.PolicyChange) []workload.Ref         { return nil }
func (noTemplates) OfKind(*world.LiveKind) []workload.Ref            { return nil }
func (noTemplates) PutFinalizer(context.Context, *decide.Kind) error { return nil }
func (noTemplates) Forbidden(*decide.Kind)                           {}
func (noTemplates) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.WriteHeader(http.StatusTeapot)
}

// newScene returns a Loop at noon, with the kind Deployment in use and no objects. api answers the writes.
func newScene(t *testing.T, api http.Handler) *scene {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	writer, err := apply.NewWriter(&rest.Config{Host: server.URL, QPS: -1}, nil, logr.Discard())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{clock: clocktesting.NewFakeClock(noon), registry: prometheus.NewRegistry(), objects: &worldtest.Store{}}
	statuses, err := status.NewMetrics(s.registry)
	if err != nil {
		t.Fatal(err)
	}
	m, err := NewMetrics(s.registry)
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Schedule{}, &v1alpha1.ChangeFreeze{}).Build()
	w := world.New(selector.Scope{})
	tracker := status.NewTracker(w, s.clock, statuses)
	queue := NewQueue(w, tracker, s.clock)
	t.Cleanup(queue.Stop)
	st := status.NewWriter(status.Options{World: w, Tracker: tracker, Health: status.NewAdapterHealth(), Targets: queue,
		Actuators: Actuators{},
		Client:    s.client, Metrics: statuses, Clock: s.clock})
	s.Loop = New(Options{World: w, Queue: queue, Writer: writer,
		Batches: apply.NewBatches(st.RecordBatch), Tracker: tracker, Status: st, Templates: noTemplates{}, Keeper: noTemplates{}, Metrics: m,
		Savings: status.NewSavings(s.clock, status.Rates{}, func(workload.Policy) bool { return false }), Clock: s.clock, Workers: 2})
	k := worldtest.Kind(t, worldtest.Deployments)
	live := world.NewLive(k.Adapter)
	live.Objects = s.objects
	s.kind = &world.LiveKind{Kind: k, Live: live}
	namespaces := &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	w.Update(func(tx *world.Tx) { tx.SetNamespaces(namespaces); tx.UseKind(s.kind) })
	return s
}

// kindThat returns the kind Schedule with a function that changes each compiled policy.
func kindThat(t *testing.T, compile func(p *policy.Policy)) policy.Row {
	t.Helper()
	k, ok := kinds.Find("Schedule")
	if !ok {
		t.Fatal("there is no kind Schedule")
	}
	real := k.Compile
	k.Compile = func(obj policy.Object, ctx policy.Context) (*policy.Policy, field.ErrorList) {
		p, errs := real(obj, ctx)
		compile(p)
		return p, errs
	}
	return k
}

// add adds a policy for Deployments of the given names, or for all Deployments.
func (s *scene) add(t *testing.T, k policy.Row, id workload.Policy, names ...string) {
	t.Helper()
	obj := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{
		Namespace: id.Namespace, Name: id.Name, Generation: 1, Finalizers: []string{v1alpha1.FinalizerRestore},
	}}
	obj.Spec.Target.Names = names
	obj.Spec.Downscale, obj.Spec.Upscale = "0 8 * * *", "0 20 * * *" // asleep by day
	if err := s.client.Create(t.Context(), obj); err != nil {
		t.Fatal(err)
	}
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(k, obj) })
}

// look writes the status of a policy and returns it.
func (s *scene) look(t *testing.T, id workload.Policy) v1alpha1.PolicyStatus {
	t.Helper()
	s.tracker.Dirty(id)
	over, stop := context.WithCancel(t.Context())
	stop()
	s.status.Run(over) // writes the pending statuses once
	var obj v1alpha1.Schedule
	if err := s.client.Get(t.Context(), client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, &obj); err != nil {
		t.Fatal(err)
	}
	if obj.Status.Targets == nil {
		t.Fatalf("%s has no status", id)
	}
	return obj.Status.PolicyStatus
}

// metric returns the series of a metric by their joined labels.
func (s *scene) metric(t *testing.T, name string) map[string]float64 {
	t.Helper()
	families, err := s.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]float64{}
	for _, f := range families {
		if f.GetName() != name {
			continue
		}
		for _, m := range f.GetMetric() {
			label := ""
			for _, l := range m.GetLabel() {
				label += l.GetName() + "=" + l.GetValue() + " "
			}
			all[label] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	return all
}

// eventually waits until a condition holds.
func eventually(t *testing.T, condition string, holds func() bool) {
	t.Helper()
	await.True(t, condition, holds)
}
