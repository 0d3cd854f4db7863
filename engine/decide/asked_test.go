package decide_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/worldtest"
)

// A policy that selects an object is asked about it, unless the object or its namespace is being deleted or its owner
// is asked instead.
func TestEachAskedSkipsDeletedAndOwnedObjects(t *testing.T) {
	for _, tc := range []struct {
		reason string
		edit   func(*small, *decide.Kind, *workload.Object)
		asked  int
		alone  bool
	}{
		{"an object that is selected", func(*small, *decide.Kind, *workload.Object) {}, 1, false},
		{"an object of another name than is selected", func(w *small, _ *decide.Kind, _ *workload.Object) {
			w.policies = []*decide.Policy{policyOf(t, func(s *v1alpha1.Schedule) { s.Spec.Target.Names = []string{"db"} })}
		}, 0, false},
		{"a policy that is being deleted", func(w *small, _ *decide.Kind, _ *workload.Object) { w.policies[0].Deleting = true }, 0, false},
		{"an object that is being deleted", func(_ *small, _ *decide.Kind, o *workload.Object) { o.Deleting = true }, 0, true},
		{"a kind whose adapter is being deleted", func(_ *small, k *decide.Kind, _ *workload.Object) { k.Releasing = true }, 0, true},
		{"an object of an owner whose kind has an adapter", func(w *small, _ *decide.Kind, o *workload.Object) {
			o.OwnerReference = &workload.OwnerReference{GroupKind: owners, Name: "front"}
			w.adapts[owners] = decide.CanSleep
		}, 0, true},
		{"a namespace that is being deleted", func(w *small, _ *decide.Kind, _ *workload.Object) {
			w.namespaces["shop"] = decide.Namespace{Terminating: true}
		}, 0, true},
		{"a namespace that is not known", func(w *small, _ *decide.Kind, _ *workload.Object) {
			w.namespaces["shop"] = decide.Namespace{Unknown: true}
		}, 0, false},
	} {
		w, k, ref := shop(t, false)
		obj := *w.objects[ref]
		w.objects[ref] = &obj
		tc.edit(w, k, &obj)
		asked := 0
		decide.EachAsked(w, k, &obj, func(*decide.Policy) { asked++ })
		if alone := decide.AsksNone(w, k, &obj); asked != tc.asked || alone != tc.alone {
			t.Errorf("%s: %d are asked and it is left alone: %t; want %d and %t", tc.reason, asked, alone, tc.asked, tc.alone)
		}
		if v := decide.Target(w, ref, evening, nil); (body(v) != "") != (tc.asked > 0) {
			t.Errorf("%s: writes %q", tc.reason, body(v))
		}
	}
}

// A cluster-scoped object is asked about with no namespace labels, even if the world knows a namespace with an
// empty name.
func TestClusterScopedObjectsHaveNoNamespaceLabels(t *testing.T) {
	w, k, ref := shop(t, false)
	obj := *w.objects[ref]
	obj.Namespace = ""
	w.namespaces[""] = decide.Namespace{Terminating: true}
	if decide.AsksNone(w, k, &obj) {
		t.Error("an object outside namespaces is left alone, as if it were in one")
	}
}

// The opinion of a policy whose pipeline fails has the error, and the values set by the policy stay.
func TestAFailedPipelineKeepsValuesAndReportsError(t *testing.T) {
	w, _, ref := shop(t, true)
	broken := *w.policies[0]
	broken.Pipeline = pipeline.Pipeline{{Name: "broken", Run: func(*pipeline.Frame) error { return errors.New("the sun did not rise") }}}
	w.policies = []*decide.Policy{&broken}
	v := decide.Target(w, ref, noon, nil)
	if body(v) != "" || len(v.Opinions) != 1 {
		t.Fatalf("writes %q, with opinions %v", body(v), v.Opinions)
	}
	if o := v.Opinions[0]; o.Err == nil || o.Silent || o.Class != workload.ClassKeep {
		t.Errorf("the opinion is %+v", o)
	}
}

// The reason of a freeze gate names deletions and creations as such.
func TestFreezeGateNamesTheAction(t *testing.T) {
	for key, want := range map[string]string{"example.com/purge": "creates or deletes objects, which waits for ChangeFreeze/shop/sale",
		"example.com/restart": "restarts pods, which waits for ChangeFreeze/shop/sale"} {
		k := kindOf(t, "machines.example.com", []byte(`
target: {group: example.com, versions: [v1], kind: Machine}
suspend: [{set: [{path: .spec.stopped, value: true}]}]
changes: {delete: ['.metadata.annotations["example.com/purge"]'], rollout: ['.metadata.annotations["example.com/restart"]']}
`), adapter.Keys{Set: []string{key}})
		w, _, _ := shop(t, false)
		w.kinds[k.GroupKind], w.adapts[k.GroupKind] = k, decide.CanSleep
		ref := w.put(k, worldtest.Project(t, k,
			`{"apiVersion":"example.com/v1","kind":"Machine","metadata":{"name":"vm","namespace":"shop","uid":"u","resourceVersion":"7"},`+
				`"spec":{"stopped":false}}`))
		w.policies = []*decide.Policy{annotating(t, key, "now")}
		w.freezes = w.freezes.With(sale(t, nil, everyAction...))
		if v := decide.Target(w, ref, evening, nil); v.Gate.Reason != want {
			t.Errorf("%s: waits for %q, want %q", key, v.Gate.Reason, want)
		}
	}
}

// Waking a target removes the annotations of its policy; the removal must not take the target out of a freeze either.
func TestWakingDoesNotTakeTargetsOutOfAFreeze(t *testing.T) {
	const key = "example.com/frozen"
	k := deploymentsWith(t, adapter.Keys{Match: []string{key}, Set: []string{key}})
	for _, value := range []string{"yes", ""} {
		for changes, waits := range map[v1alpha1.LabelChanges]bool{v1alpha1.LabelChangesDeny: true, v1alpha1.LabelChangesWarn: false} {
			w, _, _ := shop(t, false)
			w.kinds[k.GroupKind] = k
			ledger := `{\"/metadata/annotations/example.com~1frozen\":{\"set\":\"` + value +
				`\",\"by\":\"Schedule/shop/nights\",\"since\":\"2026-03-01T20:00:00Z\"},\"of\":\"Deployment/web\"}`
			ref := w.put(k, worldtest.Project(t, k, worldtest.Deployment("web", 3, `,"annotations":{"example.com/frozen":"`+value+
				`","flyball.dev/ledger":"`+ledger+`"}`)))
			w.policies = []*decide.Policy{annotating(t, key, value)}
			w.freezes = w.freezes.With(sale(t, func(f *v1alpha1.ChangeFreeze) {
				f.Spec.Target.Annotations, f.Spec.LabelChanges = map[string]string{key: value}, changes
			}, v1alpha1.ActionDelete))
			v := decide.Target(w, ref, noon, nil)
			if v.Result.Patch == nil || !slices.Contains(v.Result.Changed, "/metadata/annotations/example.com~1frozen") {
				t.Fatalf("the annotation %q is not taken away: %q", value, body(v))
			}
			if got := v.Gate.Kind == decide.GateFreeze; got != waits {
				t.Errorf("annotation %q, labelChanges %s: waits %t, for %q", value, changes, got, v.Gate.Reason)
			}
		}
	}
}

// opened is a world in which a policy's batch was opened at a given instant.
type opened struct {
	decide.Sandbox
	at time.Time
}

func (o opened) BatchOpened(workload.Policy, workload.Direction) time.Time { return o.at }

// A batch already open at the start of a simulation counts as used up; a batch opened later does not count.
func TestSimulationCountsAnOpenBatchAsUsedUp(t *testing.T) {
	for at, want := range map[time.Time]string{
		evening.Add(-4 * time.Minute): "2 20:06 down a", evening: "2 20:10 down a", evening.Add(time.Minute): "2 20:00 down a",
		{}: "2 20:00 down a",
	} {
		w := opened{memory(t, []policy.Object{nightly(1)}, worldtest.Deployment("a", 3, "")), at}
		if got := simulated(t, w, noon, evening.Add(time.Hour)); strings.Join(got, ", ") != want {
			t.Errorf("open since %v: %v, want %s", at, got, want)
		}
	}
}

// The consumer of Writes can stop at once; no further write is made.
func TestWritesStopWithTheConsumer(t *testing.T) {
	n := 0
	for _, err := range decide.Writes(memory(t, []policy.Object{nightly(0)}, worldtest.Deployment("a", 3, ""),
		worldtest.Deployment("b", 3, "")), noon, noon.Add(48*time.Hour)) {
		if n++; err != nil {
			t.Error(err)
		}
		break
	}
	if n != 1 {
		t.Errorf("%d writes after the first was enough", n)
	}
}

// host is a World that knows the objects in which Flyball itself runs.
type host struct {
	*small
	own workload.Ref
}

func (h host) RunsFlyball(ref workload.Ref) bool { return ref == h.own }

// No policy acts on Flyball's own objects nor on their autoscalers. Each policy that selects them gets the reason, and
// earlier changes are restored.
func TestPoliciesDoNotActOnFlyballItself(t *testing.T) {
	for _, tc := range []struct {
		reason       string
		manifest     string
		now          time.Time
		ref          workload.Ref
		alone, write string
	}{
		{"the Deployment at night", webAt(3), evening, web,
			"Flyball itself runs in it, which no policy acts on, because nothing would wake it again", ""},
		{"the autoscaler of the Deployment at night", webAt(3), evening, hpa,
			"it governs Deployment.apps/shop/web, in which Flyball itself runs and which no policy acts on, because nothing would wake it again",
			""},
		{"the Deployment that was put to sleep before", worldtest.Deployment("web", 0, webLedger), evening, web,
			"Flyball itself runs in it, which no policy acts on, because nothing would wake it again", `"replicas":3`},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			w, k, _ := shop(t, false)
			w.put(k, worldtest.Project(t, k, tc.manifest))
			scaler := worldtest.Kind(t, worldtest.Autoscalers)
			w.kinds[scaler.GroupKind] = scaler
			w.put(scaler, worldtest.Project(t, scaler, hpaOf(1, 5)))
			w.policies = append(w.policies, policyOf(t, func(s *v1alpha1.Schedule) {
				s.Name, s.Spec.Target.Kinds, s.Spec.AsleepAs = "bounds", []v1alpha1.KindRef{{Group: hpa.Group, Kind: hpa.Kind}},
					&v1alpha1.AsleepAs{Bounds: &v1alpha1.BoundsValue{Max: new(int64(1))}}
			}))
			if v := decide.Target(w, tc.ref, tc.now, nil); body(v) == "" && tc.write == "" {
				t.Fatal("nothing would be written of an object that Flyball does not run in: the case shows nothing")
			}
			var story decide.Story
			v := decide.Target(host{w, web}, tc.ref, tc.now, &story)
			if v.Err != nil || !strings.Contains(body(v), tc.write) || (body(v) == "") != (tc.write == "") {
				t.Errorf("writes %q, %v; want %q", body(v), v.Err, tc.write)
			}
			told := 0
			for _, o := range v.Opinions {
				if o.Left {
					continue
				}
				if told++; o.Alone != tc.alone {
					t.Errorf("%s is told %q, want %q", o.Policy.ID, o.Alone, tc.alone)
				}
			}
			if told != 1 || len(story.Lines) == 0 || story.Lines[0].Text != "no policy: "+tc.alone {
				t.Errorf("%d policies are told, and the story is %v", told, story.Lines)
			}
			kind := w.kinds[tc.ref.GroupKind]
			if !decide.AsksNone(host{w, web}, kind, w.objects[tc.ref]) {
				t.Error("it is not left alone")
			}
		})
	}
}
