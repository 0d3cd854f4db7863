package reconcile

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// wanting is a policy with a template; a nil template means that the policy wants no object.
func wanting(name string, t *policy.Template) *world.Policy {
	p := &world.Policy{}
	p.Policy.Policy = &policy.Policy{ID: workload.Policy{Name: name}, Extras: policy.Extras{Template: t}}
	return p
}

func TestTemplatesGoWithTheirPolicies(t *testing.T) {
	all := newTemplateRegister()
	want := &policy.Template{Namespace: "shop", Name: "web"}
	set := func(name string, t *policy.Template) []workload.Ref {
		return all.set(workload.Policy{Name: name}, wanting(name, t))
	}
	refs := set("b", want)
	if len(refs) != 1 || refs[0].Name != "web" {
		t.Fatalf("to look at: %v", refs)
	}
	ref := refs[0]
	set("a", want)
	if of := all.WantedBy(ref); len(of) != 2 || of[0].ID.Name != "a" {
		t.Errorf("wanted by %v", of)
	}
	all.agree(ref, agreed{form: "seen"})
	set("a", want)
	all.set(workload.Policy{Name: "b"}, nil)
	set("a", want)
	if all.agreed(ref).form != "seen" {
		t.Error("what is known of the object is forgotten when a policy that wants it is edited")
	}
	set("b", want)
	all.fail(ref, "refused")
	if all.Failure(ref, workload.Policy{Name: "a"}) != "refused" || all.Failure(ref, workload.Policy{Name: "c"}) != "" {
		t.Error("a failure is told under the policies that want the object, and no others")
	}
	if refs := set("a", nil); len(refs) != 1 {
		t.Errorf("a template that is taken out: to look at %v", refs)
	}
	set("b", nil)
	if len(all.WantedBy(ref)) != 0 || all.Failure(ref, workload.Policy{Name: "b"}) != "" {
		t.Error("something is left of the template")
	}
}

// TestAPolicyOnItsWayOutWantsNothing: a policy that is being deleted, or can no longer be read, wants no object.
func TestAPolicyOnItsWayOutWantsNothing(t *testing.T) {
	want := &policy.Template{Namespace: "shop", Name: "web"}
	id := workload.Policy{Name: "a"}
	deleting, broken := wanting("a", want), wanting("a", want)
	deleting.Deleting = true
	broken.Invalid = field.ErrorList{field.Required(field.NewPath("spec"), "")}
	for name, p := range map[string]*world.Policy{"deleted": deleting, "broken": broken} {
		all := newTemplateRegister()
		ref := all.set(id, wanting("a", want))[0]
		if refs := all.set(id, p); len(refs) != 1 || refs[0] != ref {
			t.Errorf("%s: to look at %v, want %v", name, refs, ref)
		}
		if of := all.WantedBy(ref); len(of) != 0 {
			t.Errorf("%s: %s is still wanted by %d policies", name, ref, len(of))
		}
	}
}
