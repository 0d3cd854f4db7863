package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"

	"flyball.dev/flyball/engine/workload"
)

// AllGroups is passed to the callback of Groups if any group may have changed.
const AllGroups = "*"

const (
	// gather is the time for which changes of one group are collected before the callback. The installation of one
	// CustomResourceDefinition causes about six changes.
	gather = 200 * time.Millisecond
	// repeatAfter is the pause before a callback is repeated once, because the OpenAPI schema is published a while after
	// the kind is served.
	repeatAfter = 5 * time.Second
	// recheck is the interval of callbacks for all groups while a watch does not work.
	recheck = time.Minute
)

// Groups reports possible changes of the served kinds. It watches the metadata of CustomResourceDefinitions and
// APIServices. While a watch does not work, for example without the right to watch, it calls back for all groups at a
// slow pace.
type Groups struct {
	// Manager makes the watches.
	Manager *Manager
	// Changed is called with an API group (empty: the core group) after a possible change of its kinds. It is called with
	// AllGroups once both watches are in sync, and when a watch has recovered: other requests may have failed during the
	// same fault. The calls are made one at a time.
	Changed func(group string)
	// Recheck replaces recheck; 0: it does not.
	Recheck time.Duration

	calls workqueue.TypedDelayingInterface[groupCall]
}

// groupCall is a callback to be made.
type groupCall struct {
	group string
	// repeats is the instant of the repeated callback; zero: no repetition.
	repeats time.Time
}

// Start watches until the context ends. Watches that are being ended are an error.
func (g *Groups) Start(ctx context.Context) error {
	g.calls = workqueue.NewTypedDelayingQueue[groupCall]()
	var watches []*Watch
	for _, gvr := range []schema.GroupVersionResource{
		{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
		{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"},
	} {
		w, err := g.follow(ctx, gvr)
		if err != nil {
			return fmt.Errorf("watch API groups: %w", err)
		}
		watches = append(watches, w)
	}
	go wait.UntilWithContext(ctx, func(context.Context) {
		for _, w := range watches {
			if !w.works() {
				g.note(AllGroups)
			}
		}
	}, cmp.Or(g.Recheck, recheck))
	g.run(ctx)
	return nil
}

// follow watches one resource. Objects of the first list cause no callback of their own.
func (g *Groups) follow(ctx context.Context, gvr schema.GroupVersionResource) (*Watch, error) {
	var held atomic.Pointer[Watch] // nil until Ensure returns
	w, err := g.Manager.Ensure(ctx, Source{GVR: gvr, ID: "groups", Projector: MetadataProjector(), MetadataOnly: true,
		Handler: HandlerFunc(func(old, new *workload.Object) {
			if w := held.Load(); w != nil && w.HasSynced() {
				g.note(groupOf(cmp.Or(new, old).Name))
			}
		}),
		OnState: func() {
			if w := held.Load(); w == nil || w.HasSynced() && w.works() {
				g.note(AllGroups)
			}
		}})
	if err != nil {
		return nil, err
	}
	held.Store(w)
	return w, nil
}

// note schedules the callback for a group. Further events before the callback need no additional callback.
func (g *Groups) note(group string) { g.calls.AddAfter(groupCall{group: group}, gather) }

// run makes callbacks until the context ends.
func (g *Groups) run(ctx context.Context) {
	context.AfterFunc(ctx, g.calls.ShutDown)
	for {
		next, ended := g.calls.Get()
		if ended {
			return
		}
		g.Changed(next.group)
		if next.repeats.IsZero() {
			g.calls.AddAfter(groupCall{next.group, time.Now()}, repeatAfter)
		}
		g.calls.Done(next)
	}
}

// groupOf returns the API group in the name of a CustomResourceDefinition (<plural>.<group>) or an APIService
// (<version>.<group>, with an empty core group).
func groupOf(name string) string {
	_, group, _ := strings.Cut(name, ".")
	return group
}
