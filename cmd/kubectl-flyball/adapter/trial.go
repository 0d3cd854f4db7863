package adapter

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Trial is the result of putting one object to sleep and waking it in memory.
type Trial struct {
	Target string `json:"target"`
	State  string `json:"state"`
	// Message has the change by sleep, or the reason why nothing changes.
	Message string `json:"message,omitempty"`
	// Sleep is the patch that puts the object to sleep, and Wake is the patch that wakes it. A patch is absent if nothing
	// is written.
	Sleep json.RawMessage `json:"sleep,omitempty"`
	Wake  json.RawMessage `json:"wake,omitempty"`
	// Restored is true if waking restores the object exactly, apart from Left.
	Restored bool `json:"restored"`
	// Left are the absent fields that waking sets, because the operator goes on only then.
	Left []string `json:"left,omitempty"`
	// Ready is true if the object has settled. Why is the reason if it has not.
	Ready bool   `json:"ready"`
	Why   string `json:"why,omitempty"`
	// Answers are those of the cluster's controllers; absent if the object was not written.
	Answers []Answer `json:"answers,omitempty"`
}

// IsGood reports whether waking restores the object and no answer asks for a change of the adapter.
func (t *Trial) IsGood() bool {
	return t.Restored && !slices.ContainsFunc(t.Answers, func(a Answer) bool { return a.Remedy != "" })
}

// Try puts an object, given as JSON, to sleep as an adapter describes, and wakes it again.
func Try(a *v1alpha1.Adapter, object []byte) (*Trial, error) {
	compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	plan := trialPlan()
	memory, ref, err := alone(a, object)
	if err != nil {
		return nil, err
	}
	if ref.Name == "" {
		return nil, fmt.Errorf("the adapter is of %s, and the object is not", compiled.GroupKind())
	}
	t := &Trial{Target: ref.String()}
	t.Ready, t.Why = compiled.Ready(object)
	down, err := compiled.Render(memory.Object(ref), plan)
	if err != nil {
		return nil, err
	}
	t.State, t.Message = down.State.String(), down.Message
	if down.Patch == nil {
		t.Restored = true
		return t, nil
	}
	if t.Sleep, err = settle(memory, compiled, ref, plan); err != nil {
		return nil, err
	}
	ledger := memory.Object(ref).Ledger
	if t.Wake, err = settle(memory, compiled, ref, workload.Plan{}); err != nil {
		return nil, err
	}
	woken := memory.Raw(ref)
	for _, e := range ledger {
		if e.Was == "" && e.Awake != "" {
			t.Left = append(t.Left, fmt.Sprintf("%s: %s", path.Pointer(e.Pointer).Path(), e.Awake))
			if woken, err = without(woken, path.Pointer(e.Pointer)); err != nil {
				return nil, err
			}
		}
	}
	t.Restored = same(object, woken)
	return t, nil
}

// without returns an object without a field.
func without(raw []byte, field path.Pointer) ([]byte, error) {
	var obj map[string]any
	if err := json.Unmarshal(raw, &obj); err != nil {
		return nil, fmt.Errorf("decode the object: %w", err)
	}
	unstructured.RemoveNestedField(obj, field.Tokens()...)
	return json.Marshal(obj)
}

// trialPolicy may write in any namespace.
var trialPolicy = workload.Policy{Kind: schedule.ClusterKind, Name: "trial"}

// trialPlan returns the plan for sleep.
func trialPlan() workload.Plan {
	size := workload.Size{Mode: workload.SizeSleep}
	return workload.Plan{Size: &workload.Claim[workload.Size]{Value: size, By: trialPolicy, Since: time.Unix(0, 0)}}
}

// alone returns a world with one object. The name is empty if the object is not of the adapter's kind.
func alone(a *v1alpha1.Adapter, object []byte) (memory *world.Memory, ref workload.Ref, err error) {
	memory, err = world.NewMemory(world.Lists{Scope: world.Scope("", nil), Adapters: []*v1alpha1.Adapter{a}, Objects: [][]byte{object}})
	if err == nil {
		memory.EachObject(func(r workload.Ref) { ref = r })
	}
	return memory, ref, err
}

// pausedByOwner returns the effect of the adapter's sleep on the object after a hold by its owner: the reason to stay awake, or the change.
// It is empty for a kind without a hold.
func pausedByOwner(a *v1alpha1.Adapter, object []byte) (string, error) {
	compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
	if len(errs) > 0 {
		return "", errs.ToAggregate()
	}
	memory, ref, err := alone(a, object)
	if err != nil {
		return "", err
	}
	hold := &workload.Claim[bool]{Value: true, By: trialPolicy, Since: time.Unix(0, 0)}
	held, err := settle(memory, compiled, ref, workload.Plan{Hold: hold})
	if err != nil || held == nil {
		return "", err
	}
	paused, err := jsonpatch.MergePatch(memory.Raw(ref), fmt.Appendf(nil, `{"metadata":{"annotations":{%q:null}}}`, v1alpha1.AnnotationLedger))
	if err != nil {
		return "", fmt.Errorf("take the ledger away: %w", err)
	}
	if memory, ref, err = alone(a, paused); err != nil {
		return "", err
	}
	r, err := compiled.Render(memory.Object(ref), trialPlan())
	if err != nil {
		return "", err
	}
	if r.State == workload.StateUnable {
		return "no, it is left alone: " + r.Message, nil
	}
	return "yes, by the adapter: " + r.Message + "; ask its operator whether the pods follow then", nil
}

// maxPatches limits the number of patches for sleep, and for wake. An object whose count is written through /scale
// takes two patches.
const maxPatches = 4

// settle applies a plan until nothing is left to write. It returns the only patch, or a list of several patches.
func settle(memory *world.Memory, a *adapter.Adapter, ref workload.Ref, plan workload.Plan) (json.RawMessage, error) {
	var all []json.RawMessage
	for range maxPatches {
		r, err := a.Render(memory.Object(ref), plan)
		if err != nil {
			return nil, err
		}
		if r.Patch == nil {
			break
		}
		if _, err := memory.Apply(ref, r.Patch); err != nil {
			return nil, err
		}
		for p := r.Patch; p != nil; p = p.Next {
			all = append(all, json.RawMessage(p.Body))
		}
	}
	switch len(all) {
	case 0:
		return nil, nil
	case 1:
		return all[0], nil
	}
	return json.Marshal(all)
}

// same reports whether two objects are equal, apart from the resourceVersion and empty annotations.
func same(a, b []byte) bool {
	read := func(raw []byte) map[string]any {
		var obj map[string]any
		if json.Unmarshal(raw, &obj) != nil {
			return nil
		}
		if metadata, ok := obj["metadata"].(map[string]any); ok {
			delete(metadata, "resourceVersion")
			if annotations, ok := metadata["annotations"].(map[string]any); ok && len(annotations) == 0 {
				delete(metadata, "annotations")
			}
		}
		return obj
	}
	return reflect.DeepEqual(read(a), read(b))
}

// Names implements printer.Finding.
func (t *Trial) Names() []string { return []string{t.Target} }

// Text implements printer.Finding.
func (t *Trial) Text(w *printer.Writer) {
	w.Line("%s: %s, %s", t.Target, t.State, t.Message)
	if t.Sleep == nil {
		w.Line("sleeping writes nothing")
		return
	}
	w.Line("sleep: %s", t.Sleep)
	w.Line("wake:  %s", t.Wake)
	switch {
	case !t.Restored:
		w.Line("%s", w.Styled("waking does not restore the object", printer.Bad))
	case len(t.Left) > 0:
		w.Line("%s", w.Styled("waking restores the object, and leaves "+strings.Join(t.Left, ", ")+", which was absent", printer.Good))
	default:
		w.Line("%s", w.Styled("waking restores the object exactly", printer.Good))
	}
	for _, a := range t.Answers {
		if a.Remedy == "" {
			w.Line("%s? %s", a.Question, a.Answer)
		} else {
			w.Line("%s? %s", a.Question, w.Styled(a.Answer+" (in the adapter: "+a.Remedy+")", printer.Bad))
		}
	}
}
