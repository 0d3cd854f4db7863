package world

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// Lists is a cluster as plain lists.
type Lists struct {
	// Scope has facts about the cluster for the compilation of selections.
	Scope     selector.Scope
	Adapters  []*v1alpha1.Adapter
	Calendars []*v1alpha1.Calendar
	// Texts are the files of calendars in ConfigMaps.
	Texts map[v1alpha1.ConfigMapKey]string
	// Policies are objects of any policy kind. Their finalizers do not matter.
	Policies   []policy.Object
	Namespaces []*workload.Object
	// Recommendations hold the tuning results of targets.
	Recommendations []*v1alpha1.Recommendation
	// Objects are the targets, as JSON. Objects of kinds without an adapter are left out.
	Objects [][]byte
	// Blocked has the reason why nothing may be written for a kind, by the name of its adapter.
	Blocked map[string]string
	// Own are the objects in which Flyball itself runs.
	Own []workload.Ref
	// Settles means that every object counts as settled, as in a dry run.
	Settles bool
}

// Memory is a world in memory. It decides and simulates without an API server, and nothing else writes its objects.
type Memory struct {
	*Snapshot
	world *World
	kinds map[schema.GroupKind]*memoryKind
}

// memoryKind has the objects of one kind, projected and as JSON.
type memoryKind struct {
	Store
	adapter *adapter.Adapter
	live    *Live
	// releasing is true if the adapter is being deleted.
	releasing bool
	raw       map[workload.Ref][]byte
}

func newMemoryKind(a *adapter.Adapter, releasing bool) *memoryKind {
	k := &memoryKind{adapter: a, releasing: releasing, live: NewLive(a), raw: map[workload.Ref][]byte{}}
	k.live.Objects = k
	return k
}

var _ decide.Sandbox = (*Memory)(nil)

// NewMemory returns a world with the objects of plain lists. An error names the unreadable object.
func NewMemory(in Lists) (*Memory, error) {
	w := New(in.Scope, AuthorsAsked(true), Settles(in.Settles)) // the API server has checked the authors of these policies
	w.read.adapter = Compile
	m := &Memory{world: w, kinds: map[schema.GroupKind]*memoryKind{}}
	var failed error
	w.Update(func(tx *Tx) {
		namespaces := &Store{}
		for _, ns := range in.Namespaces {
			namespaces.Put(ns)
		}
		tx.SetNamespaces(namespaces)
		tx.SetOwn(in.Own)
		for key, text := range in.Texts {
			tx.SetText(key, text, nil)
		}
		for _, c := range in.Calendars {
			tx.SetCalendar(c)
		}
		for _, a := range in.Adapters {
			tx.SetAdapter(a, MayBeServed)
		}
		for _, obj := range in.Policies {
			if failed = m.addPolicy(tx, obj); failed != nil {
				return
			}
		}
	})
	if failed != nil {
		return nil, failed
	}
	w.MarkLoaded()
	if err := m.addKinds(w, in); err != nil {
		return nil, err
	}
	m.Snapshot = w.Snapshot()
	for _, r := range in.Recommendations {
		m.adviseBy(r)
	}
	return m, nil
}

// Advise stores the tuning advice for a target.
func (m *Memory) Advise(ref workload.Ref, a *workload.Advice) { m.world.Advise(ref, a) }

// addPolicy stores a policy and ignores whether it has the finalizer, because nothing deletes policies in memory.
func (m *Memory) addPolicy(tx *Tx, obj policy.Object) error {
	name := obj.GetObjectKind().GroupVersionKind().Kind
	kind, ok := kinds.Find(name)
	if !ok {
		return fmt.Errorf("read the policy %s/%s: %q is no kind of policy", obj.GetNamespace(), obj.GetName(), name)
	}
	obj = obj.DeepCopyObject().(policy.Object)
	obj.SetFinalizers(append(obj.GetFinalizers(), v1alpha1.FinalizerRestore))
	tx.SetPolicy(kind, obj)
	return nil
}

// addKinds adds the kind of every adapter to the kinds in use, with its objects.
func (m *Memory) addKinds(w *World, in Lists) error {
	for _, a := range in.Adapters {
		gk := a.Spec.Target.GroupKind()
		compiled, keys := w.Snapshot().adapters[schema.ParseGroupResource(a.Name)].Compiled, w.Snapshot().Keys(gk)
		if compiled == nil || !reflect.DeepEqual(keys, adapter.Keys{}) {
			var errs field.ErrorList
			if compiled, errs = Compile(a.Name, adapter.Served(a), keys); len(errs) > 0 {
				return fmt.Errorf("compile the adapter %s: %w", a.Name, errs.ToAggregate())
			}
		}
		m.kinds[gk] = newMemoryKind(compiled, !a.DeletionTimestamp.IsZero())
	}
	for i, raw := range in.Objects {
		if err := m.addObject(raw); err != nil {
			return fmt.Errorf("read object %d: %w", i, err)
		}
	}
	w.Update(func(tx *Tx) {
		for gk, k := range m.kinds {
			resource := schema.ParseGroupResource(k.adapter.Name()).WithVersion(k.adapter.Versions()[0])
			kind := decide.NewKind(k.adapter, resource)
			kind.Blocked, kind.Releasing = in.Blocked[k.adapter.Name()], k.releasing
			tx.UseKind(&LiveKind{Kind: kind, Live: m.kinds[gk].live})
		}
	})
	return nil
}

func (m *Memory) addObject(raw []byte) error {
	var is struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(raw, &is); err != nil {
		return err
	}
	gv, err := schema.ParseGroupVersion(is.APIVersion)
	if err != nil {
		return err
	}
	k := m.kinds[schema.GroupKind{Group: gv.Group, Kind: is.Kind}]
	if k == nil {
		return nil
	}
	if !rawjson.GetBytes(raw, "metadata.resourceVersion").Exists() { // patches need a resourceVersion
		if raw, err = nextVersion(raw); err != nil {
			return err
		}
	}
	return k.store(raw)
}

// store projects and stores the current form of an object.
func (k *memoryKind) store(raw []byte) error {
	obj, err := k.adapter.Project(raw)
	if err != nil {
		return err
	}
	k.put(obj, raw)
	return nil
}

func (k *memoryKind) put(obj *workload.Object, raw []byte) {
	ref := workload.Ref{GroupKind: k.adapter.GroupKind(), Namespace: obj.Namespace, Name: obj.Name}
	k.raw[ref] = raw
	k.live.change(ref, k.Put(obj), obj)
}

// Sandbox returns a copy of the world with only the given objects, in their current form. Changes in the copy do not
// reach the world. The copy is cheap, because both share the compiled policies.
func (m *Memory) Sandbox(refs []workload.Ref) *Memory {
	next := *m.Snapshot
	next.kinds = map[schema.GroupKind]*LiveKind{}
	c := &Memory{Snapshot: &next, world: m.world, kinds: map[schema.GroupKind]*memoryKind{}}
	for gk, k := range m.kinds {
		c.kinds[gk] = newMemoryKind(k.adapter, k.releasing)
		next.kinds[gk] = &LiveKind{Kind: m.Kind(gk), Live: c.kinds[gk].live}
	}
	next.findRelating()
	for _, ref := range refs {
		if raw := m.Raw(ref); raw != nil {
			c.kinds[ref.GroupKind].put(m.Object(ref), raw)
		}
	}
	return c
}

// World returns the world for admission, with the freezes, adapters and namespaces of the lists.
func (m *Memory) World() *World { return m.world }

// BatchOpened implements decide.Sandbox. It reads the policy's status.
func (m *Memory) BatchOpened(id workload.Policy, d workload.Direction) time.Time {
	p := m.Find(id)
	if p == nil || !p.Kind.ActsOnTargets() {
		return time.Time{}
	}
	status := p.Kind.Status(p.Object)
	last := status.DownscaleBatch
	if d == workload.DirectionUp {
		last = status.UpscaleBatch
	}
	if last == nil {
		return time.Time{}
	}
	return last.OpenedAt.Time
}

// Standing implements decide.Standings. It reads the policy's status.
func (m *Memory) Standing(line decide.Line, _ workload.Ref) decide.Standing {
	p := m.Find(line.Policy)
	if p == nil || !p.Kind.ActsOnTargets() {
		return decide.Standing{}
	}
	at, known := StandingsOf(p)[line]
	if st := openWaves(p); known && (!p.Order.PerNamespace || line.Namespace == st.Namespace) {
		at.Recorded = st.WaitsFor
	}
	at.Resumed = known
	return at
}

// StandingsOf returns the standings in the status of a policy, by line.
func StandingsOf(p *Policy) map[decide.Line]decide.Standing {
	st := openWaves(p)
	if st == nil || p.Order == nil {
		return nil
	}
	first := decide.Line{Policy: p.ID, Direction: workload.DirectionUp}
	if st.Direction == "Sleep" {
		first.Direction = workload.DirectionDown
	}
	all := map[decide.Line]decide.Standing{}
	for _, wave := range st.Others {
		line := first
		line.Namespace = wave.Namespace
		all[line] = standingOf(wave)
	}
	if p.Order.PerNamespace {
		first.Namespace = st.Namespace
	}
	all[first] = standingOf(st.OpenWave)
	return all
}

// openWaves returns the open waves in the status of a policy; nil: none.
func openWaves(p *Policy) *v1alpha1.OrderStatus {
	if order := p.Kind.Meta(p.Object).Order; order != nil {
		return *order
	}
	return nil
}

func standingOf(wave v1alpha1.OpenWave) decide.Standing {
	return decide.Standing{Place: int(wave.Place) - 1, Since: wave.Since.Time}
}

// EachObject implements decide.Sandbox.
func (m *Memory) EachObject(yield func(workload.Ref)) {
	for _, k := range m.kinds {
		for ref := range k.raw {
			yield(ref)
		}
	}
}

// Raw returns the current JSON of an object, or nil if the object does not exist.
func (m *Memory) Raw(ref workload.Ref) []byte {
	if k := m.kinds[ref.GroupKind]; k != nil {
		return k.raw[ref]
	}
	return nil
}

// Apply implements decide.Sandbox.
func (m *Memory) Apply(ref workload.Ref, patch *workload.Patch) ([]workload.Ref, error) {
	k := m.kinds[ref.GroupKind]
	if k == nil || k.raw[ref] == nil {
		return nil, fmt.Errorf("there is no %s", ref)
	}
	raw := k.raw[ref]
	for p := patch; p != nil; p = p.Next {
		var err error
		if raw, err = patched(raw, p); err != nil {
			return nil, fmt.Errorf("patch %s: %w", ref, err)
		}
	}
	before := m.Autoscalers(ref)
	if err := k.store(raw); err != nil {
		return nil, fmt.Errorf("patch %s: %w", ref, err)
	}
	concerned := before
	m.Related(ref, func(r workload.Ref) { concerned = append(concerned, r) })
	return concerned, nil
}

// patched returns an object after one patch, with a new resourceVersion.
func patched(raw []byte, p *workload.Patch) ([]byte, error) {
	raw, err := workload.Patched(raw, p)
	if err != nil {
		return nil, err
	}
	return nextVersion(raw)
}

// nextVersion increments the resourceVersion of an object that a patch has just made. It does so in place if possible: parsing or copying
// the object again would take as long as the patch.
func nextVersion(raw []byte) ([]byte, error) {
	found := rawjson.GetBytes(raw, "metadata.resourceVersion")
	version, _ := strconv.ParseInt(found.Str, 10, 64) // an unparsable version starts at zero again
	next := fmt.Appendf(nil, "%q", strconv.FormatInt(version+1, 10))
	switch {
	case found.Index > 0 && len(next) == len(found.Raw):
		copy(raw[found.Index:], next)
		return raw, nil
	case found.Index > 0:
		return slices.Concat(raw[:found.Index], next, raw[found.Index+len(found.Raw):]), nil
	}
	return workload.Merged(raw, fmt.Appendf(nil, `{"metadata":{"resourceVersion":%s}}`, next)), nil
}
