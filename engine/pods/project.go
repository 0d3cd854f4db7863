package pods

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/watch"
	"flyball.dev/flyball/engine/workload"
)

// identity is the common part of this package's projections.
type identity struct {
	interner *workload.Interner
	owners   *ownerTable
}

func newIdentity() identity {
	interner := workload.NewInterner()
	return identity{interner, &ownerTable{interner, newShared()}}
}

// Paths read of every object; a projector's own paths follow.
const (
	atName = iota
	atNamespace
	atUID
	atVersion
	atCreated
	atDeleting
	atOwners
	identityPaths
)

func pathsOf(more ...string) *path.Set {
	var all []path.Path
	for _, text := range append([]string{".metadata.name", ".metadata.namespace", ".metadata.uid", ".metadata.resourceVersion",
		".metadata.creationTimestamp", ".metadata.deletionTimestamp", ".metadata.ownerReferences"}, more...) {
		all = append(all, path.MustParse(text))
	}
	return path.NewSet(all...)
}

// read walks an object once. The raw values alias the document.
func read(set *path.Set, raw []byte) ([]rawjson.Value, error) {
	values := make([]rawjson.Value, len(set.Paths()))
	err := set.Extract(raw, func(i int, m path.Match) {
		if m.Exists() {
			values[i] = rawjson.ParseBytes(m.Raw)
		}
	})
	if err == nil && values[atName].Str == "" {
		return nil, fmt.Errorf("project %s: it has no name", values[atUID].Str)
	}
	return values, err
}

// object returns an object of the read values. The text in packed is stored in one allocation with the object's own
// texts. kept is the stored copy of this text.
func (id identity) object(values []rawjson.Value, packed string) (obj *workload.Object, kept string) {
	name, uid, version := values[atName].Str, values[atUID].Str, values[atVersion].Str
	own := strings.Join([]string{name, uid, version, packed}, "")
	n, u := len(name), len(name)+len(uid)
	v := u + len(version)
	return &workload.Object{
		Namespace: id.interner.String(values[atNamespace].Str), Name: own[:n], UID: own[n:u], ResourceVersion: own[u:v],
		Created: instant(values[atCreated]), Deleting: values[atDeleting].Str != "",
		OwnerReference: id.owners.controller(values[atOwners]),
	}, own[v:]
}

// instant returns an RFC 3339 text in seconds since 1970; 0: unreadable.
func instant(v rawjson.Value) int64 {
	t, err := time.Parse(time.RFC3339, v.Str)
	if err != nil {
		return 0
	}
	return t.Unix()
}

// controllers reads the owners of objects.
type controllers struct {
	identity
	set *path.Set
}

func newControllers(id identity) controllers { return controllers{id, pathsOf()} }

// controllersOf returns the source of a watch of owners.
func controllersOf(resource schema.GroupVersionResource, id identity) watch.Source {
	return watch.Source{GVR: resource, ID: "members", Projector: newControllers(id)}
}

// Project implements watch.Projector.
func (c controllers) Project(raw []byte) (*workload.Object, error) {
	values, err := read(c.set, raw)
	if err != nil {
		return nil, err
	}
	obj, _ := c.object(values, "")
	return obj, nil
}

// pods reads the fields of pods used by planning.
type pods struct {
	identity
	set *path.Set
	// own is the name of Flyball's field manager.
	own string
	// wide keeps containers.
	wide bool
}

const (
	atNode = identityPaths + iota
	atPhase
	atConditions
	atStatuses
	atRevision
	atCost
	atManaged
	atContainers
	atInitContainers
	atInitStatuses
	atGeneration
	atObserved
	atTunedBy
	atBoost
)

func newPods(id identity, own string, wide bool) pods {
	more := []string{".spec.nodeName", ".status.phase", ".status.conditions", ".status.containerStatuses",
		".metadata.labels['controller-revision-hash']", ".metadata.annotations['" + workload.CostAnnotation + "']", ".metadata.managedFields"}
	if wide {
		more = append(more, ".spec.containers", ".spec.initContainers", ".status.initContainerStatuses", ".metadata.generation",
			".status.observedGeneration",
			".metadata.annotations['"+v1alpha1.AnnotationTunedBy+"']", ".metadata.annotations['"+v1alpha1.AnnotationBoost+"']")
	}
	return pods{id, pathsOf(more...), own, wide}
}

// The fields of a projected pod. Absent revision, cost and writer are left out.
const (
	podNode = iota
	podFacts
	podRevision
	podCost
	podWriter
)

// Project implements watch.Projector.
func (p pods) Project(raw []byte) (*workload.Object, error) {
	values, err := read(p.set, raw)
	if err != nil {
		return nil, err
	}
	facts := factsOf(values)
	obj, packed := p.object(values, facts.pack())
	texts := []string{p.interner.String(values[atNode].Str), packed}
	if cost := values[atCost]; cost.Exists() || values[atRevision].Exists() {
		texts = append(texts, p.interner.String(values[atRevision].Str))
		if cost.Exists() {
			texts = append(texts, p.interner.String(cost.Str), p.interner.String(p.writerOf(values[atManaged])))
		}
	}
	obj.Fields = make([]workload.Field, len(texts))
	for i, text := range texts {
		obj.Fields[i].Raw = text
	}
	if p.wide {
		obj.Elements = p.containers(values)
	}
	return obj, nil
}

func textAt(obj *workload.Object, i int) string {
	if i >= len(obj.Fields) {
		return ""
	}
	return obj.Fields[i].Raw
}

// facts are the changing properties of a pod.
type facts struct {
	phase    workload.PodPhase
	finished bool
	ready    bool
	changed  int64
	restarts int64
}

func factsOf(values []rawjson.Value) facts {
	var f facts
	switch values[atPhase].Str {
	case "Running":
		f.phase = workload.PodRunning
	case "Unknown":
		f.phase = workload.PodUnknown
	case "Succeeded", "Failed":
		f.finished = true
	}
	values[atConditions].ForEach(func(_, c rawjson.Value) bool {
		if c.Get("type").Str != "Ready" {
			return true
		}
		f.ready, f.changed = c.Get("status").Str == "True", instant(c.Get("lastTransitionTime"))
		return false
	})
	values[atStatuses].ForEach(func(_, c rawjson.Value) bool {
		f.restarts = max(f.restarts, c.Get("restartCount").Int())
		return true
	})
	return f
}

// pack returns the facts as a short text.
func (f facts) pack() string {
	flags := byte(f.phase)
	if f.ready {
		flags |= 4
	}
	if f.finished {
		flags |= 8
	}
	return string(binary.AppendVarint(binary.AppendVarint([]byte{flags}, f.changed), f.restarts))
}

func unpack(text string) facts {
	if text == "" {
		return facts{}
	}
	b := []byte(text)
	f := facts{phase: workload.PodPhase(b[0] & 3), ready: b[0]&4 > 0, finished: b[0]&8 > 0}
	var n int
	f.changed, n = binary.Varint(b[1:])
	f.restarts, _ = binary.Varint(b[1+max(n, 0):])
	return f
}

// unknownWriter stands for a writer without a name in the API server.
const unknownWriter = "unknown"

// writerOf returns the field manager that owns the cost. Of several managers it does not return Flyball, because
// Flyball only wrote the same value.
func (p pods) writerOf(managed rawjson.Value) string {
	writer := ""
	managed.ForEach(func(_, entry rawjson.Value) bool {
		owned := false
		entry.Get("fieldsV1.f:metadata.f:annotations").ForEach(func(key, _ rawjson.Value) bool {
			owned = key.Str == "f:"+workload.CostAnnotation
			return !owned
		})
		if name := entry.Get("manager").Str; owned && (writer == "" || writer == p.own) {
			writer = name
		}
		return true
	})
	if writer == "" {
		return unknownWriter
	}
	return writer
}

// nodes reads the needed labels of nodes, and the signs that a node is about to be removed.
type nodes struct {
	identity
	set    *path.Set
	labels []string
}

const (
	atLabels = identityPaths + iota
	atTaints
	atUnschedulable
)

func newNodes(id identity, labels []string) nodes {
	return nodes{id, pathsOf(".metadata.labels", ".spec.taints", ".spec.unschedulable"), labels}
}

// unschedulable is the taint of a cordoned node.
const unschedulable = "node.kubernetes.io/unschedulable"

// Project implements watch.Projector. Labels are kept as labels, taints as fields.
func (n nodes) Project(raw []byte) (*workload.Object, error) {
	values, err := read(n.set, raw)
	if err != nil {
		return nil, err
	}
	obj, _ := n.object(values, "")
	kept := map[string]string{}
	values[atLabels].ForEach(func(key, value rawjson.Value) bool {
		for _, label := range n.labels {
			if key.Str == label {
				kept[n.interner.String(label)] = n.interner.String(value.Str)
			}
		}
		return true
	})
	obj.Labels = workload.NewPairs(kept)
	if values[atUnschedulable].Bool() {
		obj.Fields = append(obj.Fields, workload.Field{Raw: unschedulable})
	}
	values[atTaints].ForEach(func(_, taint rawjson.Value) bool {
		if key := taint.Get("key").Str; taint.Get("effect").Str != "PreferNoSchedule" || strings.HasPrefix(key, "DeletionCandidate") {
			obj.Fields = append(obj.Fields, workload.Field{Raw: n.interner.String(key)})
		}
		return true
	})
	return obj, nil
}

// ownerTable shares owners between the owned objects.
type ownerTable struct {
	interner *workload.Interner
	shared   *shared
}

// controller returns the owner reference with controller: true; nil: none.
func (t *ownerTable) controller(refs rawjson.Value) *workload.OwnerReference {
	var owner *workload.OwnerReference
	refs.ForEach(func(_, ref rawjson.Value) bool {
		gv, err := schema.ParseGroupVersion(ref.Get("apiVersion").Str)
		if ref.Get("controller").Type != rawjson.True || err != nil {
			return true
		}
		owner = t.shared.get(workload.OwnerReference{GroupKind: schema.GroupKind{
			Group: t.interner.String(gv.Group), Kind: t.interner.String(ref.Get("kind").Str)}, Name: ref.Get("name").Str, UID: ref.Get("uid").Str})
		return false
	})
	return owner
}
