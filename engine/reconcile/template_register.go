package reconcile

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// templateRegister has the objects that policies want to exist.
type templateRegister struct {
	mu sync.Mutex
	of map[workload.Ref][]*world.Policy
	by map[workload.Policy]workload.Ref
	// below has the wanted autoscalers of each object that they scale.
	below map[workload.Ref][]workload.Ref
	// done has, for each object, the last state in which it fitted its template.
	done map[workload.Ref]agreed
	// failed has the reasons why objects could not be created or kept.
	failed map[workload.Ref]string
}

// agreed is the state of an object that fits its template.
type agreed struct {
	template *policy.Template
	// form is the fingerprint of the watched object; see visible.
	form string
	// answer is the applied template in the API server's spelling. It is nil for an object of a different owner.
	answer map[string]any
}

func newTemplateRegister() *templateRegister {
	return &templateRegister{
		of: map[workload.Ref][]*world.Policy{}, by: map[workload.Policy]workload.Ref{}, below: map[workload.Ref][]workload.Ref{},
		done: map[workload.Ref]agreed{}, failed: map[workload.Ref]string{},
	}
}

// set stores the template of a policy; a nil policy is gone. A policy wants no object if it has no template, is being
// deleted or cannot be read. set returns the objects to reconcile.
func (r *templateRegister) set(id workload.Policy, p *world.Policy) []workload.Ref {
	r.mu.Lock()
	defer r.mu.Unlock()
	var touched []workload.Ref
	old, had := r.by[id]
	if had {
		r.of[old] = slices.DeleteFunc(slices.Clone(r.of[old]), func(o *world.Policy) bool { return o.ID == id })
		delete(r.by, id)
		touched = append(touched, old)
	}
	if p != nil && !p.Deleting && !p.IsBroken() && p.Template != nil {
		ref := p.Template.Ref()
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

// WantedBy returns the policies that want an object, by name.
func (r *templateRegister) WantedBy(ref workload.Ref) []*world.Policy {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[ref]
}

// toGovern returns the wanted autoscalers of an object.
func (r *templateRegister) toGovern(ref workload.Ref) (refs []workload.Ref) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.below[ref])
}

// index rebuilds the index of wanted autoscalers.
func (r *templateRegister) index() {
	clear(r.below)
	for ref, wanted := range r.of {
		if len(wanted) == 0 {
			continue
		}
		if governed := wanted[0].Template.Governs; governed != (workload.Ref{}) {
			r.below[governed] = append(r.below[governed], ref)
		}
	}
}

func (r *templateRegister) ofKind(gk schema.GroupKind) []workload.Ref {
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

// agree stores the state in which an object fits its template.
func (r *templateRegister) agree(ref workload.Ref, done agreed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done[ref] = done
	delete(r.failed, ref)
}

func (r *templateRegister) agreed(ref workload.Ref) agreed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.done[ref]
}

// fail stores the reason why an object could not be created or kept.
func (r *templateRegister) fail(ref workload.Ref, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed[ref] = why
	delete(r.done, ref)
}

// Failure returns the reason why an object could not be created or kept for a policy, or "".
func (r *templateRegister) Failure(ref workload.Ref, id workload.Policy) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 || r.by[id] != ref {
		return ""
	}
	return r.failed[ref]
}
