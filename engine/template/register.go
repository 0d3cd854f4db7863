package template

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// register knows which objects policies want to exist.
type register struct {
	mu sync.Mutex
	of map[workload.Ref][]*world.Policy
	by map[workload.Policy]workload.Ref
	// below holds, by object, those wanted that are to govern it.
	below map[workload.Ref][]workload.Ref
	// done holds, by object, what is known of the last time that it was found to be as its template says.
	done map[workload.Ref]agreed
	// failed says why an object could not be made or kept.
	failed map[workload.Ref]string
}

// agreed is an object that was as its template says.
type agreed struct {
	template *policy.Template
	// form is that of the watched object; see visible.
	form string
	// answer is what the API server made of the template when it was applied: it may spell values in another way. Nil for an
	// object that is somebody else's.
	answer map[string]any
}

func newRegister() *register {
	return &register{
		of: map[workload.Ref][]*world.Policy{}, by: map[workload.Policy]workload.Ref{}, below: map[workload.Ref][]workload.Ref{},
		done: map[workload.Ref]agreed{}, failed: map[workload.Ref]string{},
	}
}

// set takes over the template of a policy; nil is one that is gone. One that has no template, is being deleted or is broken wants
// nothing. It returns the objects to look at.
func (r *register) set(id workload.Policy, p *world.Policy) []workload.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	var touched []workload.Ref
	old, had := r.by[id]
	if had {
		r.of[old] = slices.DeleteFunc(slices.Clone(r.of[old]), func(o *world.Policy) bool { return o.ID == id })
		delete(r.by, id)
		touched = append(touched, old)
	}
	if p != nil && !p.Deleting && !p.IsBroken() && p.Template() != nil {
		ref := p.Template().Ref()
		r.by[id] = ref
		r.of[ref] = append(slices.Clone(r.of[ref]), p)
		slices.SortFunc(r.of[ref], func(a, b *world.Policy) int { return a.ID.Compare(b.ID) })
		touched = append(touched, ref)
	}
	if had && len(r.of[old]) == 0 {
		delete(r.of, old)
		delete(r.done, old)
		delete(r.failed, old)
	}
	r.index()
	return touched
}

// WantedBy lists the policies that want an object, by name.
func (r *register) WantedBy(ref workload.Ref) []*world.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[ref]
}

// toGovern lists the objects wanted that are to govern another one.
func (r *register) toGovern(ref workload.Ref) (refs []workload.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.below[ref])
}

// index takes down which objects wanted are to govern others.
func (r *register) index() {
	clear(r.below)
	for ref, wanted := range r.of {
		if len(wanted) == 0 {
			continue
		}
		if governed := wanted[0].Template().Governs; governed != (workload.Ref{}) {
			r.below[governed] = append(r.below[governed], ref)
		}
	}
}

func (r *register) ofKind(gk schema.GroupKind) []workload.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	var refs []workload.Ref
	for ref := range r.of {
		if ref.GroupKind == gk {
			refs = append(refs, ref)
		}
	}
	return refs
}

// agree remembers that an object is as a template says; agreed gives what was remembered last.
func (r *register) agree(ref workload.Ref, done agreed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[ref] = done
	delete(r.failed, ref)
}

func (r *register) agreed(ref workload.Ref) agreed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[ref]
}

// fail remembers why an object could not be made or kept.
func (r *register) fail(ref workload.Ref, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[ref] = why
	delete(r.done, ref)
}

// Failure says why an object could not be made or kept for a policy; empty: nothing is wrong.
func (r *register) Failure(ref workload.Ref, id workload.Policy) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 || r.by[id] != ref {
		return ""
	}
	return r.failed[ref]
}
