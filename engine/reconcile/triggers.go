package reconcile

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
)

// triggerKinds are the rows of Trigger and ClusterTrigger. What is wrong with a trigger can depend on the kinds it lists.
func triggerKinds() []policyKind {
	never := func(client.Object) bool { return false }
	none := func(client.Object) []v1alpha1.CalendarRef { return nil }
	return []policyKind{
		{
			name:   trigger.KindName,
			object: func() client.Object { return &v1alpha1.Trigger{} },
			list:   func() client.ObjectList { return &v1alpha1.TriggerList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				p, _ := trigger.Compile(obj.(*v1alpha1.Trigger), e.triggerContext())
				return p
			},
			orphan:    never,
			calendars: none,
			kinds:     func(obj client.Object) []v1alpha1.KindRef { return obj.(*v1alpha1.Trigger).Spec.Target.Kinds },
		},
		{
			name:   trigger.ClusterKindName,
			object: func() client.Object { return &v1alpha1.ClusterTrigger{} },
			list:   func() client.ObjectList { return &v1alpha1.ClusterTriggerList{} },
			compile: func(e *Engine, obj client.Object) *policy.Policy {
				p, _ := trigger.CompileCluster(obj.(*v1alpha1.ClusterTrigger), e.triggerContext())
				return p
			},
			orphan:    never,
			calendars: none,
			kinds:     func(obj client.Object) []v1alpha1.KindRef { return obj.(*v1alpha1.ClusterTrigger).Spec.Target.Kinds },
		},
	}
}

func (e *Engine) triggerContext() trigger.Context {
	return trigger.Context{Scope: e.opts.Scope, Kinds: func(gk schema.GroupKind) (trigger.Kind, bool) {
		e.mu.RLock()
		k := e.kinds[gk]
		e.mu.RUnlock()
		if k == nil {
			return trigger.Kind{}, false
		}
		known := TriggerKind(k.adapter)
		known.Version = k.resource.Version
		return known, true
	}}
}

// TriggerKind is what a trigger has to know of a kind, by its adapter; the version is left out.
func TriggerKind(a *adapter.Adapter) trigger.Kind {
	k := trigger.Kind{Scales: a.Can(v1alpha1.CapabilityScale), Governs: a.CanGovern(), Refers: a.Refers}
	k.Min, k.Max = a.Floors()
	return k
}

// recompileFor takes over again the policies that list a kind and whose validity depends on it.
func (e *Engine) recompileFor(gk schema.GroupKind) {
	type user struct {
		id workload.Policy
		pk policyKind
	}
	var users []user
	rows := policyKinds()
	e.mu.RLock()
	for id, en := range e.index.all {
		for _, pk := range rows {
			if pk.name == id.Kind && pk.kinds != nil && slices.Contains(pk.kinds(en.object), v1alpha1.KindRef{Group: gk.Group, Kind: gk.Kind}) {
				users = append(users, user{id, pk})
			}
		}
	}
	e.mu.RUnlock()
	for _, u := range users {
		e.put(u.pk, u.id, func(known client.Object) client.Object { return known })
	}
}
