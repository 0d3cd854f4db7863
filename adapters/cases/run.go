package cases

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// run is one case while it is tested.
type run struct {
	Case
	dir      string
	update   bool
	adapter  *adapter.Adapter
	object   []byte // JSON; empty: the case could not be read
	covered  map[v1alpha1.Capability]bool
	failures []string
}

func (r *run) failf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// open reads the case, and compiles the adapter with the keys that the claim needs.
func (r *run) open(spec *v1alpha1.Adapter) (err error) {
	if r.Case, err = readStrict[Case](filepath.Join(r.dir, "case.yaml")); err != nil {
		return err
	}
	var keys adapter.Keys
	for key := range r.Ask.Annotations {
		keys.Set = append(keys.Set, key)
	}
	keys.Amounts, keys.Owned = r.Ask.Any(), true
	a, errs := adapter.Compile(spec.Name, spec.Spec, keys)
	if len(errs) > 0 {
		return fmt.Errorf("compile: %w", errs.ToAggregate())
	}
	r.adapter = a
	file := filepath.Join(r.dir, "object.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if r.object, err = yaml.YAMLToJSONStrict(text); err != nil {
		return fmt.Errorf("decode %s: %w", file, err)
	}
	if rawjson.GetBytes(r.object, "metadata.resourceVersion").Str == "" {
		return fmt.Errorf("%s: its metadata needs resourceVersion: \"1\", because every patch names the version that it was made for", file)
	}
	return nil
}

// test puts the object to sleep and wakes it again.
func (r *run) test() {
	if err := r.sleepAndWake(); err != nil {
		r.failf("%v", err)
		return
	}
	if err := r.classify(); err != nil {
		r.failf("%v", err)
	}
}

func (r *run) sleepAndWake() error {
	plan := r.Ask.Plan()
	seen, err := r.projection()
	if err != nil {
		return err
	}
	text, err := yaml.Marshal(seen)
	if err != nil {
		return err
	}
	r.golden("projection.yaml", text)
	if err := r.checkPods(); err != nil {
		return err
	}
	down, err := r.render(r.object, plan)
	if err != nil {
		return err
	}
	r.checkDown(plan, down)
	asleep, err := apply(r.object, down.Patch)
	if err != nil {
		return err
	}
	again, err := r.render(asleep, plan)
	if err != nil {
		return err
	}
	if again.Patch != nil || again.State != down.State {
		r.failf("the same plan again is %s and writes %s", again.State, patchText(again.Patch))
	}
	up, err := r.render(asleep, workload.Plan{})
	if err != nil {
		return err
	}
	r.golden("wake-patch.json", patchText(up.Patch))
	restored, err := apply(asleep, up.Patch)
	if err != nil {
		return err
	}
	r.checkRestored(down.Patch == nil, asleep, restored)
	return nil
}

// checkDown checks the result of putting the object to sleep: the state, the impact, the message and the patch.
func (r *run) checkDown(plan workload.Plan, down adapter.Result) {
	r.cover(plan, down)
	if got := down.State.String(); got != r.State {
		r.failf("state is %s, want %s (%s)", got, r.State, down.Message)
	}
	if r.Impact != "" && down.Impact != r.Impact {
		r.failf("impact is %s, want %s", down.Impact, r.Impact)
	}
	if r.Message != "" && down.Message != r.Message {
		r.failf("message is %q, want %q", down.Message, r.Message)
	}
	r.golden("sleep-patch.json", patchText(down.Patch))
}

// checkRestored checks the object while it is asleep, and that the restored object equals the object of the case, apart from the values
// that the adapter writes where a field was absent.
func (r *run) checkRestored(untouched bool, asleep, restored []byte) {
	if untouched {
		r.golden("asleep.yaml", nil)
		r.golden("restored.yaml", nil)
	} else {
		r.golden("asleep.yaml", reformat(asleep))
		r.golden("restored.yaml", reformat(restored))
	}
	want, err := r.withAwake(asleep)
	if err != nil {
		r.failf("%v", err)
		return
	}
	if diff := lines(reformat(want), reformat(restored)); diff != "" {
		r.failf("object (-) and restored object (+) differ:\n%s", diff)
	}
}

// withAwake returns the object of the case with the values that the ledger of the sleeping object restores in place of absent fields.
func (r *run) withAwake(asleep []byte) ([]byte, error) {
	obj, err := r.adapter.Project(asleep)
	if err != nil {
		return nil, err
	}
	want := r.object
	for _, e := range obj.Ledger {
		if e.Awake == "" {
			continue
		}
		if want, err = mutate(want, fmt.Appendf(nil, `[{"op":"add","path":%q,"value":%s}]`, e.Pointer, e.Awake)); err != nil {
			return nil, fmt.Errorf("add %s to the object: %w", e.Pointer, err)
		}
	}
	return want, nil
}

func (r *run) render(raw []byte, plan workload.Plan) (adapter.Result, error) {
	obj, err := r.adapter.Project(raw)
	if err != nil {
		return adapter.Result{}, err
	}
	return r.adapter.Render(obj, plan)
}

// cover records the capabilities that the case made the adapter use in a write.
func (r *run) cover(plan workload.Plan, result adapter.Result) {
	if result.Patch == nil {
		return
	}
	for facet := range result.Values {
		switch {
		case facet == "suspend":
			r.covered[v1alpha1.CapabilitySuspend] = true
		case facet == "hold":
			r.covered[v1alpha1.CapabilityHold] = true
		case facet == "min", facet == "max":
			r.covered[v1alpha1.CapabilityBounds] = true
		case strings.HasPrefix(facet, "requests/"):
			r.covered[v1alpha1.CapabilityResources] = true
		case strings.HasPrefix(facet, "utilisation/"):
			r.covered[v1alpha1.CapabilityUtilisation] = true
		case strings.HasPrefix(facet, "replicas/"):
			r.covered[v1alpha1.CapabilityScale] = true
		case plan.Annotations[facet].Value != "":
			r.covered[v1alpha1.CapabilityAnnotate] = true
		}
	}
}

// classify checks the actions of the creation, the deletion and the edits of the object.
func (r *run) classify() error {
	if r.Created != nil {
		r.checkActions("actions of its creation", *r.Created, nil, r.object)
	}
	if r.Deleted != nil {
		r.checkActions("actions of its deletion", *r.Deleted, r.object, nil)
	}
	for _, e := range r.Classify {
		after, err := mutate(r.object, e.Mutate)
		if err != nil {
			return fmt.Errorf("classify %q: %w", e.Name, err)
		}
		if bytes.Equal(reformat(r.object), reformat(after)) {
			r.failf("classify %q: the edit changes nothing", e.Name)
			continue
		}
		r.checkActions(fmt.Sprintf("classify %q: actions", e.Name), e.Want, r.object, after)
		undone := e.Undone
		if undone == nil {
			undone = e.Want
		}
		r.checkActions(fmt.Sprintf("classify %q: actions of taking it back", e.Name), undone, after, r.object)
	}
	return nil
}

func (r *run) checkActions(what string, want []string, before, after []byte) {
	got := append([]string{}, r.adapter.Classify(before, after).Names()...)
	if !slices.Equal(want, got) {
		r.failf("%s are %v, want %v", what, got, want)
	}
}
