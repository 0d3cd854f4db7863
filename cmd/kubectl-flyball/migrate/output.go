package migrate

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// own is an object of one of Flyball's kinds: a policy or an adapter.
type own interface {
	metav1.Object
	runtime.Object
}

// Emitted is a new object of one of Flyball's kinds, with notes.
type Emitted struct {
	// From names the objects from which the object was converted.
	From string
	// Notes are the differences in meaning from the objects of From.
	Notes  []string
	Object own

	from []Object
}

// Note adds a note about a difference in meaning.
func (e *Emitted) Note(format string, args ...any) *Emitted {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
	return e
}

// Left is a part of an object that has no counterpart in Flyball.
type Left struct {
	// Object names the object that has the part. Place is the position of the object as file:line.
	Object string `json:"object"`
	Place  string `json:"place,omitempty"`
	// Part names the part, with the reason and the remedy.
	Part string `json:"part"`
}

// Output is the result of converting the objects of tools.
type Output struct {
	Emitted []*Emitted
	Left    []Left
	// Steps are the manual steps, in order.
	Steps    []Step
	Sleepers []Sleeper
}

// Step is one manual step.
type Step struct {
	Text string `json:"text"`
	// Commands are shell commands that can be pasted as they are.
	Commands []string `json:"commands,omitempty"`
}

// Emit adds a new object that was converted from the objects from.
func (o *Output) Emit(obj own, from ...Object) *Emitted {
	obj.GetObjectKind().SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(reflect.TypeOf(obj).Elem().Name()))
	e := &Emitted{Object: obj, from: from}
	for i, f := range from {
		if i > 0 {
			e.From += ", "
		}
		e.From += f.Ref().String()
		if f.Place != "" {
			e.From += " (" + f.Place + ")"
		}
	}
	o.Emitted = append(o.Emitted, e)
	return e
}

// Leave adds a part of an object that has no counterpart.
func (o *Output) Leave(of Object, format string, args ...any) {
	left := Left{Object: of.Ref().String(), Place: of.Place, Part: fmt.Sprintf(format, args...)}
	if !slices.Contains(o.Left, left) {
		o.Left = append(o.Left, left)
	}
}

// Step adds a manual step with its commands. It adds a step with the same text only once.
func (o *Output) Step(text string, commands ...string) {
	if !slices.ContainsFunc(o.Steps, func(s Step) bool { return s.Text == text }) {
		o.Steps = append(o.Steps, Step{text, commands})
	}
}

// CheckStep adds the step: check, before anything is written, that the migration changes the state of no object.
func (o *Output) CheckStep(tool string) {
	o.Step("check that no object changes its state", "kubectl flyball migrate "+tool+" -A --take-over --dry-run")
}

// ApplyStep adds a step: apply the printed objects. It adds nothing if there are no objects.
func (o *Output) ApplyStep() {
	if len(o.Emitted) == 0 {
		return
	}
	o.Step("apply the objects below (save all this as flyball.yaml) and wait until they are Ready",
		"kubectl apply -f flyball.yaml", "kubectl wait -f flyball.yaml --for=condition=Ready --timeout=5m")
}

// TakeOverStep adds a step: take over the sleeping objects.
func (o *Output) TakeOverStep(tool, why string) {
	text := "take over the sleeping objects"
	if why != "" {
		text += ": " + why
	}
	o.Step(text, "kubectl flyball migrate "+tool+" -A --take-over --apply")
}

// Convert converts the input with each tool. The world into receives the new objects, and its adapters are used to check
// them. Objects that the check refuses are left behind.
func Convert(tools []Tool, in *Input, into world.Lists) (*Output, error) {
	out := &Output{}
	for i := range tools {
		one := &Output{}
		tools[i].Convert(in, one)
		if len(one.Emitted)+len(one.Left) == 0 {
			continue
		}
		out.Emitted = append(out.Emitted, one.Emitted...)
		out.Left = append(out.Left, one.Left...)
		for _, s := range one.Steps {
			out.Step(tools[i].Title+": "+s.Text, s.Commands...)
		}
	}
	out.unite()
	return out, out.check(into)
}

// unite gives different names to new objects that have the same kind and name.
func (o *Output) unite() {
	seen := map[string]int{}
	for _, e := range o.Emitted {
		id := fmt.Sprintf("%s/%s/%s", e.Object.GetObjectKind().GroupVersionKind().Kind, e.Object.GetNamespace(), e.Object.GetName())
		if seen[id]++; seen[id] > 1 {
			name := fmt.Sprintf("%s-%d", e.Object.GetName(), seen[id])
			e.Note("another object given has the name %s", e.Object.GetName())
			e.Object.SetName(name)
		}
	}
}

// check compiles the new objects, and leaves those behind that do not compile.
func (o *Output) check(into world.Lists) error {
	memory, err := world.NewMemory(o.Over(into))
	if err != nil {
		return err
	}
	o.Emitted = slices.DeleteFunc(o.Emitted, func(e *Emitted) bool {
		p, ok := e.Object.(policy.Object)
		if !ok {
			return false
		}
		found := memory.Find(workload.Policy{Kind: p.GetObjectKind().GroupVersionKind().Kind, Namespace: p.GetNamespace(), Name: p.GetName()})
		if found == nil {
			return false
		}
		why := ""
		for _, gk := range found.Selection().Kinds() {
			if _, adapted := memory.AdaptedKind(gk); !adapted {
				why = fmt.Sprintf("there is no adapter for %s: write one (kubectl flyball adapter new)", gk)
			}
		}
		if len(found.Invalid) > 0 {
			why = fmt.Sprintf("its counterpart would be refused: %v", found.Invalid.ToAggregate())
		}
		for _, f := range e.from {
			if why != "" {
				o.Leave(f, "%s", why)
			}
		}
		return why != ""
	})
	return nil
}

// Over returns a world to which the new objects are added. It leaves out adapters that do not compile.
func (o *Output) Over(into world.Lists) world.Lists {
	into.Policies, into.Adapters = slices.Clone(into.Policies), slices.Clone(into.Adapters)
	for _, e := range o.Emitted {
		switch obj := e.Object.(type) {
		case *v1alpha1.Adapter:
			_, errs := adapter.Compile(obj.Name, obj.Spec, adapter.Keys{})
			known := slices.ContainsFunc(into.Adapters, func(a *v1alpha1.Adapter) bool { return a.Name == obj.Name })
			if len(errs) == 0 && !known {
				into.Adapters = append(into.Adapters, obj)
			}
		case policy.Object:
			if !slices.ContainsFunc(into.Policies, func(p policy.Object) bool { return sameObject(p, obj) }) {
				into.Policies = append(into.Policies, obj)
			}
		}
	}
	return into
}

func sameObject(a, b policy.Object) bool {
	return a.GetObjectKind().GroupVersionKind().Kind == b.GetObjectKind().GroupVersionKind().Kind && a.GetNamespace() == b.GetNamespace() &&
		a.GetName() == b.GetName()
}

// plain returns an object in the form that people write: without status and empty fields.
func plain(obj own) (map[string]any, error) {
	raw, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", obj.GetName(), err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		return nil, fmt.Errorf("encode %s: %w", obj.GetName(), err)
	}
	delete(m, "status")
	if metadata, ok := m["metadata"].(map[string]any); ok {
		delete(metadata, "creationTimestamp")
	}
	if spec, ok := m["spec"].(map[string]any); ok {
		for _, block := range []string{"guard", "history", "replicas", "vertical"} { // these blocks have no meaning if they are empty
			if fields, ok := spec[block].(map[string]any); ok && len(fields) == 0 {
				delete(spec, block)
			}
		}
	}
	return m, nil
}
