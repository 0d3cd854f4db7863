package pods

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// shared keeps one copy of each owner. Pods of an owner mostly arrive together, so only the latest owners are kept.
type shared struct {
	mu          sync.Mutex
	young, aged map[workload.OwnerReference]*workload.OwnerReference
}

// sharedAtMost is the number of owners after which older owners are dropped. Objects that refer to a dropped owner keep
// it.
const sharedAtMost = 4096

func newShared() *shared {
	return &shared{young: map[workload.OwnerReference]*workload.OwnerReference{}}
}

func (s *shared) get(o workload.OwnerReference) *workload.OwnerReference {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.young[o]; known != nil {
		return known
	}
	known := s.aged[o]
	if known == nil {
		o.Name, o.UID = strings.Clone(o.Name), strings.Clone(o.UID)
		known = &o
	}
	if len(s.young) >= sharedAtMost {
		s.aged, s.young = s.young, map[workload.OwnerReference]*workload.OwnerReference{}
	}
	s.young[*known] = known
	return known
}

// branch is a direct or indirect owner of pods.
type branch struct {
	ref      workload.Ref
	parent   *branch
	children []*branch
	pods     []*workload.Object
	// moved is the time when a pod was last created, deleted or changed its readiness.
	moved time.Time
}

// tree has the branches that lead to pods. The caller does the locking.
type tree struct {
	branches map[workload.Ref]*branch
	// ownerOf returns the controlling owner of an object that owns pods; nil: none or unknown.
	ownerOf func(workload.Ref) *workload.OwnerReference
}

func newTree(ownerOf func(workload.Ref) *workload.OwnerReference) *tree {
	return &tree{branches: map[workload.Ref]*branch{}, ownerOf: ownerOf}
}

func refOf(owner *workload.OwnerReference, namespace string) workload.Ref {
	return workload.Ref{GroupKind: owner.GroupKind, Namespace: namespace, Name: owner.Name}
}

// home returns the branch of a pod: its owner, or the pod itself.
func home(pod *workload.Object) workload.Ref {
	if pod.OwnerReference != nil {
		return refOf(pod.OwnerReference, pod.Namespace)
	}
	return workload.Ref{GroupKind: schema.GroupKind{Kind: "Pod"}, Namespace: pod.Namespace, Name: pod.Name}
}

func (t *tree) get(ref workload.Ref) *branch {
	b := t.branches[ref]
	if b == nil {
		b = &branch{ref: ref}
		t.branches[ref] = b
		t.link(b)
	}
	return b
}

// link attaches a branch to its owner.
func (t *tree) link(b *branch) {
	var parent *branch
	if owner := t.ownerOf(b.ref); owner != nil {
		if ref := refOf(owner, b.ref.Namespace); ref != b.ref {
			parent = t.get(ref)
		}
	}
	if parent == b.parent || parent != nil && parent.isBelow(b) {
		return
	}
	t.cut(b)
	if b.parent = parent; parent != nil {
		parent.children = append(parent.children, b)
		if b.moved.After(parent.moved) {
			parent.moved = b.moved
		}
	}
}

// isBelow reports whether a branch is below another, so that circular ownership does no harm.
func (b *branch) isBelow(other *branch) bool {
	for ; b != nil; b = b.parent {
		if b == other {
			return true
		}
	}
	return false
}

// cut detaches a branch from its parent. A parent without other branches is removed too.
func (t *tree) cut(b *branch) {
	parent := b.parent
	if parent == nil {
		return
	}
	b.parent = nil
	parent.children = slices.DeleteFunc(parent.children, func(c *branch) bool { return c == b })
	t.prune(parent)
}

// prune removes a branch and all branches below, unless one of them has a pod.
func (t *tree) prune(b *branch) {
	if b.hasPods() {
		return
	}
	t.forget(b)
	t.cut(b)
}

func (t *tree) forget(b *branch) {
	delete(t.branches, b.ref)
	for _, c := range b.children {
		t.forget(c)
	}
}

func (b *branch) hasPods() bool {
	return len(b.pods) > 0 || slices.ContainsFunc(b.children, (*branch).hasPods)
}

// relink looks up the owners of a branch, if it exists, and of its ancestors again.
func (t *tree) relink(ref workload.Ref) {
	for b := t.branches[ref]; b != nil; b = b.parent {
		t.link(b)
	}
}

func (t *tree) add(pod *workload.Object, now time.Time) {
	b := t.get(home(pod))
	b.pods = append(b.pods, pod)
	b.touch(now)
}

func (t *tree) remove(pod *workload.Object, now time.Time) {
	b := t.branches[home(pod)]
	if b == nil {
		return
	}
	if i := slices.Index(b.pods, pod); i >= 0 {
		b.pods[i] = b.pods[len(b.pods)-1]
		b.pods[len(b.pods)-1] = nil
		b.pods = b.pods[:len(b.pods)-1]
	}
	b.touch(now)
	t.prune(b)
}

// replace replaces a pod by a newer form with the same home.
func (t *tree) replace(old, pod *workload.Object) {
	if b := t.branches[home(old)]; b != nil {
		if i := slices.Index(b.pods, old); i >= 0 {
			b.pods[i] = pod
		}
	}
}

func (b *branch) touch(now time.Time) {
	for ; b != nil; b = b.parent {
		b.moved = now
	}
}

// above returns a branch and its ancestors.
func (b *branch) above() []workload.Ref {
	var refs []workload.Ref
	for ; b != nil; b = b.parent {
		refs = append(refs, b.ref)
	}
	return refs
}

// each yields the pods below a branch.
func (b *branch) each(yield func(*workload.Object)) {
	for _, pod := range b.pods {
		yield(pod)
	}
	for _, c := range b.children {
		c.each(yield)
	}
}
