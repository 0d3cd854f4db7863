package freeze_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

var (
	deployments = schema.GroupKind{Group: "apps", Kind: "Deployment"}
	nodePools   = schema.GroupKind{Group: "karpenter.sh", Kind: "NodePool"}
)

var testContext = freeze.Context{Scope: selector.Scope{
	Protected:     sets.New("kube-system", "flyball-system"),
	ClusterScoped: func(gk schema.GroupKind) bool { return gk == nodePools },
}}

// parse reads an object of one of the six kinds; the default namespace is shop.
func parse(t testing.TB, text string) any {
	t.Helper()
	var head metav1.PartialObjectMetadata
	if err := yaml.Unmarshal([]byte(text), &head); err != nil {
		t.Fatal(err)
	}
	objects := map[string]any{
		freeze.Kind: &v1alpha1.ChangeFreeze{}, freeze.ClusterKind: &v1alpha1.ClusterChangeFreeze{},
		freeze.WindowKind: &v1alpha1.MaintenanceWindow{}, freeze.ClusterWindowKind: &v1alpha1.ClusterMaintenanceWindow{},
		freeze.ExceptionKind: &v1alpha1.FreezeException{}, freeze.ClusterExceptionKind: &v1alpha1.ClusterFreezeException{},
	}
	obj, ok := objects[head.Kind]
	if !ok {
		t.Fatalf("no such kind: %q", head.Kind)
	}
	if err := yaml.UnmarshalStrict([]byte(text), obj); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return obj
}

// set compiles objects into a Set.
func set(t testing.TB, texts ...string) *freeze.Set {
	t.Helper()
	s := &freeze.Set{}
	for _, text := range texts {
		rule, exception, errs := freeze.CompileObject(parse(t, text), testContext)
		if len(errs) > 0 {
			t.Fatalf("%v in\n%s", errs, text)
		}
		if rule != nil {
			s = s.With(rule)
		}
		if exception != nil {
			s = s.WithExceptions(exception)
		}
	}
	return s
}

func at(text string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		panic(err)
	}
	return t
}

// change returns a request about the Deployment shop/web with the label tier=front. Its instant is noon of the first day
// of the year-end freeze.
func change(actions workload.Change, edit ...func(*freeze.UserChange)) freeze.UserChange {
	facts := labelled("tier", "front")
	req := freeze.UserChange{
		Actions: actions, Kind: deployments, Namespace: "shop", Name: "web",
		NamespaceLabels: []workload.Pairs{pairs("env", "prod")},
		Old:             facts, New: facts, User: "alice", Groups: []string{"developers"}, Now: at("2026-12-20T12:00:00Z"),
	}
	for _, e := range edit {
		e(&req)
	}
	return req
}

func labelled(labels ...string) *freeze.Facts { return &freeze.Facts{Labels: pairs(labels...)} }

func pairs(keysAndValues ...string) workload.Pairs {
	m := map[string]string{}
	for i := 0; i+1 < len(keysAndValues); i += 2 {
		m[keysAndValues[i]] = keysAndValues[i+1]
	}
	return workload.NewPairs(m)
}

const yearEnd = `
kind: ClusterChangeFreeze
metadata: {name: year-end}
spec:
  target: {namespaceSelector: {matchLabels: {env: prod}}, exclude: {matchLabels: {flyball.dev/exclude: "true"}}}
  startTime: 2026-12-20T00:00:00Z
  endTime: 2027-01-03T00:00:00Z
  timeZone: Europe/Berlin
  deny: [Create, Delete, RollOut, Scale]
  enforcement: Deny
  message: {reason: year-end freeze, contact: "#release", docsURL: "https://wiki/freeze"}
`

const weekly = `
kind: MaintenanceWindow
metadata: {name: weekly, namespace: shop}
spec:
  target: {kinds: [{group: apps, kind: Deployment}]}
  timeZone: Europe/Berlin
  windows: [{name: tuesday, days: [Tue], from: "10:00", to: "12:00"}]
  deny: [RollOut]
`

const fix = `
kind: ClusterFreezeException
metadata: {name: fix}
spec:
  target: {namespaces: [shop]}
  activeFrom: 2026-12-20T10:00:00Z
  activeTo: 2026-12-20T14:00:00Z
  allow: [RollOut]
  policies: [year-end]
  constraints: {requireLabels: {tier: front}, allowedUsers: [alice, bob], allowedGroups: [oncall, developers]}
  reason: CVE fix
`
