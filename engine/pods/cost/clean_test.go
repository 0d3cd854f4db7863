package cost

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/apply"
	"flyball.dev/flyball/engine/pods"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

func ref(kind, name string) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: kind}, Namespace: "shop", Name: name}
}

var (
	web   = ref("Deployment", "web")
	first = ref("ReplicaSet", "web-1")
)

// belongings are Members: one Deployment with one ReplicaSet whose pods have costs of Flyball, until these are removed.
type belongings struct {
	PodsWithCosts
	pods   map[string]*workload.Pod
	unsure bool
}

func (b *belongings) Fleet(workload.Ref) (*workload.Fleet, bool) { return &workload.Fleet{}, true }
func (b *belongings) Observe(pods.Listener)                      {}
func (b *belongings) Costed() []workload.Ref                     { return []workload.Ref{first, web} }
func (b *belongings) Groups(workload.Ref) []workload.Ref         { return []workload.Ref{first} }

func (b *belongings) Above(r workload.Ref) ([]workload.Ref, bool) {
	if r == first {
		return []workload.Ref{web}, !b.unsure
	}
	return nil, !b.unsure
}

func (b *belongings) CostedPods(r workload.Ref) (pods []*workload.Pod) {
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		if p := b.pods[name]; p != nil && r == first {
			pods = append(pods, p)
		}
	}
	return pods
}

// Apply implements Writer. Pods named in refused keep their costs.
func (s *scene) Apply(_ context.Context, _ schema.GroupVersionResource, obj *workload.Object, _ *workload.Patch) (apply.Outcome, error) {
	s.tried = append(s.tried, obj.Name)
	if slices.Contains(s.refused, obj.Name) {
		return apply.Refused, errors.New("the pod is locked")
	}
	delete(s.pods, obj.Name)
	return apply.Applied, nil
}

// scene is an Actuator over belongings, with Deployments and ReplicaSets in use and one policy.
type scene struct {
	*Actuator
	*belongings
	objects        *worldtest.Store
	refused, tried []string
}

func newScene(t *testing.T) *scene {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	s := &scene{belongings: &belongings{pods: map[string]*workload.Pod{}}, objects: &worldtest.Store{}}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		s.pods[name] = &workload.Pod{Namespace: "shop", Name: name, UID: name, Writer: "flyball"}
	}
	w := world.New(selector.Scope{})
	s.Actuator = New(w, s.belongings, s, Callbacks{Dirty: func(workload.Policy) {}}, nil, metrics, logr.Discard())
	t.Cleanup(s.queue.ShutDown)
	namespaces := &worldtest.Store{}
	namespaces.Put(&workload.Object{Name: "shop"})
	deployments, sets := worldtest.Kind(t, worldtest.Deployments), worldtest.Kind(t, worldtest.ReplicaSets)
	s.objects.Put(worldtest.Project(t, deployments, worldtest.Deployment("web", 5, "")))
	inUse := &world.LiveKind{Kind: deployments, Live: world.NewLive(deployments.Adapter)}
	inUse.Live.Objects = s.objects
	other := &world.LiveKind{Kind: sets, Live: world.NewLive(sets.Adapter)}
	other.Live.Objects = &worldtest.Store{}
	w.Update(func(tx *world.Tx) { tx.SetNamespaces(namespaces); tx.UseKind(inUse); tx.UseKind(other) })
	return s
}

// policy adds a policy.
func (s *scene) policy(t *testing.T, edit func(*v1alpha1.DeletionCost)) *world.Policy {
	t.Helper()
	row, _ := kinds.Find("DeletionCost")
	d := &v1alpha1.DeletionCost{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "zones", Generation: 1,
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	edit(d)
	s.world.Update(func(tx *world.Tx) { tx.SetPolicy(row, d) })
	return s.world.Snapshot().Find(workload.Policy{Kind: "DeletionCost", Namespace: "shop", Name: "zones"})
}

func deleted(d *v1alpha1.DeletionCost) {
	now := metav1.Now()
	d.DeletionTimestamp = &now
}

func broken(d *v1alpha1.DeletionCost) { d.Spec.Algorithm = "Nonsense" }

// release begins to take an adapter out of use.
func release(s *scene, gk schema.GroupKind, adapter string) {
	s.world.Update(func(tx *world.Tx) { tx.ReleaseKind(gk, adapter) })
}

// Two of five pods are locked; the others lose their costs, and the error has the number of remaining costs
// and the reason.
func TestARefusalDoesNotKeepOtherCosts(t *testing.T) {
	s := newScene(t)
	s.refused = []string{"a", "c"}
	p := s.policy(t, deleted)
	if err := s.clean(t.Context(), first); err == nil || !strings.Contains(err.Error(), "the pod is locked") {
		t.Errorf("error %v", err)
	}
	if len(s.pods) != 2 || len(s.tried) != 5 {
		t.Errorf("%d pods have a cost after tries of %v", len(s.pods), s.tried)
	}
	want := "the deletion costs of 2 pods have still to be removed: the pod is locked"
	if got := s.Leftover(p); got != want {
		t.Errorf("left: %q, want %q", got, want)
	}
	s.refused = nil
	if err := s.clean(t.Context(), first); err != nil || s.Leftover(p) != "" {
		t.Errorf("later: %v, left %q", err, s.Leftover(p))
	}
}

// The next try begins with the untried pods.
func TestAFewRefusalsEndATry(t *testing.T) {
	s := newScene(t)
	s.refused = []string{"a", "b", "c"}
	if err := s.clean(t.Context(), first); err == nil || len(s.tried) != pods.FailuresAtMost {
		t.Fatalf("tried %v, error %v", s.tried, err)
	}
	s.tried = nil
	if err := s.clean(t.Context(), first); err == nil || !slices.Equal(s.tried[:2], []string{"d", "e"}) {
		t.Errorf("tried %v, error %v", s.tried, err)
	}
}

// Costs for Deployments are removed with the Deployments' adapter. Whether ReplicaSets may claim costs is known only
// after their unused Adapter object is deleted as well.
func TestCostsAreCheckedAfterAnAdapterIsDeleted(t *testing.T) {
	s := newScene(t)
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(library, func(a v1alpha1.Adapter) bool { return a.Name == worldtest.ReplicaSets })
	s.world.Update(func(tx *world.Tx) {
		tx.SetAdapter(&library[i], world.MayBeServed)
		tx.DropKind(worldtest.ReplicaSets)
		tx.ReleaseKind(web.GroupKind, worldtest.Deployments)
	})
	if err := s.process(t.Context(), first); err != nil || len(s.tried) > 0 {
		t.Fatalf("%v, %v", s.tried, err)
	}
	<-s.needs
	s.world.Update(func(tx *world.Tx) { tx.RemoveAdapter(worldtest.ReplicaSets) })
	select {
	case <-s.needs:
	default:
		t.Fatal("the costs were not queued again")
	}
	s.MembersSettled()
	if err := s.process(t.Context(), first); err != nil || len(s.pods) > 0 {
		t.Errorf("%v, %v", s.pods, err)
	}
}

// left is the reason for which a policy's deletion waits. deployment and set are the numbers of objects for which the
// adapter of the kind must stay.
func TestCostsStayWhileAClaimMayExist(t *testing.T) {
	for name, tc := range map[string]struct {
		policy          func(*v1alpha1.DeletionCost)
		change          func(*scene)
		left            string
		deployment, set int
	}{
		"a policy asks for them":           {policy: func(*v1alpha1.DeletionCost) {}, deployment: 1},
		"nobody does":                      {policy: deleted, left: "the deletion costs of 5 pods", deployment: 1, set: 1},
		"a policy that cannot be read may": {policy: broken, deployment: 0},
		"its adapters are both about to go": {policy: broken, left: "the deletion costs of 5 pods", deployment: 1, set: 1,
			change: func(s *scene) {
				release(s, web.GroupKind, worldtest.Deployments)
				release(s, first.GroupKind, worldtest.ReplicaSets)
			}},
		"the Deployments are not known": {policy: deleted, left: "the adapter of Deployment.apps is not ready", deployment: 1,
			change: func(s *scene) { s.objects.SetSynced(false) }},
		"it is not known what owns the ReplicaSet": {policy: deleted, left: "is not known yet", deployment: 1, set: 1,
			change: func(s *scene) { s.unsure = true }},
		"the adapter of the ReplicaSets is to go": {policy: func(*v1alpha1.DeletionCost) {}, deployment: 1,
			change: func(s *scene) { release(s, first.GroupKind, worldtest.ReplicaSets) }},
		"the adapter that they are asked by is too": {policy: func(*v1alpha1.DeletionCost) {}, left: "the deletion costs of 5 pods",
			deployment: 1, set: 1, change: func(s *scene) { release(s, web.GroupKind, worldtest.Deployments) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t)
			p := s.policy(t, tc.policy)
			if tc.change != nil {
				tc.change(s)
			}
			if got := s.Leftover(p); (got == "") != (tc.left == "") || !strings.Contains(got, tc.left) {
				t.Errorf("left: %q, want %q", got, tc.left)
			}
			d, _ := s.ChangedOn(web.GroupKind)
			if set, _ := s.ChangedOn(first.GroupKind); d != tc.deployment || set != tc.set {
				t.Errorf("for the sake of %d Deployments and %d ReplicaSets, want %d and %d", d, set, tc.deployment, tc.set)
			}
		})
	}
}

// An unreadable policy keeps costs as long as a kind that it may mean is in use.
func TestCostsAreLookedAtAgainOnceAKindIsOutOfUse(t *testing.T) {
	s := newScene(t)
	s.policy(t, broken)
	release(s, web.GroupKind, worldtest.Deployments)
	if unclaimed, _ := s.isUnclaimed(first); unclaimed {
		t.Error("no claim is left while ReplicaSets are in use")
	}
	for len(s.needs) > 0 {
		<-s.needs
	}
	s.world.Update(func(tx *world.Tx) { tx.DropKind(worldtest.ReplicaSets) })
	if unclaimed, _ := s.isUnclaimed(first); !unclaimed || len(s.needs) == 0 {
		t.Errorf("unclaimed %t, and %d looks are due", unclaimed, len(s.needs))
	}
}

// Nothing announces the end of this state, such as that of an adapter that is being deleted.
func TestCostsWithUnknownClaimsAreLookedAtAgain(t *testing.T) {
	s := newScene(t)
	s.unsure = true
	if unclaimed, wait := s.isUnclaimed(first); unclaimed || wait <= 0 {
		t.Errorf("unclaimed %t, looked at again after %s", unclaimed, wait)
	}
	s.unsure = false
	if unclaimed, wait := s.isUnclaimed(first); !unclaimed || wait != 0 {
		t.Errorf("unclaimed %t, looked at again after %s", unclaimed, wait)
	}
}
