package main

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	toolscache "k8s.io/client-go/tools/cache"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
)

// heap measures the memory that a replica of the manager keeps per policy: the object in the informer's cache, and its
// compiled form in the world. The manager's informer lists the objects as JSON from a source in this process.
func (b *bench) heap(ctx context.Context) error {
	var worst float64
	for _, of := range []struct {
		kind, suffix string
		make         func(i int) policy.Object
	}{
		{"ClusterChangeFreeze", "", storedFreeze},
		{"Schedule", "_schedules", storedSchedule},
	} {
		for _, n := range b.kept {
			perPolicy, err := heapOf(ctx, of.kind, n, of.make)
			if err != nil {
				return fmt.Errorf("%d of %s: %w", n, of.kind, err)
			}
			b.report.figure(fmt.Sprintf("heap_per_policy_bytes%s_%d", of.suffix, n), perPolicy, "bytes")
			worst = max(worst, perPolicy)
		}
	}
	b.report.figure("heap_per_policy_bytes", worst, "bytes")
	return nil
}

// heapOf returns the bytes of heap per policy for n policies of a kind.
func heapOf(ctx context.Context, name string, n int, object func(i int) policy.Object) (float64, error) {
	kind, ok := kinds.Find(name)
	if !ok {
		return 0, fmt.Errorf("%s is no kind of policy", name)
	}
	informers := app.NewInformers(status.NewListings())
	defer informers.Close()
	options := informers.CacheOptions()
	source := &source{kind: name, n: n, object: object, decode: serializer.NewCodecFactory(app.Scheme()).UniversalDeserializer()}
	informer := options.NewInformer(source.listerWatcher(), kind.New(), 0,
		toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	if err := informer.SetTransform(options.DefaultTransform); err != nil {
		return 0, fmt.Errorf("set up the informer: %w", err)
	}
	w := world.New(world.Scope("flyball-system", nil))
	before := alive()
	informer.RunWithContext(ctx)
	if !toolscache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		return 0, fmt.Errorf("wait for the informer: %w", context.Cause(ctx))
	}
	if err := takeOver(w, kind, informer.GetStore(), n); err != nil {
		return 0, err
	}
	after := alive()
	runtime.KeepAlive(informer)
	runtime.KeepAlive(w)
	return float64(after-before) / float64(n), nil
}

// takeOver adds all policies of a store to the world and checks that each compiled.
func takeOver(w *world.World, kind policy.Row, store toolscache.Store, n int) error {
	change := w.Update(func(tx *world.Tx) {
		for _, obj := range store.List() {
			tx.SetPolicy(kind, obj.(policy.Object))
		}
	})
	if len(change.Policies) != n {
		return fmt.Errorf("the world has taken over %d policies, want %d", len(change.Policies), n)
	}
	for _, c := range change.Policies {
		if c.New.IsBroken() {
			return fmt.Errorf("%s cannot be read: %w", c.ID, c.New.Invalid.ToAggregate())
		}
	}
	return nil
}

// alive returns the heap in use after garbage collection.
func alive() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// source serves n policies as an API server does: a list in JSON, with managed fields, and a watch without events.
type source struct {
	kind   string
	n      int
	object func(i int) policy.Object
	decode k8sruntime.Decoder
}

func (s *source) listerWatcher() toolscache.ListerWatcher {
	return &toolscache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (k8sruntime.Object, error) { return s.list() },
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), nil
		},
	}
}

// list decodes the list from JSON, as a client does.
func (s *source) list() (k8sruntime.Object, error) {
	items := make([]policy.Object, s.n)
	for i := range items {
		items[i] = s.object(i)
	}
	raw, err := json.Marshal(map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": s.kind + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": items,
	})
	if err != nil {
		return nil, fmt.Errorf("encode %d of %s: %w", s.n, s.kind, err)
	}
	list, _, err := s.decode.Decode(raw, nil, nil)
	if err != nil {
		return nil, fmt.Errorf("decode %d of %s: %w", s.n, s.kind, err)
	}
	return list, nil
}

// stored returns the metadata of an object as written by kubectl apply and the manager.
func stored(i int, kind string, finalizers ...string) (metav1.TypeMeta, metav1.ObjectMeta) {
	at := metav1.NewTime(admitNow.Add(time.Duration(i) * time.Second))
	fields := func(manager, subresource, body string) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
			APIVersion: v1alpha1.GroupVersion.String(),
			Time:       &at, FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(body), Subresource: subresource}
	}
	spec := `{"f:metadata":{"f:annotations":{".":{},"f:kubectl.kubernetes.io/last-applied-configuration":{}},` +
		`"f:labels":{".":{},"f:app.kubernetes.io/managed-by":{},"f:team":{}}},` +
		`"f:spec":{".":{},"f:deny":{},"f:enforcement":{},"f:message":{".":{},"f:contact":{},"f:docsURL":{},"f:reason":{}},` +
		`"f:target":{".":{},"f:kinds":{},"f:namespaceSelector":{}},"f:timeZone":{}}}`
	status := `{"f:status":{".":{},"f:active":{},"f:conditions":{".":{},` +
		`"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:observedGeneration":{},` +
		`"f:reason":{},"f:status":{},"f:type":{}}},"f:nextTransitionTime":{},"f:observedGeneration":{},"f:state":{}}}`
	return metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}, metav1.ObjectMeta{
		Name: fmt.Sprintf("policy-%d", i), UID: types.UID(fmt.Sprintf("8a9b2c1e-0000-4000-8000-%012d", i)), ResourceVersion: fmt.Sprint(4711 + i),
		Generation: 1, CreationTimestamp: at, Finalizers: finalizers,
		Labels: map[string]string{"app.kubernetes.io/managed-by": "Helm", "team": fmt.Sprintf("team-%d", i%100)},
		Annotations: map[string]string{"meta.helm.sh/release-name": fmt.Sprintf("team-%d", i%100),
			"meta.helm.sh/release-namespace": "platform"},
		ManagedFields: []metav1.ManagedFieldsEntry{fields("helm", "", spec), fields("flyball-manager", "status", status)},
	}
}

// storedStatus returns the status of a healthy policy.
func storedStatus(i int, state string) v1alpha1.PolicyStatus {
	at := metav1.NewTime(admitNow)
	next := metav1.NewTime(admitNow.Add(time.Duration(i%1000) * time.Minute))
	s := v1alpha1.PolicyStatus{ObservedGeneration: 1, State: state, PreviousTransitionTime: &at, NextTransitionTime: &next,
		Targets: &v1alpha1.TargetCounts{Total: 12, Asleep: 10, Awake: 2}}
	for _, condition := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionActive} {
		s.Conditions = append(s.Conditions, metav1.Condition{Type: condition, Status: metav1.ConditionTrue, ObservedGeneration: 1,
			LastTransitionTime: at,
			Reason:             state, Message: strings.ToLower(state) + " until " + next.Format(time.RFC3339) + " UTC"})
	}
	return s
}

// storedFreeze returns a freeze of one team, with the usual fields of an organisation's freezes.
func storedFreeze(i int) policy.Object {
	f := &v1alpha1.ClusterChangeFreeze{}
	f.TypeMeta, f.ObjectMeta = stored(i, "ClusterChangeFreeze")
	f.Spec.StartTime, f.Spec.EndTime = metav1.NewTime(admitNow.AddDate(0, 0, -4)), metav1.NewTime(admitNow.AddDate(0, 0, 10))
	f.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"},
		{Group: "batch", Kind: "CronJob"}}
	f.Spec.Target.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": f.Name},
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "env", Operator: metav1.LabelSelectorOpIn,
			Values: []string{"prod", "staging"}}}}
	f.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	f.Spec.TimeZone = zone
	f.Spec.Deny = []v1alpha1.Action{v1alpha1.ActionCreate, v1alpha1.ActionDelete, v1alpha1.ActionRollOut, v1alpha1.ActionScale}
	f.Spec.Enforcement = v1alpha1.EnforcementDeny
	f.Spec.Message = &v1alpha1.FreezeMessage{Reason: "Year-end freeze: only emergency changes", Contact: "#release-management",
		DocsURL: "https://wiki.example.com/year-end-freeze"}
	f.Status.PolicyStatus, f.Status.Active = storedStatus(i, "Frozen"), true
	return f
}

// storedSchedule returns a schedule of one namespace: nights, weekends and a patching window.
func storedSchedule(i int) policy.Object {
	s := &v1alpha1.Schedule{}
	s.TypeMeta, s.ObjectMeta = stored(i, "Schedule", v1alpha1.FinalizerRestore)
	s.Namespace = fmt.Sprintf("team-%d", i%1000)
	s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}, {Group: "apps", Kind: "StatefulSet"}}
	s.Spec.Target.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "front"}}
	s.Spec.Target.Exclude = &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelExclude: "true"}}
	s.Spec.TimeZone = zone
	s.Spec.Asleep = []v1alpha1.Window{
		{Name: "nights", Days: []v1alpha1.Day{"Mon", "Tue", "Wed", "Thu", "Fri"}, From: "20:00", To: "08:00"},
		{Name: "weekends", Days: []v1alpha1.Day{"Sat", "Sun"}, From: "00:00", To: "24:00"},
	}
	s.Status.PolicyStatus = storedStatus(i, "Asleep")
	return s
}
