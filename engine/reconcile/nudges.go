package reconcile

import (
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// nudges wake the controllers of Flyball's own objects from within: a policy or adapter whose last ledger has gone, an
// adapter whose kind may have come or gone, a calendar that more or fewer policies name.
type nudges struct {
	policies  map[string]chan event.GenericEvent
	adapters  chan event.GenericEvent
	calendars chan event.GenericEvent
}

// nudgeBuffer is how many may wait for a controller that has not started yet.
const nudgeBuffer = 4096

func newNudges() nudges {
	n := nudges{
		policies:  map[string]chan event.GenericEvent{},
		adapters:  make(chan event.GenericEvent, nudgeBuffer),
		calendars: make(chan event.GenericEvent, nudgeBuffer),
	}
	for _, pk := range policyKinds() {
		n.policies[pk.name] = make(chan event.GenericEvent, nudgeBuffer)
	}
	return n
}

// policy wakes the controller of a policy that may be gone by now.
func (n nudges) policy(p workload.Policy) {
	for _, pk := range policyKinds() {
		if pk.name == p.Kind {
			send(n.policies[p.Kind], pk.object(), p.Namespace, p.Name)
		}
	}
}

// adapter wakes the controller of an adapter.
func (n nudges) adapter(name string) { send(n.adapters, &v1alpha1.Adapter{}, "", name) }

// calendar wakes the controller of a calendar that may not exist.
func (n nudges) calendar(name string) { send(n.calendars, &v1alpha1.Calendar{}, "", name) }

func send(to chan event.GenericEvent, obj client.Object, namespace, name string) {
	obj.SetNamespace(namespace)
	obj.SetName(name)
	to <- event.GenericEvent{Object: obj}
}
