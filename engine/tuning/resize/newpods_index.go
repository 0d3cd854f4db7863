package resize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/tuning/rollout"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workers"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// OwnerReferences returns the controlling owner references of the objects that own pods.
type OwnerReferences interface {
	// OwnerReferenceOf returns the controlling owner reference of an object; nil: none. known reports whether the object was found with the
	// given UID; an empty UID means any. ever reports whether a later call may find the object.
	OwnerReferenceOf(ctx context.Context, ref workload.Ref, uid string) (owner *workload.OwnerReference, known, ever bool)
}

const (
	// ownersAtMost bounds the number of owners followed above a pod.
	ownersAtMost = 8
	// patience is the time that a pod waits for a recently created owner; patienceStep is the interval of lookups.
	patience, patienceStep = 50 * time.Millisecond, 2 * time.Millisecond
)

// recommendations is the watch of Recommendations.
type recommendations interface {
	HasSynced() bool
	Release()
}

// IndexOptions configure an Index.
type IndexOptions struct {
	World           *world.World
	Watches         *watch.Manager
	OwnerReferences OwnerReferences
	// Between are kinds that own most pods of tuned targets: they are watched before the first pod comes.
	Between []schema.GroupKind
	Clock   clock.PassiveClock
	Log     logr.Logger
}

// watching has the watches of an Index, which last until the context ends, and the results of the watches.
type watching struct {
	ctx  context.Context
	told recommendations
	// entries has the requests for pods, as *entry by types.NamespacedName of the Recommendation.
	entries sync.Map
	rooms   rollout.Rooms
}

// Index returns the requests for pods being created, on every replica and from memory: from the Recommendations written by the
// leader, and the owners of the pods' owners. Lookups take no lock.
type Index struct {
	opts IndexOptions
	news chan struct{}
	// changed receives a value after the requests for pods may have changed.
	changed chan struct{}
	// watching is nil while no policy tunes and nothing is watched.
	watching atomic.Pointer[watching]
}

var _ Wants = (*Index)(nil)

// NewIndex returns an Index without watches; Start fills it.
func NewIndex(opts IndexOptions) *Index {
	x := &Index{opts: opts, news: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
	opts.World.Observe(x)
	return x
}

// NeedLeaderElection returns false: every replica answers.
func (x *Index) NeedLeaderElection() bool { return false }

// AfterPublish implements world.Observer: a changed policy may start or end the need for watches.
func (x *Index) AfterPublish(_ *world.Snapshot, c *world.Change) {
	if len(c.Policies) > 0 {
		workers.Poke(x.news)
	}
}

// Start watches while some policy tunes, until the context ends. The error is always nil.
func (x *Index) Start(ctx context.Context) error {
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

// isNeeded reports whether some policy tunes.
func (x *Index) isNeeded() bool {
	for p := range x.opts.World.Snapshot().Policies {
		if p.Tuner != nil {
			return true
		}
	}
	return false
}

// follow starts or ends the watch of Recommendations as needed.
func (x *Index) follow(ctx context.Context) {
	needed, now := x.isNeeded(), x.watching.Load()
	switch {
	case needed && now == nil:
		w, err := x.begin(ctx)
		if err != nil {
			x.opts.Log.Error(err, "Failed to watch recommendations; pods are created unchanged")
			return
		}
		x.watching.Store(w)
		for _, gk := range x.opts.Between {
			_, _, _ = x.opts.OwnerReferences.OwnerReferenceOf(ctx, workload.Ref{GroupKind: gk}, "") // starts the watch of the kind
		}
	case !needed && now != nil:
		x.watching.Store(nil)
		now.told.Release()
		now.rooms.Release()
	}
}

// begin watches Recommendations and the limits of namespaces for pods.
func (x *Index) begin(ctx context.Context) (*watching, error) {
	w := &watching{ctx: ctx}
	told, err := x.opts.Watches.Ensure(ctx, watch.Source{
		GVR: v1alpha1.GroupVersion.WithResource("recommendations"), ID: "new pods", Projector: projector{}, OnState: x.tell,
		Handler: watch.HandlerFunc(func(before, after *workload.Object) {
			w.keep(before, after)
			x.tell()
		}),
	})
	if err != nil {
		return nil, fmt.Errorf("watch recommendations: %w", err)
	}
	w.told = told
	if err := w.rooms.Follow(ctx, rollout.RoomOptions{Watches: x.opts.Watches, Log: x.opts.Log}); err != nil {
		told.Release()
		w.rooms.Release()
		return nil, err
	}
	return w, nil
}

// keep applies a change of a Recommendation.
func (w *watching) keep(before, after *workload.Object) {
	switch {
	case after != nil:
		w.entries.Store(types.NamespacedName{Namespace: after.Namespace, Name: after.Name}, entryOf(after))
	case before != nil:
		w.entries.Delete(types.NamespacedName{Namespace: before.Namespace, Name: before.Name})
	}
}

func (x *Index) tell() { workers.Poke(x.changed) }

// Namespaces returns the namespaces with requests for pods; false: not everything is known yet.
func (x *Index) Namespaces() (names []string, known bool) {
	now := x.watching.Load()
	if now == nil {
		return nil, x.opts.World.Ready(nil) == nil && !x.isNeeded()
	}
	if !now.told.HasSynced() {
		return nil, false
	}
	seen := map[string]bool{}
	now.entries.Range(func(key, value any) bool {
		if ns := key.(types.NamespacedName).Namespace; !seen[ns] && x.inForce(value.(*entry), ns) {
			seen[ns] = true
		}
		return true
	})
	return slices.Sorted(maps.Keys(seen)), true
}

// Want implements Wants.
func (x *Index) Want(ctx context.Context, owner workload.Ref, uid string) (podsize.NewPod, Result) {
	now := x.watching.Load()
	switch {
	case now == nil:
		return podsize.NewPod{}, Untuned
	case !now.told.HasSynced() || !now.rooms.AreKnown():
		return podsize.NewPod{}, Unknown
	}
	for range ownersAtMost {
		if e, ok := now.entries.Load(types.NamespacedName{Namespace: owner.Namespace, Name: workload.CompanionName(owner)}); ok {
			return x.wantOf(e.(*entry), owner, uid)
		}
		above, known := x.ownerReferenceOf(ctx, now.ctx, owner, uid)
		if !known {
			return podsize.NewPod{}, Unknown
		}
		if above == nil {
			break
		}
		owner, uid = workload.Ref{GroupKind: above.GroupKind, Namespace: owner.Namespace, Name: above.Name}, above.UID
	}
	return podsize.NewPod{}, Untuned
}

// Room implements Wants.
func (x *Index) Room(namespace string) podsize.Room {
	if now := x.watching.Load(); now != nil {
		return now.rooms.Of(namespace)
	}
	return podsize.Room{}
}

// ownerReferenceOf returns the owner reference of an object. It waits a moment for a recently created object: its pods come as soon as its
// controller sees it.
func (x *Index) ownerReferenceOf(ctx, running context.Context, ref workload.Ref, uid string) (owner *workload.OwnerReference, known bool) {
	owner, known, ever := x.opts.OwnerReferences.OwnerReferenceOf(running, ref, uid)
	if known || !ever {
		return owner, known
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	step := time.NewTicker(patienceStep)
	defer step.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, false
		case <-step.C:
		}
		if owner, known, ever = x.opts.OwnerReferences.OwnerReferenceOf(running, ref, uid); known || !ever {
			return owner, known
		}
	}
}

// The fields of a projected Recommendation with requests for pods.
const (
	fieldTarget = iota
	fieldUID
	fieldPolicy
	fieldNewPods
)

// entry is the requests for a target's pods.
type entry struct {
	// target and uid identify the target of the pods.
	target, uid string
	policy      workload.Policy
	want        podsize.NewPod
	// unreadable is true if the requests are unreadable.
	unreadable bool
}

// entryOf reads a projected Recommendation. A Recommendation without requests for pods is kept too: it ends
// the search of owners.
func entryOf(obj *workload.Object) *entry {
	if len(obj.Fields) == 0 {
		return &entry{}
	}
	e := &entry{target: obj.Fields[fieldTarget].Raw, uid: obj.Fields[fieldUID].Raw, policy: workload.ParsePolicy(obj.Fields[fieldPolicy].Raw)}
	var told v1alpha1.NewPods
	if err := json.Unmarshal([]byte(obj.Fields[fieldNewPods].Raw), &told); err != nil {
		e.unreadable = true
		return e
	}
	e.want = podsize.NewPod{Policy: obj.Fields[fieldPolicy].Raw, Limits: policy.LimitRules[told.Limits], GoMaxProcs: told.GoMaxProcs,
		GoMemLimit: told.GoMemLimit}
	if b := told.Boost; b != nil {
		e.want.Boost = podsize.StartBoostOf(b.CPU, b.Until, b.Containers)
		if e.want.Boost != nil && b.Most != nil {
			e.want.Boost.Most = b.Most.MilliValue()
		}
	}
	for _, c := range told.Containers {
		to := podsize.NewContainer{Name: c.Name}
		if c.CPU != nil {
			to.CPU = c.CPU.MilliValue()
		}
		if c.Memory != nil {
			to.Memory = c.Memory.Value()
		}
		e.want.Containers = append(e.want.Containers, to)
	}
	return e
}

// inForce reports whether the policy of an entry applies its recommendation in a namespace. The recommendation of an
// unreadable policy stays in force.
func (x *Index) inForce(e *entry, namespace string) bool {
	p := x.opts.World.Snapshot().Find(e.policy)
	switch {
	case p == nil || p.Deleting || p.Tuner == nil || e.policy.Namespace != "" && e.policy.Namespace != namespace:
		return false
	case p.IsBroken():
		return true
	}
	return p.State(x.opts.Clock.Now()).Active != ""
}

// wantOf returns the requests for pods of an owner. An entry for a different object of the same name is not used.
func (x *Index) wantOf(e *entry, owner workload.Ref, uid string) (podsize.NewPod, Result) {
	switch {
	case e.target != targetText(owner.Group, owner.Kind, owner.Name) || uid != "" && uid != e.uid || !x.inForce(e, owner.Namespace):
		return podsize.NewPod{}, Untuned
	case e.unreadable:
		return podsize.NewPod{}, Unreadable
	}
	return e.want, Tuned
}

func targetText(group, kind, name string) string { return group + "/" + kind + "/" + name }

// projector keeps the requests for pods in a Recommendation.
type projector struct{}

var errNoName = errors.New("project a recommendation: it has no name")

// Project implements watch.Projector.
func (projector) Project(raw []byte) (*workload.Object, error) {
	// Each value is a copy, so the document is not kept.
	text := func(path string) string { return rawjson.GetBytes(raw, path).String() }
	obj := &workload.Object{Namespace: text("metadata.namespace"), Name: text("metadata.name"), UID: text("metadata.uid"),
		ResourceVersion: text("metadata.resourceVersion")}
	if obj.Name == "" {
		return nil, errNoName
	}
	if told := rawjson.GetBytes(raw, "status.newPods"); told.IsObject() {
		obj.Fields = []workload.Field{
			{Raw: targetText(text("spec.target.group"), text("spec.target.kind"), text("spec.target.name"))}, {Raw: targetUID(raw)},
			{Raw: text("spec.policy")}, {Raw: told.Raw},
		}
	}
	return obj, nil
}

// targetUID returns the UID of a Recommendation's target, from the owner reference; empty: unknown.
func targetUID(raw []byte) (uid string) {
	target := rawjson.GetBytes(raw, "spec.target")
	rawjson.GetBytes(raw, "metadata.ownerReferences").ForEach(func(_, r rawjson.Value) bool {
		if r.Get("kind").String() == target.Get("kind").String() && r.Get("name").String() == target.Get("name").String() {
			uid = strings.Clone(r.Get("uid").String())
		}
		return uid == ""
	})
	return uid
}
