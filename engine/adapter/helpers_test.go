package adapter

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
)

// The kinds of the tests, one for each way to keep a count, a switch or a bound.
const (
	deploymentYAML = `
target: {group: apps, kind: Deployment, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas, default: 1}]
hold: [{set: [{path: .spec.paused, value: true}]}]
pods: {selector: .spec.selector, template: .spec.template, deletionCost: true}
ready:
- {path: .status.observedGeneration, op: Ge, valueFrom: .metadata.generation}
- {path: .status.availableReplicas, default: 0, op: Ge, valueFrom: .spec.replicas}
`
	scaledYAML = `
target: {group: example.com, kind: Scaled, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas, default: 1, via: Scale}]
hold: [{set: [{path: .spec.paused, value: true}]}]
`
	cronJobYAML = `
target: {group: batch, kind: CronJob, versions: [v1]}
suspend: [{set: [{path: .spec.suspend, value: true}]}]
`
	vmYAML = `
target: {group: kubevirt.io, kind: VirtualMachine, versions: [v1]}
suspend:
- when: [{path: .spec.running, op: Exists}]
  set: [{path: .spec.running, value: false}]
- set: [{path: .spec.runStrategy, value: Halted}]
  impact: Rollout
`
	elasticYAML = `
target: {group: elasticsearch.k8s.elastic.co, kind: Elasticsearch, versions: [v1]}
scale:
- {each: ".spec.nodeSets[*]", nameFrom: .name, replicas: .count, default: 1, minimum: 1}
hold: [{set: [{path: ".metadata.annotations['eck.k8s.elastic.co/pause-orchestration']", value: "true"}]}]
`
	hpaYAML = `
target: {group: autoscaling, kind: HorizontalPodAutoscaler, versions: [v2]}
bounds:
  min: {path: .spec.minReplicas, default: 1, minimum: 1}
  max: {path: .spec.maxReplicas, minimum: 1}
governs: .spec.scaleTargetRef
`
	knativeYAML = `
target: {group: serving.knative.dev, kind: Service, versions: [v1]}
bounds:
  min: {path: ".spec.template.metadata.annotations['autoscaling.knative.dev/min-scale']", default: 0}
  max: {path: ".spec.template.metadata.annotations['autoscaling.knative.dev/max-scale']", unlimited: 0}
  encoding: String
pods: {template: .spec.template}
`
	applicationYAML = `
target: {group: argoproj.io, kind: Application, versions: [v1alpha1]}
suspend: [{set: [{path: .spec.syncPolicy.automated, value: null}]}]
`
	allocatedYAML = `
target: {group: example.com, kind: Database, versions: [v1]}
resources:
- name: db
  requests: {cpu: {path: .spec.resources.requests.cpu, default: 0}, memory: {path: .spec.resources.requests.memory, default: 0}}
  limits: {cpu: {path: .spec.resources.limits.cpu}, memory: {path: .spec.resources.limits.memory}}
utilisation: [{resource: cpu, percent: .spec.target.cpu, encoding: String}]
`
	allocatedListsYAML = `
target: {group: example.com, kind: Pool, versions: [v1]}
resources:
- {each: ".spec.nodeSets[*]", nameFrom: .name, requests: {memory: {path: .count, default: 0}}}
`
	nestedYAML = `
target: {group: example.com, kind: Nested, versions: [v1]}
scale: [{name: main, replicas: .spec.pool.size.count, default: 2}]
suspend:
- when: [{path: .spec.mode, op: Eq, value: switch}]
  set: [{path: .spec.power.main.on, value: false}, {path: .spec.power.main.reason, value: asleep}]
hold: [{set: [{path: .spec.power.lock, value: [flyball]}]}]
bounds: {min: {path: .spec.pool.min}, max: {path: .spec.pool.max}}
annotate: {path: .spec.pool.notes}
`
)

var (
	monday = time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)
	nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	peaks  = workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "peaks"}
)

// The amounts of the kinds Database and Pool.
var (
	dbCPU       = workload.Amount{Kind: workload.AmountRequest, Component: "db", Resource: workload.CPU}
	dbMemory    = workload.Amount{Kind: workload.AmountRequest, Component: "db", Resource: workload.Memory}
	cpuTarget   = workload.Amount{Kind: workload.AmountUtilisation, Resource: workload.CPU}
	listAmounts = []workload.Amount{
		{Kind: workload.AmountRequest, Component: "set-1", Resource: workload.Memory},
		{Kind: workload.AmountRequest, Component: "set-2", Resource: workload.Memory},
		{Kind: workload.AmountRequest, Component: "set-3", Resource: workload.Memory},
		{Kind: workload.AmountRequest, Component: "[0]", Resource: workload.Memory},
	}
)

func specOf(t testing.TB, text string) v1alpha1.AdapterSpec {
	t.Helper()
	var spec v1alpha1.AdapterSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

func mustCompile(t testing.TB, text string, keys Keys) *Adapter {
	t.Helper()
	a, errs := Compile("tests", specOf(t, text), keys)
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return a
}

func projected(t testing.TB, a *Adapter, raw []byte) *workload.Object {
	t.Helper()
	obj, err := a.Project(raw)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func rendered(t testing.TB, a *Adapter, raw []byte, plan workload.Plan) Result {
	t.Helper()
	r, err := a.Render(projected(t, a, raw), plan)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// object returns a JSON object with a name, a namespace and a spec. annotations are keys, each followed by its value.
func object(spec string, annotations ...string) []byte {
	notes := map[string]string{}
	for i := 0; i < len(annotations); i += 2 {
		notes[annotations[i]] = annotations[i+1]
	}
	metadata := map[string]any{"name": "web", "namespace": "shop", "resourceVersion": "7"}
	if len(notes) > 0 {
		metadata["annotations"] = notes
	}
	doc, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "X", "metadata": metadata, "spec": json.RawMessage(spec)})
	if err != nil {
		panic(err)
	}
	return doc
}

// withLedger returns an object with a ledger.
func withLedger(t testing.TB, spec string, entries ...workload.Entry) []byte {
	t.Helper()
	text, err := workload.Ledger(entries).Encode(workload.Origin{})
	if err != nil {
		t.Fatal(err)
	}
	return object(spec, v1alpha1.AnnotationLedger, text)
}

func size(mode workload.SizeMode, n int64) workload.Plan {
	return workload.Plan{Size: &workload.Claim[workload.Size]{
		Value: workload.Size{Mode: mode, Replicas: n, Percent: int32(n)}, By: nights, Since: monday,
	}}
}

func sleep() workload.Plan { return size(workload.SizeSleep, 0) }

func enforced(p workload.Plan) workload.Plan {
	p.Size.Enforce = true
	return p
}

func at(p workload.Plan, since time.Time) workload.Plan {
	p.Size.Since = since
	return p
}

func number(n int64) *workload.Claim[int64] {
	return &workload.Claim[int64]{Value: n, By: peaks, Since: monday}
}

// server is a small API server for patches: it checks preconditions and drops empty metadata maps.
type server struct {
	doc     []byte
	version int
	// scalePath is the pointer of the count behind /scale.
	scalePath string
	writes    int
	// tracked has the author of each field, by manager and pointer; nil: the server keeps no managed fields.
	tracked map[string]map[string]bool
	// defaults are the members that the schema puts into an object, by its pointer, as a merge patch.
	defaults map[string]string
}

func newServer(doc []byte) *server {
	s := &server{doc: doc, version: 7, scalePath: "/spec/replicas"}
	s.stamp()
	return s
}

// apply carries out one patch, without its Next.
func (s *server) apply(p *workload.Patch) error {
	var next []byte
	var err error
	switch {
	case p.Subresource == "scale":
		next, err = s.applyScale(p)
	case p.Type == types.MergePatchType:
		if err = s.checkVersion(p.Body, true); err == nil {
			next, err = jsonpatch.MergePatch(s.doc, p.Body)
		}
	default:
		var patch jsonpatch.Patch
		if patch, err = jsonpatch.DecodePatch(p.Body); err == nil {
			next, err = patch.Apply(s.doc)
		}
	}
	if err != nil {
		return fmt.Errorf("apply %s: %w", p.Body, err)
	}
	if path.Equal(next, s.doc) {
		return nil
	}
	before := s.doc
	s.doc = next
	s.writes++
	s.written(workload.FieldManager, before)
	return nil
}

func (s *server) applyScale(p *workload.Patch) ([]byte, error) {
	if err := s.checkVersion(p.Body, false); err != nil {
		return nil, err
	}
	var scale struct{ Spec struct{ Replicas int64 } }
	if err := json.Unmarshal(p.Body, &scale); err != nil {
		return nil, err
	}
	patch := edited(s.scalePath, strconv.FormatInt(scale.Spec.Replicas, 10))
	return jsonpatch.MergePatch(s.doc, patch)
}

func (s *server) checkVersion(body []byte, required bool) error {
	var p struct {
		Metadata struct{ ResourceVersion string }
	}
	if err := json.Unmarshal(body, &p); err != nil {
		return err
	}
	if v := p.Metadata.ResourceVersion; v != strconv.Itoa(s.version) && (required || v != "") {
		return fmt.Errorf("conflict: resourceVersion %q is not %d", v, s.version)
	}
	return nil
}

func (s *server) stamp() {
	s.version++
	var doc map[string]any
	if err := json.Unmarshal(s.doc, &doc); err != nil {
		panic(err)
	}
	metadata := doc["metadata"].(map[string]any)
	metadata["resourceVersion"] = strconv.Itoa(s.version)
	if s.tracked != nil {
		metadata["managedFields"] = s.managedFields()
	}
	for _, name := range []string{"annotations", "labels"} {
		if m, ok := metadata[name].(map[string]any); ok && len(m) == 0 {
			delete(metadata, name)
		}
	}
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err)
	}
	s.doc = text
}

// edited returns a merge patch that sets one field, or removes it if the value is empty.
func edited(pointer, value string) []byte {
	if value == "" {
		value = "null"
	}
	text := value
	for _, token := range slices.Backward(path.Pointer(pointer).Tokens()) {
		text = "{" + path.Quote(token) + ":" + text + "}"
	}
	return []byte(text)
}

// set makes a change as a foreign writer: it replaces the field at the pointer, or removes it if the value is empty.
func (s *server) set(pointer, value string) {
	var doc any
	if err := json.Unmarshal(s.doc, &doc); err != nil {
		panic(err)
	}
	text, err := json.Marshal(withValue(doc, path.Pointer(pointer).Tokens(), value))
	if err != nil {
		panic(err)
	}
	before := s.doc
	s.doc = text
	s.written("owner", before)
}

func withValue(in any, tokens []string, value string) any {
	if len(tokens) == 0 {
		return json.RawMessage(value)
	}
	if list, ok := in.([]any); ok {
		if i, err := strconv.Atoi(tokens[0]); err == nil && i < len(list) {
			list[i] = withValue(list[i], tokens[1:], value)
		}
		return list
	}
	object, ok := in.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if len(tokens) == 1 && value == "" {
		delete(object, tokens[0])
		return object
	}
	object[tokens[0]] = withValue(object[tokens[0]], tokens[1:], value)
	return object
}

// spec is the object's spec.
func (s *server) spec() string {
	v, err := path.MustParse(".spec").Get(s.doc)
	if err != nil {
		panic(err)
	}
	return v.Raw()
}

// value returns the JSON text at a pointer; empty if there is no value.
func (s *server) value(pointer string) string {
	found, err := path.Probe(s.doc, path.Pointer(pointer))
	if err != nil {
		panic(err)
	}
	return found.Value.Raw()
}

// settle renders and applies until nothing is left to write, and returns the first result.
func (s *server) settle(t testing.TB, a *Adapter, plan workload.Plan) Result {
	t.Helper()
	first := rendered(t, a, s.doc, plan)
	for r, rounds := first, 0; r.Patch != nil; rounds++ {
		if rounds == 5 {
			t.Fatalf("still writing after %d rounds: %s", rounds, r.Patch.Body)
		}
		for p := r.Patch; p != nil; p = p.Next {
			if err := s.apply(p); err != nil {
				t.Fatal(err)
			}
		}
		r = rendered(t, a, s.doc, plan)
	}
	return first
}

// ledger returns the object's ledger.
func (s *server) ledger(t testing.TB, a *Adapter) workload.Ledger {
	t.Helper()
	return projected(t, a, s.doc).Ledger
}

func sprintf(format string, args ...any) string { return fmt.Sprintf(format, args...) }
