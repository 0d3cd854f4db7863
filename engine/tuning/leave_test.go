package tuning

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/resize"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// paidUp are pods that all have been restored.
type paidUp struct{}

func (paidUp) Note(workload.Ref) resize.Note { return resize.Note{} }
func (paidUp) Owes(workload.Ref) bool        { return false }
func (paidUp) OwesAny() bool                 { return false }
func (paidUp) Unable(*workload.Fleet) string { return "" }

// scholar is a learner that has learnt something.
type scholar struct {
	policy.Learner
	knows string
}

func (s scholar) Keep() []byte { return []byte(s.knows) }

// TestCheckpointOutlivesTheAdapterAndNotThePolicy: while the policy exists and the adapter does not, the checkpoint
// is
// kept and the Recommendation is deleted. Both are deleted once the policy is deleted, or once the adapter is back and
// the target is still not tuned.
func TestCheckpointOutlivesTheAdapterAndNotThePolicy(t *testing.T) {
	const before, learnt = "before", "learnt"
	for _, tc := range []struct {
		reason       string
		adapter      string // the state of the adapter: there, going or gone
		deleting     bool   // whether the policy is being deleted
		kept         string
		keptAtTheEnd string // the kept checkpoint after the next change: a going adapter has gone, or a gone adapter has come back
	}{
		{"it is not selected any more", "there", false, "", ""},
		{"its adapter is going", "going", false, learnt, learnt},
		{"its adapter has gone at once", "gone", false, before, ""},
		{"its adapter is going, and its policy too", "going", true, "", ""},
		{"its adapter has gone, and its policy is going", "gone", true, "", ""},
	} {
		l := leaving(t, before)
		x := &subject{ref: web, uid: "w", policy: tuned, learner: scholar{knows: learnt}}
		l.subjects[web] = x
		snapshot := snapshotOf(t, tc.adapter, tc.deleting)
		l.store.Kinds = func(ref workload.Ref) *decide.Kind { return snapshot.Kind(ref.GroupKind) }
		check := func(when, kept string) {
			t.Helper()
			l.pruneTargets(t.Context(), snapshot, nil)
			if got := keptOf(t, l); got != kept {
				t.Errorf("%s, %s: %q is kept, want %q", tc.reason, when, got, kept)
			}
			if told, err := l.store.Read(t.Context(), web); told != nil || err != nil {
				t.Errorf("%s, %s: it is told of, %v", tc.reason, when, err)
			}
			if known := l.subjects[web] != nil; known != (kept != "") {
				t.Errorf("%s, %s: it is known: %t", tc.reason, when, known)
			}
		}
		check("at once", tc.kept)
		check("later", tc.kept)
		l.keepAll(t.Context())
		check("after a checkpoint was due", tc.kept)
		snapshot = snapshotOf(t, map[string]string{"there": "there", "going": "gone", "gone": "there"}[tc.adapter], tc.deleting)
		check("at the end", tc.keptAtTheEnd)
		snapshot = snapshotOf(t, "gone", true)
		check("once the policy goes", "")
	}
}

// leaving returns a loop with a Recommendation and a checkpoint of web.
func leaving(t *testing.T, kept string) *Actuator {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: web.Namespace, Name: workload.CompanionName(web)}
	store := &Store{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(&v1alpha1.Recommendation{ObjectMeta: meta},
		&v1alpha1.UsageCheckpoint{ObjectMeta: meta,
			Spec: v1alpha1.UsageCheckpointSpec{Data: base64.StdEncoding.EncodeToString([]byte(kept))}}).Build()}
	return &Actuator{
		opts: Options{Clock: clocktesting.NewFakeClock(noon), Log: logr.Discard()}, world: world.New(world.Scope("", nil)), resized: paidUp{},
		store:    store,
		audience: Callbacks{Requeue: func(...workload.Ref) {}}, subjects: map[workload.Ref]*subject{},
	}
}

func keptOf(t *testing.T, l *Actuator) string {
	t.Helper()
	c := &v1alpha1.UsageCheckpoint{}
	err := l.store.Client.Get(t.Context(), client.ObjectKey{Namespace: web.Namespace, Name: workload.CompanionName(web)}, c)
	if apierrors.IsNotFound(err) {
		return ""
	}
	data, decoded := base64.StdEncoding.DecodeString(c.Spec.Data)
	if err != nil || decoded != nil {
		t.Fatal(err, decoded)
	}
	return string(data)
}

var web = workload.Ref{GroupKind: schema.GroupKind{Group: "apps", Kind: "Deployment"}, Namespace: "shop", Name: "web"}

// snapshotOf is a world with a policy and the adapter of Deployments in some state.
func snapshotOf(t *testing.T, state string, deleting bool) *world.Snapshot {
	t.Helper()
	library, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	gone := metav1.ObjectMeta{DeletionTimestamp: &metav1.Time{Time: time.Unix(1, 0)}, Finalizers: []string{v1alpha1.FinalizerRestore}}
	p := tortoise("tuned", 0)
	if deleting {
		p.SetDeletionTimestamp(gone.DeletionTimestamp)
	}
	lists := world.Lists{Scope: world.Scope("", nil), Namespaces: []*workload.Object{{Name: "shop"}}, Policies: []policy.Object{p}}
	for i := range library {
		if a := &library[i]; a.Name == "deployments.apps" && state != "gone" {
			if state == "going" {
				a.DeletionTimestamp, a.Finalizers = gone.DeletionTimestamp, gone.Finalizers
			}
			lists.Adapters = append(lists.Adapters, a)
		}
	}
	m, err := world.NewMemory(lists)
	if err != nil {
		t.Fatal(err)
	}
	return m.Snapshot
}
