package adapter

import (
	"strings"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

const (
	nothing = workload.Change(0)
	rollout = workload.ChangeRollOut
	scaled  = workload.ChangeScale
	both    = rollout | scaled
)

const classifiedYAML = `
target: {group: example.com, kind: Classified, versions: [v1]}
scale: [{name: main, replicas: .spec.replicas, default: 1}]
pods: {template: .spec.template}
changes:
  rollout: [.metadata.labels.version, .spec.limit.hard]
  scale: [".metadata.annotations['size']", .spec.limit, '.spec.pools[?(@.kind=="worker")].n', ".spec.args[1]"]
  ignore: [.spec.note, .operation, ".spec.pools[*].note", '.spec.pools[?(@.kind=="guest")].n', ".spec.template.metadata.annotations['kubectl.kubernetes.io/restartedAt']"]
`

func TestChangesAreClassifiedByPaths(t *testing.T) {
	const hibernation = `
target: {group: postgresql.cnpg.io, kind: Cluster, versions: [v1]}
suspend: [{set: [{path: ".metadata.annotations['cnpg.io/hibernation']", value: "on"}]}]
hold: [{set: [{path: ".metadata.labels.pause", value: "true"}]}]
`
	tests := []struct {
		name, adapter, before, after string
		want                         workload.Change
	}{
		{"created", deploymentYAML, ``, `{"spec":{}}`, workload.ChangeCreate},
		{"deleted", deploymentYAML, `{"spec":{}}`, ``, workload.ChangeDelete},
		{"nothing at all", deploymentYAML, ``, ``, nothing},
		{"the same", deploymentYAML, `{"spec":{"replicas":3}}`, `{"spec":{"replicas":3}}`, nothing},
		{"the same in another order and spelling", deploymentYAML, `{"a":{"x":[1]},"spec":{"replicas":3,"template":{"a":1,"b":{"c":"é"}}}}`,
			`{"spec": {"template":{"b":{"c":"\u00e9"},"a":1.0}, "replicas":3e0},"a":{"x":[ 1 ]}}`, nothing},
		{"replicas", deploymentYAML, `{"spec":{"replicas":3}}`, `{"spec":{"replicas":4}}`, scaled},
		{"replicas from nothing", deploymentYAML, `{"spec":{}}`, `{"spec":{"replicas":4}}`, scaled},
		{"replicas to nothing", deploymentYAML, `{"spec":{"replicas":4}}`, `{"spec":{}}`, scaled},
		{"replicas to the default", deploymentYAML, `{"spec":{}}`, `{"spec":{"replicas":1}}`, nothing},
		{"replicas to null", deploymentYAML, `{"spec":{"replicas":1}}`, `{"spec":{"replicas":null}}`, nothing},
		{"template", deploymentYAML, `{"spec":{"template":{"a":1}}}`, `{"spec":{"template":{"a":2}}}`, rollout},
		{"template and replicas", deploymentYAML, `{"spec":{"replicas":1,"template":{"a":1}}}`, `{"spec":{"replicas":2,"template":{"a":2}}}`,
			both},
		{"hold", deploymentYAML, `{"spec":{}}`, `{"spec":{"paused":true}}`, rollout},
		{"any other field of the spec", deploymentYAML, `{"spec":{"minReadySeconds":1}}`, `{"spec":{"minReadySeconds":2}}`, rollout},
		{"the spec comes", deploymentYAML, `{}`, `{"spec":{"replicas":2,"template":{}}}`, both},
		{"the spec goes", deploymentYAML, `{"spec":{"replicas":2}}`, `{}`, scaled},
		{"the spec comes empty", deploymentYAML, `{}`, `{"spec":{}}`, rollout},
		{"the spec becomes something else", deploymentYAML, `{"spec":{"replicas":2}}`, `{"spec":[]}`, both},
		{"metadata", deploymentYAML, `{"metadata":{"labels":{"a":"b"},"finalizers":["x"]}}`, `{"metadata":{"labels":{"a":"c"}}}`, nothing},
		{"managed fields", deploymentYAML, `{"metadata":{"managedFields":[1]},"spec":{}}`, `{"metadata":{"managedFields":[2]},"spec":{}}`,
			nothing},
		{"status", deploymentYAML, `{"status":{"a":1}}`, `{"status":{"a":2}}`, nothing},
		{"identity", deploymentYAML, `{"apiVersion":"v1","kind":"A"}`, `{"apiVersion":"v2","kind":"B"}`, nothing},
		{"state outside the spec", cronJobYAML, `{"data":{"a":1}}`, `{"data":{"a":2}}`, rollout},
		{"suspend", cronJobYAML, `{"spec":{"suspend":false}}`, `{"spec":{"suspend":true}}`, scaled},
		{"suspend in an annotation", hibernation, `{"metadata":{"annotations":{"a":"b"}}}`,
			`{"metadata":{"annotations":{"cnpg.io/hibernation":"on"}}}`, scaled},
		{"the first annotation", hibernation, `{"metadata":{}}`, `{"metadata":{"annotations":{"cnpg.io/hibernation":"on"}}}`, scaled},
		{"hold in a label", hibernation, `{"metadata":{"labels":{"pause":"true"}}}`, `{"metadata":{"labels":{"a":"b"}}}`, rollout},
		{"another annotation", hibernation, `{"metadata":{}}`, `{"metadata":{"annotations":{"a":"b"}}}`, nothing},
		{"a bound inside the template", knativeYAML,
			`{"spec":{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"1"}}}}}`,
			`{"spec":{"template":{"metadata":{"annotations":{"autoscaling.knative.dev/min-scale":"2"}}}}}`, scaled},
		{"a bound to its default", knativeYAML, `{"spec":{"template":{"metadata":{"annotations":{"x":"y"}}}}}`,
			`{"spec":{"template":{"metadata":{"annotations":{"x":"y","autoscaling.knative.dev/min-scale":"0"}}}}}`, nothing},
		{"beside a bound", knativeYAML, `{"spec":{"template":{"metadata":{"annotations":{"x":"1"}}}}}`,
			`{"spec":{"template":{"metadata":{"annotations":{"x":"2"}}}}}`, rollout},
		{"a count in a list", elasticYAML, `{"spec":{"nodeSets":[{"name":"a","count":1}]}}`, `{"spec":{"nodeSets":[{"name":"a","count":2}]}}`,
			scaled},
		{"beside a count in a list", elasticYAML, `{"spec":{"nodeSets":[{"name":"a","count":1}]}}`,
			`{"spec":{"nodeSets":[{"name":"b","count":1}]}}`, rollout},
		{"an element more", elasticYAML, `{"spec":{"nodeSets":[{"name":"a","count":1}]}}`,
			`{"spec":{"nodeSets":[{"name":"a","count":1},{"name":"b","count":3}]}}`, both},
		{"an element less", elasticYAML, `{"spec":{"nodeSets":[{"name":"a"},{"name":"b"}]}}`, `{"spec":{"nodeSets":[{"name":"a"}]}}`, rollout},
		{"the list comes", elasticYAML, `{"spec":{}}`, `{"spec":{"nodeSets":[{"name":"b","count":3}]}}`, both},
		{"the list becomes something else", elasticYAML, `{"spec":{"nodeSets":[{"count":3}]}}`, `{"spec":{"nodeSets":"x"}}`, both},
		{"override: a label is a roll-out", classifiedYAML, `{"metadata":{"labels":{"version":"1"}}}`, `{"metadata":{"labels":{"version":"2"}}}`,
			rollout},
		{"override: an annotation is a scale", classifiedYAML, `{"metadata":{}}`, `{"metadata":{"annotations":{"size":"2"}}}`, scaled},
		{"override: the more specific wins", classifiedYAML, `{"spec":{"limit":{"soft":1,"hard":1}}}`, `{"spec":{"limit":{"soft":1,"hard":2}}}`,
			rollout},
		{"override: the rest of it", classifiedYAML, `{"spec":{"limit":{"soft":1,"hard":1}}}`, `{"spec":{"limit":{"soft":2,"hard":1}}}`, scaled},
		{"override: ignored", classifiedYAML, `{"spec":{"note":1},"operation":{}}`, `{"spec":{"note":2},"operation":{"x":1}}`, nothing},
		{"override: a restart is ignored, the rest of the template is not", classifiedYAML, `{"spec":{"template":{"metadata":{},"spec":1}}}`,
			`{"spec":{"template":{"metadata":{"annotations":{"kubectl.kubernetes.io/restartedAt":"now"}},"spec":1}}}`, nothing},
		{"override: a filter selects", classifiedYAML, `{"spec":{"pools":[{"kind":"worker","n":1}]}}`,
			`{"spec":{"pools":[{"kind":"worker","n":2}]}}`, scaled},
		{"override: another filter selects", classifiedYAML, `{"spec":{"pools":[{"kind":"guest","n":1}]}}`,
			`{"spec":{"pools":[{"kind":"guest","n":2}]}}`, nothing},
		{"override: a filter does not select", classifiedYAML, `{"spec":{"pools":[{"kind":"head","n":1}]}}`,
			`{"spec":{"pools":[{"kind":"head","n":2}]}}`, rollout},
		{"override: all elements", classifiedYAML, `{"spec":{"pools":[{"kind":"head","note":1}]}}`,
			`{"spec":{"pools":[{"kind":"head","note":2}]}}`, nothing},
		{"override: one element by place", classifiedYAML, `{"spec":{"args":["a","b"]}}`, `{"spec":{"args":["a","c"]}}`, scaled},
		{"override: another element", classifiedYAML, `{"spec":{"args":["a","b"]}}`, `{"spec":{"args":["x","b"]}}`, rollout},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := mustCompile(t, test.adapter, Keys{})
			before, after := []byte(test.before), []byte(test.after)
			if got := a.Classify(before, after); got != test.want {
				t.Errorf("want %04b, got %04b", test.want, got)
			}
			if back := a.Classify(after, before); len(before) > 0 && len(after) > 0 && back != test.want {
				t.Errorf("the other way round: want %04b, got %04b", test.want, back)
			}
		})
	}
}

// TestClassifyRender judges Flyball's own patches: sleeping is a scale, never a roll-out.
func TestClassifyRender(t *testing.T) {
	for _, text := range []string{deploymentYAML, cronJobYAML, vmYAML, elasticYAML, nestedYAML} {
		a := mustCompile(t, text, Keys{})
		s := newServer(object(`{"mode":"switch","replicas":3,"runStrategy":"Always","nodeSets":[{"name":"a","count":3}]}`))
		before := s.doc
		s.settle(t, a, sleep())
		if got := a.Classify(before, s.doc); got != scaled {
			t.Errorf("%s: want a scale, got %04b", strings.Fields(text)[4], got)
		}
		asleep := s.doc
		s.settle(t, a, workload.Plan{})
		if got := a.Classify(asleep, s.doc); got != scaled {
			t.Errorf("%s: waking: want a scale, got %04b", strings.Fields(text)[4], got)
		}
	}
}

func TestEditOfALedgerCountsAsRollOutAndScale(t *testing.T) {
	with := func(ledger string) []byte {
		return []byte(`{"metadata":{"annotations":{"flyball.dev/ledger":` + ledger + `,"a":"flyball.dev/ledger"}}}`)
	}
	none := []byte(`{"metadata":{"annotations":{"a":"flyball.dev/ledger"}}}`)
	all := workload.ChangeRollOut | workload.ChangeScale
	for _, test := range []struct {
		name          string
		before, after []byte
		want          workload.Change
	}{
		{"no ledger", none, none, 0},
		{"the same ledger", with(`"{}"`), with(`"{\u007d"`), 0},
		{"a ledger that comes", none, with(`"{}"`), all},
		{"a ledger that changes", with(`"{}"`), with(`"{ }"`), all},
		{"a ledger that goes", with(`"{}"`), none, 0},
		{"no annotations", with(`"{}"`), []byte(`{"metadata":{}}`), 0},
	} {
		if got := LedgerEditMeans(test.before, test.after); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
