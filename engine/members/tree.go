package members

import (
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

// shared keeps one copy of owners. Pods of one owner mostly come together, so it remembers the latest only.
type shared struct {
	mu          sync.Mutex
	young, aged map[workload.Owner]*workload.Owner
}

// sharedAtMost is after how many owners the older ones are forgotten; who holds one keeps it.
const sharedAtMost = 4096

func newShared() *shared { return &shared{young: map[workload.Owner]*workload.Owner{}} }

func (s *shared) get(o workload.Owner) *workload.Owner {
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
		s.aged, s.young = s.young, map[workload.Owner]*workload.Owner{}
	}
	s.young[*known] = known
	return known
}

// branch is an object that owns pods, directly or by way of other owners.
type branch struct {
	ref      workload.Ref
	parent   *branch
	children []*branch
	pods     []*workload.Object
	// moved is when a pod came, went or changed its readiness last.
	moved time.Time
}

// tree has the branches that lead to pods. It does no locking.
type tree struct {
	branches map[workload.Ref]*branch
	// ownerOf finds the controlling owner of an object that owns pods; nil: it has none, or none is known.
	ownerOf func(workload.Ref) *workload.Owner
}

func newTree(ownerOf func(workload.Ref) *workload.Owner) *tree {
	return &tree{branches: map[workload.Ref]*branch{}, ownerOf: ownerOf}
}

func refOf(owner *workload.Owner, namespace string) workload.Ref {
	return workload.Ref{GroupKind: owner.GroupKind, Namespace: namespace, Name: owner.Name}
}

// home is the branch that a pod hangs on: its owner, or itself.
func home(pod *workload.Object) workload.Ref {
	if pod.Owner != nil {
		return refOf(pod.Owner, pod.Namespace)
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

// link hangs a branch on its owner.
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

// isBelow says whether a branch hangs on another, so that owners that own one another do no harm.
func (b *branch) isBelow(other *branch) bool {
	for ; b != nil; b = b.parent {
		if b == other {
			return true
		}
	}
	return false
}

// cut takes a branch off its parent, which goes too if nothing else hangs on it.
func (t *tree) cut(b *branch) {
	parent := b.parent
	if parent == nil {
		return
	}
	b.parent = nil
	parent.children = slices.DeleteFunc(parent.children, func(c *branch) bool { return c == b })
	t.prune(parent)
}

// prune takes a branch away, with all that hangs on it, if there is no pod on any of that.
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

// relink looks for the owner of a branch, if it exists, and of those above it again.
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

// replace puts a newer form of a pod, which has the same home, in the place of the older one.
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

// above lists a branch and those that it hangs on.
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
