package adapters

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// testCase is case.yaml: what is asked of object.yaml, and what comes of it.
type testCase struct {
	// Ask is what a policy asks for.
	Ask ask `json:"ask"`
	// State is what the object is then.
	State string `json:"state"`
	// Ready is whether the object as it is has settled; absent: not judged.
	Ready *bool `json:"ready,omitempty"`
	// Impact of the write on running pods; absent: not judged.
	Impact v1alpha1.Impact `json:"impact,omitempty"`
	// Message is what is said of the object; absent: not judged.
	Message string `json:"message,omitempty"`
	// Created and Deleted list what the object's creation and deletion mean to a freeze; absent: not judged.
	Created *[]string `json:"created,omitempty"`
	Deleted *[]string `json:"deleted,omitempty"`
	// Classify lists edits of the object and what they mean to a freeze.
	Classify []edit `json:"classify,omitempty"`
}

// ask has the shape of asleepAs in a schedule, with sleep for its default.
type ask struct {
	Sleep       bool              `json:"sleep,omitempty"`
	Replicas    *int64            `json:"replicas,omitempty"`
	Percent     *int32            `json:"percent,omitempty"`
	Bounds      bounds            `json:"bounds,omitzero"`
	Hold        bool              `json:"hold,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
	// Requests are asked for by component and resource, in quantities.
	Requests map[string]map[workload.Resource]resource.Quantity `json:"requests,omitempty"`
	// Utilisation is asked for in percent, by resource, or by container and resource (web/cpu).
	Utilisation map[string]int64 `json:"utilisation,omitempty"`
}

type bounds struct {
	Min *int64 `json:"min,omitempty"`
	Max *int64 `json:"max,omitempty"`
}

type edit struct {
	Name string `json:"name"`
	// Mutate is a JSON merge patch, or a JSON patch if it is a list.
	Mutate json.RawMessage `json:"mutate"`
	// Want lists the actions, as freezes spell them.
	Want []string `json:"want"`
	// Undone lists the actions of taking the edit back; absent: the same.
	Undone []string `json:"undone,omitempty"`
}

// plan is what the engine makes of the ask, on behalf of one schedule.
func (a *ask) plan() workload.Plan {
	by := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	since := time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	size := func(s workload.Size) *workload.Claim[workload.Size] {
		return &workload.Claim[workload.Size]{Value: s, By: by, Since: since}
	}
	var p workload.Plan
	switch {
	case a.Sleep:
		p.Size = size(workload.Size{Mode: workload.SizeSleep})
	case a.Replicas != nil:
		p.Size = size(workload.Size{Mode: workload.SizeAtMost, Replicas: *a.Replicas})
	case a.Percent != nil:
		p.Size = size(workload.Size{Mode: workload.SizePercent, Percent: *a.Percent})
	}
	if a.Bounds.Min != nil {
		p.Min = &workload.Claim[int64]{Value: *a.Bounds.Min, By: by, Since: since}
	}
	if a.Bounds.Max != nil {
		p.Max = &workload.Claim[int64]{Value: *a.Bounds.Max, By: by, Since: since}
	}
	if a.Hold {
		p.Hold = &workload.Claim[bool]{Value: true, By: by, Since: since}
	}
	p.Amounts = a.amounts(by, since)
	for key, value := range a.Annotations {
		if p.Annotations == nil {
			p.Annotations = map[string]workload.Claim[string]{}
		}
		p.Annotations[key] = workload.Claim[string]{Value: value, By: by, Since: since}
	}
	return p
}

// amounts are the requests and utilisations asked for.
func (a *ask) amounts(by workload.Policy, since time.Time) map[workload.Amount]workload.Claim[int64] {
	all := map[workload.Amount]workload.Claim[int64]{}
	for component, requests := range a.Requests {
		for name, q := range requests {
			n := q.Value()
			if name == workload.CPU {
				n = q.MilliValue()
			}
			key := workload.Amount{Kind: workload.AmountRequest, Component: component, Resource: name}
			all[key] = workload.Claim[int64]{Value: n, By: by, Since: since}
		}
	}
	for name, percent := range a.Utilisation {
		key := workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.Resource(name)}
		if container, of, found := strings.Cut(name, "/"); found {
			key.Component, key.Resource = container, workload.Resource(of)
		}
		all[key] = workload.Claim[int64]{Value: percent, By: by, Since: since}
	}
	return all
}

// run is one case while it is tested.
type run struct {
	testCase
	dir     string
	adapter *adapter.Adapter
	object  []byte // JSON
	covered map[v1alpha1.Capability]bool
}

func (r *run) compile(t *testing.T, spec *v1alpha1.Adapter) {
	t.Helper()
	var keys adapter.Keys
	for key := range r.Ask.Annotations {
		keys.Set = append(keys.Set, key)
	}
	keys.Amounts = len(r.Ask.Requests)+len(r.Ask.Utilisation) > 0
	a, errs := adapter.Compile(spec.Name, spec.Spec, keys)
	if len(errs) > 0 {
		t.Fatalf("compile: %v", errs.ToAggregate())
	}
	r.adapter = a
	text, err := os.ReadFile(filepath.Join(r.dir, "object.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if r.object, err = yaml.YAMLToJSONStrict(text); err != nil {
		t.Fatalf("decode object.yaml: %v", err)
	}
}

// test puts the object to sleep and wakes it again.
func (r *run) test(t *testing.T) {
	plan := r.Ask.plan()
	r.golden(t, "projection.yaml", asYAML(t, r.projection(t)))
	r.checkPods(t)

	down := r.render(t, r.object, plan)
	r.cover(plan, down)
	if got := down.State.String(); got != r.State {
		t.Errorf("state is %s, want %s (%s)", got, r.State, down.Message)
	}
	if r.Impact != "" && down.Impact != r.Impact {
		t.Errorf("impact is %s, want %s", down.Impact, r.Impact)
	}
	if r.Message != "" && down.Message != r.Message {
		t.Errorf("message is %q, want %q", down.Message, r.Message)
	}
	r.golden(t, "sleep-patch.json", patchText(t, down.Patch))
	asleep := apply(t, r.object, down.Patch)
	if again := r.render(t, asleep, plan); again.Patch != nil || again.State != down.State {
		t.Errorf("the same plan again is %s and writes %s", again.State, patchText(t, again.Patch))
	}

	up := r.render(t, asleep, workload.Plan{})
	r.golden(t, "wake-patch.json", patchText(t, up.Patch))
	restored := apply(t, asleep, up.Patch)
	if down.Patch == nil {
		r.golden(t, "asleep.yaml", nil)
		r.golden(t, "restored.yaml", nil)
	} else {
		r.golden(t, "asleep.yaml", reformat(t, asleep))
		r.golden(t, "restored.yaml", reformat(t, restored))
	}
	if diff := cmp.Diff(string(reformat(t, r.object)), string(reformat(t, restored))); diff != "" {
		t.Errorf("object (-) and restored object (+) differ:\n%s", diff)
	}
	r.testClassify(t)
}

func (r *run) render(t *testing.T, raw []byte, plan workload.Plan) adapter.Result {
	t.Helper()
	obj, err := r.adapter.Project(raw)
	if err != nil {
		t.Fatal(err)
	}
	result, err := r.adapter.Render(obj, plan)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// projection is what is kept of an object and what policies see of it.
type projection struct {
	Observed observed `json:"observed"`
	// Governs is the object whose replicas this one owns.
	Governs    string `json:"governs,omitempty"`
	Generation int64  `json:"generation,omitempty"`
	// Fields are the JSON texts kept, sorted by path; empty for what the object does not have.
	Fields   []string  `json:"fields"`
	Elements []element `json:"elements,omitempty"`
}

type observed struct {
	Components []component      `json:"components,omitempty"`
	Bounds     *workload.Bounds `json:"bounds,omitempty"`
	// Requests and limits are by component, in thousandths of a core and bytes; utilisations in percent, by resource or container.
	Requests    map[string]amounts `json:"requests,omitempty"`
	Limits      map[string]amounts `json:"limits,omitempty"`
	Utilisation map[string]int64   `json:"utilisation,omitempty"`

	CanSuspend bool `json:"canSuspend"`
	CanHold    bool `json:"canHold"`
	Suspended  bool `json:"suspended"`
	Ready      bool `json:"ready"`
}

type amounts struct {
	MilliCPU    int64 `json:"milliCPU,omitempty"`
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
}

// addAmounts adds what components request, and the targets of an autoscaler.
func (o *observed) addAmounts(from workload.Observed) {
	for _, a := range from.Allocations {
		if o.Requests == nil {
			o.Requests, o.Limits = map[string]amounts{}, map[string]amounts{}
		}
		o.Requests[a.Component] = amounts(a.Requests)
		if a.Limits != (workload.Requests{}) {
			o.Limits[a.Component] = amounts(a.Limits)
		}
	}
	for _, u := range from.Utilisation {
		if o.Utilisation == nil {
			o.Utilisation = map[string]int64{}
		}
		o.Utilisation[strings.TrimPrefix(u.Container+"/"+string(u.Resource), "/")] = u.Percent
	}
}

type component struct {
	Name     string `json:"name"`
	Replicas int64  `json:"replicas"`
	Minimum  int64  `json:"minimum"`
	Fixed    bool   `json:"fixed,omitempty"`
}

type element struct {
	Name    string `json:"name"`
	Pointer string `json:"pointer"`
	Count   string `json:"count"`
}

func (r *run) projection(t *testing.T) projection {
	t.Helper()
	obj, err := r.adapter.Project(r.object)
	if err != nil {
		t.Fatal(err)
	}
	o := r.adapter.Observe(obj)
	ready, why := r.adapter.Ready(r.object)
	if r.Ready != nil && ready != *r.Ready {
		t.Errorf("ready is %t, want %t (%s)", ready, *r.Ready, why)
	}
	p := projection{
		Observed:   observed{CanSuspend: o.CanSuspend, CanHold: o.CanHold, Suspended: o.Suspended, Ready: ready},
		Generation: obj.Generation,
	}
	for _, c := range o.Components {
		p.Observed.Components = append(p.Observed.Components, component(c))
	}
	p.Observed.addAmounts(o)
	if r.adapter.Can(v1alpha1.CapabilityBounds) {
		p.Observed.Bounds = &o.Bounds
	}
	if ref, ok := r.adapter.Governs(obj); ok {
		p.Governs = ref.String()
	}
	for _, f := range obj.Fields {
		p.Fields = append(p.Fields, f.Raw)
	}
	for _, e := range obj.Elements {
		p.Elements = append(p.Elements, element{e.Name, e.Pointer, e.Raw})
	}
	return p
}

func (r *run) testClassify(t *testing.T) {
	if r.Created != nil {
		r.checkActions(t, "actions of its creation", *r.Created, nil, r.object)
	}
	if r.Deleted != nil {
		r.checkActions(t, "actions of its deletion", *r.Deleted, r.object, nil)
	}
	for _, e := range r.Classify {
		t.Run(e.Name, func(t *testing.T) {
			after := mutate(t, r.object, e.Mutate)
			if bytes.Equal(reformat(t, r.object), reformat(t, after)) {
				t.Fatal("the edit changes nothing")
			}
			r.checkActions(t, "actions", e.Want, r.object, after)
			if e.Undone == nil {
				e.Undone = e.Want
			}
			r.checkActions(t, "actions of taking it back", e.Undone, after, r.object)
		})
	}
}

func (r *run) checkActions(t *testing.T, what string, want []string, before, after []byte) {
	t.Helper()
	got := append([]string{}, r.adapter.Classify(before, after).Names()...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s, wanted (-) and found (+):\n%s", what, diff)
	}
}

// mutate applies a merge patch, or a JSON patch if it is a list.
func mutate(t *testing.T, object, patch []byte) []byte {
	t.Helper()
	kind := types.MergePatchType
	if patch[0] == '[' {
		kind = types.JSONPatchType
	}
	return apply(t, object, &workload.Patch{Type: kind, Body: patch})
}

// apply does what an API server does with a patch, which includes that it drops empty maps of the metadata.
func apply(t *testing.T, object []byte, p *workload.Patch) []byte {
	t.Helper()
	if p == nil {
		return object
	}
	if p.Subresource != "" || p.Next != nil {
		t.Fatalf("a shipped adapter writes one patch, not to /%s: %s", p.Subresource, p.Body)
	}
	var after []byte
	var err error
	switch p.Type {
	case types.MergePatchType:
		after, err = jsonpatch.MergePatch(object, p.Body)
	case types.JSONPatchType:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(p.Body); err == nil {
			after, err = operations.Apply(object)
		}
	default:
		err = fmt.Errorf("unexpected patch type %s", p.Type)
	}
	if err != nil {
		t.Fatalf("apply %s: %v", p.Body, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(after, &tree); err != nil {
		t.Fatal(err)
	}
	if metadata, ok := tree["metadata"].(map[string]any); ok {
		for _, name := range []string{"annotations", "labels"} {
			if m, ok := metadata[name].(map[string]any); ok && len(m) == 0 {
				delete(metadata, name)
			}
		}
	}
	if after, err = json.Marshal(tree); err != nil {
		t.Fatal(err)
	}
	return after
}

// golden compares a text with a golden file; nil means that there is to be no such file.
func (r *run) golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join(r.dir, name)
	if *update {
		r.write(t, file, got)
		return
	}
	want, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) && got == nil {
		return
	}
	if err != nil || got == nil {
		t.Errorf("%s: file: %v; found:\n%s", name, err, got)
		return
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s, golden (-) and found (+):\n%s", name, diff)
	}
}

func (r *run) write(t *testing.T, file string, text []byte) {
	t.Helper()
	var err error
	if text == nil {
		err = os.Remove(file)
	} else {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}

func asYAML(t *testing.T, v any) []byte {
	t.Helper()
	text, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// reformat is JSON as YAML with sorted keys.
func reformat(t *testing.T, raw []byte) []byte {
	t.Helper()
	text, err := yaml.JSONToYAML(raw)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// patchText is a patch over several lines; nil for none.
func patchText(t *testing.T, p *workload.Patch) []byte {
	t.Helper()
	if p == nil {
		return nil
	}
	var text bytes.Buffer
	if err := json.Indent(&text, p.Body, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(text.Bytes(), '\n')
}
