package decide_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/test/worldtest"
)

// sale is a freeze of the namespace shop around noon and evening that denies some actions.
func sale(t *testing.T, change func(*v1alpha1.ChangeFreeze), deny ...v1alpha1.Action) *freeze.Rule {
	t.Helper()
	obj := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "sale"}}
	obj.Spec.StartTime, obj.Spec.EndTime = metav1.NewTime(noon.Add(-time.Hour)), metav1.NewTime(evening.Add(time.Hour))
	obj.Spec.Deny = deny
	if change != nil {
		change(obj)
	}
	rule, _, errs := freeze.CompileObject(obj, freeze.Context{Scope: selector.Scope{}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return rule
}

// everyAction lists all actions deniable by a freeze.
var everyAction = []v1alpha1.Action{v1alpha1.ActionCreate, v1alpha1.ActionDelete, v1alpha1.ActionRollOut, v1alpha1.ActionScale}

// annotating is a policy that annotates sleeping targets.
func annotating(t *testing.T, key, value string) *decide.Policy {
	t.Helper()
	return policyOf(t, func(s *v1alpha1.Schedule) {
		s.Spec.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{key: value}}
	})
}

// kindOf returns the kind of an adapter's spec, by the adapter's name.
func kindOf(t *testing.T, name string, text []byte, keys adapter.Keys) *decide.Kind {
	t.Helper()
	var spec v1alpha1.AdapterSpec
	if err := yaml.UnmarshalStrict(text, &spec); err != nil {
		t.Fatal(err)
	}
	a, errs := adapter.Compile(name, spec, keys)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return decide.NewKind(a, schema.ParseGroupResource(name).WithVersion(spec.Target.Versions[0]))
}

// deploymentsWith returns the library's adapter of Deployments with annotation keys that policies match or set.
func deploymentsWith(t *testing.T, keys adapter.Keys) *decide.Kind {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(a v1alpha1.Adapter) bool { return a.Name == worldtest.Deployments })
	text, err := yaml.Marshal(all[i].Spec)
	if err != nil {
		t.Fatal(err)
	}
	return kindOf(t, worldtest.Deployments, text, keys)
}

// machines is an adapter of a kind whose switch may have any effect.
const machines = `
target: {group: example.com, versions: [v1], kind: Machine}
suspend: [{set: [{path: .spec.stopped, value: true}]}]
changes: {create: [.spec.stopped], delete: [.spec.stopped], rollout: [.spec.stopped]}
`

// An annotation that a controller executes as an order waits for the end of a freeze that denies the ordered action.
// Other annotations do not wait.
func TestAFreezeDelaysAnnotationsThatControllersExecute(t *testing.T) {
	for key, waits := range map[string]bool{"deprecated.deployment.rollback.to": true, "example.com/note": false} {
		w, _, ref := shop(t, false)
		w.freezes = w.freezes.With(sale(t, nil, everyAction...))
		k := deploymentsWith(t, adapter.Keys{Set: []string{key}})
		w.kinds[k.GroupKind], w.policies = k, []*decide.Policy{annotating(t, key, "1")}
		w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 3, "")))
		v := decide.Target(w, ref, evening, nil)
		if v.Result.Patch == nil || !strings.Contains(body(v), key) {
			t.Fatalf("%s: nothing is written: %q", key, body(v))
		}
		if got := v.Gate.Kind == decide.GateFreeze; got != waits {
			t.Errorf("%s waits: %t, for %q", key, got, v.Gate.Reason)
		}
	}
}

// Schedules put targets to sleep and wake them during any freeze.
func TestAFreezeDoesNotDelayScaling(t *testing.T) {
	for asleep, now := range map[bool]time.Time{false: evening, true: noon} {
		w, _, ref := shop(t, asleep)
		w.freezes = w.freezes.With(sale(t, nil, everyAction...))
		if v := decide.Target(w, ref, now, nil); v.Result.Patch == nil || v.Gate.Kind != decide.GateOpen {
			t.Errorf("asleep %t: patch %q waits for %q", asleep, body(v), v.Gate.Reason)
		}
	}
}

// A ledger begun on another object, for example copied by a controller from a template, may not be Flyball's. Its
// restore is judged as the change of any other writer. An object with its own ledger wakes during a freeze.
func TestAFreezeJudgesALedgerCopiedFromAnotherObject(t *testing.T) {
	for uid, waits := range map[string]bool{"uid-web": false, "another": true, "": true} {
		for deny, denied := range map[v1alpha1.Action]bool{v1alpha1.ActionScale: true, v1alpha1.ActionCreate: false} {
			w, k, _ := shop(t, true)
			w.freezes = w.freezes.With(sale(t, nil, deny))
			ref := w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 0, strings.Replace(webLedger, `\"uid-web\"`, `\"`+uid+`\"`, 1))))
			v := decide.Target(w, ref, noon, nil)
			if v.Result.Patch == nil {
				t.Fatalf("begun on %q: nothing is written: %+v", uid, v)
			}
			if got := v.Gate.Kind == decide.GateFreeze; got != (waits && denied) {
				t.Errorf("begun on %q, %s is denied: waits %t, for %q", uid, deny, got, v.Gate.Reason)
			}
		}
	}
}

// A Deployment's annotations are copied to its ReplicaSets all the time, and their UIDs are public. So a ledger on an
// object that follows its owner is never trusted, even with the right UID: policies put the owner to sleep instead.
func TestAFreezeJudgesALedgerOnAnOwnedObject(t *testing.T) {
	for owner, waits := range map[string]bool{"Deployment": true, "Shop": false} {
		w, k, _ := shop(t, true)
		w.freezes = w.freezes.With(sale(t, nil, v1alpha1.ActionScale))
		ledger := webLedger + `,"ownerReferences":[{"apiVersion":"apps/v1","kind":"` + owner + `","name":"owner","uid":"9","controller":true}]`
		ref := w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 0, ledger)))
		v := decide.Target(w, ref, noon, nil)
		if v.Result.Patch == nil {
			t.Fatalf("controlled by a %s: nothing is written: %+v", owner, v)
		}
		if got := v.Gate.Kind == decide.GateFreeze; got != waits {
			t.Errorf("controlled by a %s: waits %t, for %q", owner, got, v.Gate.Reason)
		}
	}
}

// Suspending stops something and is never delayed. Resuming is judged as the roll-out or the scaling that it lets go,
// and not as a creation or a deletion.
func TestAFreezeJudgesTheEndOfASuspension(t *testing.T) {
	k := kindOf(t, "machines.example.com", []byte(machines), adapter.Keys{})
	for _, test := range []struct {
		reason string
		asleep bool
		deny   v1alpha1.Action
		waits  bool
	}{
		{"to suspend, where all it may be is denied", false, v1alpha1.ActionRollOut, false},
		{"to suspend, where creations are denied", false, v1alpha1.ActionCreate, false},
		{"to give back, where roll-outs are denied", true, v1alpha1.ActionRollOut, true},
		{"to give back, where creations are denied", true, v1alpha1.ActionCreate, false},
		{"to give back, where deletions are denied", true, v1alpha1.ActionDelete, false},
	} {
		w, _, _ := shop(t, false)
		w.kinds[k.GroupKind], w.adapts[k.GroupKind] = k, decide.CanSleep
		manifest,
			now := `{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"vm","namespace":"shop","uid":"u","resourceVersion":"7"},"spec":{"stopped":false}}`, evening
		if test.asleep {
			ledger := `{\"/spec/stopped\":{\"was\":false,\"set\":true,\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-02T20:00:00Z\"},\"of\":\"Machine/vm\"}`
			manifest, now = strings.Replace(strings.Replace(manifest, `"stopped":false`, `"stopped":true`, 1), `"uid"`,
				`"annotations":{"flyball.dev/ledger":"`+ledger+`"},"uid"`, 1), noon
		}
		ref := w.put(k, worldtest.Project(t, k, manifest))
		w.freezes = w.freezes.With(sale(t, nil, test.deny))
		v := decide.Target(w, ref, now, nil)
		if v.Result.Patch == nil {
			t.Fatalf("%s: nothing is written: %+v", test.reason, v)
		}
		if got := v.Gate.Kind == decide.GateFreeze; got != test.waits {
			t.Errorf("%s: waits %t, for %q", test.reason, got, v.Gate.Reason)
		}
	}
}

// A schedule's annotations do not take an object out of a freeze that selects by annotations and denies such changes.
func TestAnnotatingDoesNotTakeObjectsOutOfAFreeze(t *testing.T) {
	k := deploymentsWith(t, adapter.Keys{Match: []string{"example.com/frozen"}, Set: []string{"example.com/frozen"}})
	for changes, waits := range map[v1alpha1.LabelChanges]bool{v1alpha1.LabelChangesDeny: true, v1alpha1.LabelChangesWarn: false} {
		w, _, _ := shop(t, false)
		w.kinds[k.GroupKind] = k
		ref := w.put(k, worldtest.Project(t, k, strings.Replace(worldtest.Deployment("web", 3, ""), `"metadata":{`,
			`"metadata":{"annotations":{"example.com/frozen":"yes"},`, 1)))
		w.policies = []*decide.Policy{annotating(t, "example.com/frozen", "no")}
		w.freezes = w.freezes.With(sale(t, func(f *v1alpha1.ChangeFreeze) {
			f.Spec.Target.Annotations, f.Spec.LabelChanges = map[string]string{"example.com/frozen": "yes"}, changes
		}, v1alpha1.ActionDelete))
		v := decide.Target(w, ref, evening, nil)
		if v.Result.Patch == nil || !strings.Contains(body(v), `"example.com/frozen":"no"`) {
			t.Fatalf("nothing is written: %q", body(v))
		}
		if got := v.Gate.Kind == decide.GateFreeze; got != waits {
			t.Errorf("labelChanges %s: waits %t, for %q", changes, got, v.Gate.Reason)
		}
	}
}
