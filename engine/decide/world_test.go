package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

var (
	noon      = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	evening   = noon.Add(8 * time.Hour)
	nights    = workload.Policy{Kind: schedule.Kind, Namespace: "shop", Name: "nights"}
	owners    = schema.GroupKind{Group: "example.com", Kind: "Shop"}
	webLedger = `,"annotations":{"flyball.dev/ledger":"{\"/spec/replicas\":{\"was\":3,\"set\":0,` +
		`\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-01T20:00:00Z\"},` +
		`\"of\":\"Deployment/web\",\"namespace\":\"shop\",\"uid\":\"uid-web\"}"}`
)

// small is a World in memory.
type small struct {
	kinds      map[schema.GroupKind]*decide.Kind
	adapts     map[schema.GroupKind]decide.Adapts
	objects    map[workload.Ref]*workload.Object
	policies   []*decide.Policy
	namespaces map[string]decide.Namespace
	freezes    *freeze.Set
}

func (w *small) Kind(gk schema.GroupKind) *decide.Kind    { return w.kinds[gk] }
func (w *small) Adapts(gk schema.GroupKind) decide.Adapts { return w.adapts[gk] }
func (w *small) Object(ref workload.Ref) *workload.Object { return w.objects[ref] }
func (w *small) Namespace(name string) decide.Namespace   { return w.namespaces[name] }
func (w *small) Freezes() *freeze.Set                     { return w.freezes }
func (w *small) EachPolicyFor(_ schema.GroupKind, _ *workload.Object, _ workload.Pairs, _ time.Time, yield func(*decide.Policy)) {
	for _, p := range w.policies {
		yield(p)
	}
}

func (w *small) EachOf(p *decide.Policy, _ string, yield func(*decide.Kind, *workload.Object)) {
	for ref, obj := range w.objects {
		if k := w.kinds[ref.GroupKind]; k != nil && p.Selects(k, obj, w.namespaces[ref.Namespace].Labels) {
			yield(k, obj)
		}
	}
}

func (w *small) Policy(id workload.Policy) *decide.Policy {
	for _, p := range w.policies {
		if p.ID == id {
			return p
		}
	}
	return nil
}

func (w *small) Referent(ref workload.Ref) workload.Ref {
	for gk := range w.kinds {
		if workload.Names(ref.GroupKind, gk) {
			ref.GroupKind = gk
		}
	}
	return ref
}

func (w *small) Autoscalers(ref workload.Ref) []workload.Ref {
	var all []workload.Ref
	for g, obj := range w.objects {
		if to, ok := w.kinds[g.GroupKind].Adapter.Governs(obj); ok && w.Referent(to) == ref {
			all = append(all, g)
		}
	}
	slices.SortFunc(all, workload.Ref.Compare)
	return all
}

func (w *small) Generated(workload.Ref, workload.Ref) []workload.Ref { return nil }

func (w *small) Owners(workload.Ref) ([]workload.Ref, bool) { return nil, true }

func (w *small) put(k *decide.Kind, obj *workload.Object) workload.Ref {
	w.objects[k.Ref(obj)] = obj
	return k.Ref(obj)
}

// policyOf compiles a Schedule that sleeps from eight in the evening to eight in the morning.
func policyOf(t *testing.T, change func(*v1alpha1.Schedule)) *decide.Policy {
	t.Helper()
	obj := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
	obj.Spec.Downscale, obj.Spec.Upscale = "0 20 * * *", "0 8 * * *"
	if change != nil {
		change(obj)
	}
	p, errs := schedule.Compile(obj, schedule.Context{})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return &decide.Policy{Policy: p}
}

// shop is a World with a Deployment named web, of three replicas unless it sleeps, under the policy nights.
func shop(t *testing.T, asleep bool) (*small, *decide.Kind, workload.Ref) {
	t.Helper()
	k := worldtest.Kind(t, worldtest.Deployments)
	w := &small{
		kinds: map[schema.GroupKind]*decide.Kind{k.GroupKind: k}, adapts: map[schema.GroupKind]decide.Adapts{k.GroupKind: decide.CanSleep},
		objects: map[workload.Ref]*workload.Object{}, policies: []*decide.Policy{policyOf(t, nil)},
		namespaces: map[string]decide.Namespace{"shop": {}}, freezes: &freeze.Set{},
	}
	manifest := worldtest.Deployment("web", 3, "")
	if asleep {
		manifest = worldtest.Deployment("web", 0, webLedger)
	}
	return w, k, w.put(k, worldtest.Project(t, k, manifest))
}

// body returns the patch of a verdict, or "" without a patch.
func body(v decide.Verdict) string {
	if v.Result.Patch == nil {
		return ""
	}
	return string(v.Result.Patch.Body)
}

func check(t *testing.T, v decide.Verdict, direction workload.Direction, writes ...string) {
	t.Helper()
	if v.Err != nil {
		t.Fatal(v.Err)
	}
	got := body(v)
	if len(writes) == 0 && got != "" {
		t.Errorf("writes %s, want nothing", got)
	}
	if v.Result.Direction != direction {
		t.Errorf("the direction is %s, want %s", v.Result.Direction, direction)
	}
	for _, part := range writes {
		if !strings.Contains(got, part) {
			t.Errorf("writes %s, want %s in it", got, part)
		}
	}
}
