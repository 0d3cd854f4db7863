// Package newpods knows what pods get as they are created, on every replica and from memory: the Recommendations, which the leader writes, and
// what owns the objects that own pods. It keeps the webhook configuration that has such pods sent.
package newpods

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/newpods"
	"flyball.dev/flyball/engine/fleet/newpod"
	"flyball.dev/flyball/engine/tuning"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Owners knows what owns the objects that own pods.
type Owners interface {
	// OwnerOf finds the controlling owner of an object; nil: it has none. ever says that what is not known may come to be.
	OwnerOf(ctx context.Context, ref workload.Ref) (owner *workload.Owner, known, ever bool)
}

const (
	// ownersAtMost is how many owners lie above a pod at most, as far as anybody looks.
	ownersAtMost = 8
	// patience is how long a pod waits for its owner, which may have been created a moment ago; patienceStep is how often it is looked for.
	patience, patienceStep = 50 * time.Millisecond, 2 * time.Millisecond
)

// recommendations are those that are watched.
type recommendations interface {
	Get(namespace, name string) *workload.Object
	Range(func(*workload.Object) bool)
	HasSynced() bool
	Release()
}

// Options say what an Index looks at.
type Options struct {
	World   *world.World
	Watches *watch.Manager
	Owners  Owners
	// Between are kinds that own most pods and belong to what is tuned: they are watched before the first pod comes.
	Between []schema.GroupKind
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// Index implements newpods.Wants.
type Index struct {
	opts Options
	news chan struct{}

	mu        sync.Mutex
	told      recommendations // nil while there are none
	running   context.Context // nil until it runs
	listeners []chan struct{}
}

var _ newpods.Wants = (*Index)(nil)

// New makes an Index that knows nothing until it runs.
func New(opts Options) *Index {
	x := &Index{opts: opts, news: make(chan struct{}, 1)}
	opts.World.Observe(x)
	return x
}

// NeedLeaderElection says that every replica answers.
func (x *Index) NeedLeaderElection() bool { return false }

// Changing implements world.Observer.
func (x *Index) Changing(_, _ *world.Snapshot, _ *world.Change) {}

// Changed implements world.Observer: a policy that has come, changed or gone may need what is watched, or not any more.
func (x *Index) Changed(_ *world.Snapshot, c *world.Change) {
	if len(c.Policies) > 0 {
		poke(x.news)
	}
}

func poke(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Start watches while some policy tunes, until the context ends.
func (x *Index) Start(ctx context.Context) error {
	x.mu.Lock()
	x.running = ctx
	x.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil
	case <-x.opts.World.Loaded():
	}
	for {
		x.follow(ctx)
		x.tell()
		select {
		case <-ctx.Done():
			return nil
		case <-x.news:
		}
	}
}

// isNeeded says whether some policy tunes.
func (x *Index) isNeeded() bool {
	for p := range x.opts.World.Snapshot().Policies {
		if p.Tuner() != nil {
			return true
		}
	}
	return false
}

// follow has Recommendations watched, or not any more.
func (x *Index) follow(ctx context.Context) {
	needed := x.isNeeded()
	x.mu.Lock()
	told := x.told
	x.mu.Unlock()
	switch {
	case needed && told == nil:
		w, err := x.opts.Watches.Ensure(ctx, watch.Source{
			GVR: v1alpha1.GroupVersion.WithResource("recommendations"), ID: "new pods", Projector: projector{},
			Handler: watch.HandlerFunc(func(_, _ *workload.Object) { x.tell() }), OnState: x.tell,
		})
		if err != nil {
			x.opts.Log.Error(err, "pods are created as they are: recommendations are not watched")
			return
		}
		x.set(w)
		for _, gk := range x.opts.Between {
			_, _, _ = x.opts.Owners.OwnerOf(ctx, workload.Ref{GroupKind: gk}) // so that the kind is watched
		}
	case !needed && told != nil:
		x.set(nil)
		told.Release()
	}
}

func (x *Index) set(w recommendations) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.told = w
}

// Listen gives a channel that is poked after what pods get may have changed.
func (x *Index) Listen() <-chan struct{} {
	c := make(chan struct{}, 1)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.listeners = append(x.listeners, c)
	return c
}

func (x *Index) tell() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, c := range x.listeners {
		poke(c)
	}
}

// Namespaces lists those in which some pods get something; false: not everything is known yet.
func (x *Index) Namespaces() (names []string, known bool) {
	x.mu.Lock()
	told := x.told
	x.mu.Unlock()
	if told == nil {
		return nil, x.opts.World.Ready(nil) == nil && !x.isNeeded()
	}
	if !told.HasSynced() {
		return nil, false
	}
	seen := map[string]bool{}
	told.Range(func(obj *workload.Object) bool {
		if !seen[obj.Namespace] && len(obj.Fields) > 0 && x.inForce(obj) {
			seen[obj.Namespace] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(seen)), true
}

// Want implements newpods.Wants.
func (x *Index) Want(ctx context.Context, owner workload.Ref) (newpod.Want, newpods.Result) {
	x.mu.Lock()
	told, running := x.told, x.running
	x.mu.Unlock()
	switch {
	case told == nil:
		return newpod.Want{}, newpods.Untuned
	case !told.HasSynced():
		return newpod.Want{}, newpods.Unknown
	}
	for range ownersAtMost {
		if obj := told.Get(owner.Namespace, tuning.NameOf(owner)); obj != nil {
			return x.wantOf(obj, owner)
		}
		above, known := x.ownerOf(ctx, running, owner)
		if !known {
			return newpod.Want{}, newpods.Unknown
		}
		if above == nil {
			break
		}
		owner = workload.Ref{GroupKind: above.GroupKind, Namespace: owner.Namespace, Name: above.Name}
	}
	return newpod.Want{}, newpods.Untuned
}

// ownerOf finds the owner of an object. One that was created a moment ago is waited for a little: its pods come as soon as its controller sees it.
func (x *Index) ownerOf(ctx, running context.Context, ref workload.Ref) (owner *workload.Owner, known bool) {
	for end := time.Now().Add(patience); ; {
		owner, known, ever := x.opts.Owners.OwnerOf(running, ref)
		if known || !ever || time.Now().After(end) {
			return owner, known
		}
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(patienceStep):
		}
	}
}

// The fields of a projected Recommendation with something for pods.
const (
	fieldTarget = iota
	fieldPolicy
	fieldNewPods
)

// inForce says whether the policy by which pods get something carries out what it recommends. One that cannot be read any more does: what was set
// stays.
func (x *Index) inForce(obj *workload.Object) bool {
	id := workload.ParsePolicy(obj.Fields[fieldPolicy].Raw)
	p := x.opts.World.Snapshot().Find(id)
	switch {
	case p == nil || p.Deleting || p.Tuner() == nil || id.Namespace != "" && id.Namespace != obj.Namespace:
		return false
	case p.IsBroken():
		return true
	}
	return p.State(x.opts.Clock.Now()).Active != ""
}

func (x *Index) wantOf(obj *workload.Object, owner workload.Ref) (w newpod.Want, result newpods.Result) {
	if len(obj.Fields) == 0 || obj.Fields[fieldTarget].Raw != targetText(owner.Group, owner.Kind, owner.Name) || !x.inForce(obj) {
		return w, newpods.Untuned
	}
	var told v1alpha1.NewPods
	if err := json.Unmarshal([]byte(obj.Fields[fieldNewPods].Raw), &told); err != nil {
		return w, newpods.Unreadable
	}
	w = newpod.Want{Policy: obj.Fields[fieldPolicy].Raw, GoMaxProcs: told.GoMaxProcs, GoMemLimit: told.GoMemLimit}
	for _, c := range told.Containers {
		to := newpod.Container{Name: c.Name}
		if c.CPU != nil {
			to.CPU = c.CPU.MilliValue()
		}
		if c.Memory != nil {
			to.Memory = c.Memory.Value()
		}
		w.Containers = append(w.Containers, to)
	}
	return w, newpods.Tuned
}

func targetText(group, kind, name string) string { return group + "/" + kind + "/" + name }

// projector keeps of a Recommendation what pods get.
type projector struct{}

var errNoName = errors.New("project a recommendation: it has no name")

// Project implements watch.Projector.
func (projector) Project(raw []byte) (*workload.Object, error) {
	// Each value is a copy, so that the document is not kept.
	text := func(path string) string { return gjson.GetBytes(raw, path).String() }
	obj := &workload.Object{Namespace: text("metadata.namespace"), Name: text("metadata.name"), UID: text("metadata.uid"), ResourceVersion: text("metadata.resourceVersion")}
	if obj.Name == "" {
		return nil, errNoName
	}
	if told := gjson.GetBytes(raw, "status.newPods"); told.IsObject() {
		obj.Fields = []workload.Field{
			{Raw: targetText(text("spec.target.group"), text("spec.target.kind"), text("spec.target.name"))}, {Raw: text("spec.policy")}, {Raw: told.Raw},
		}
	}
	return obj, nil
}
