package freeze_test

import (
	"encoding/json"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/workload"
)

// shipped compiles an adapter of the library.
func shipped(t testing.TB, name string) *adapter.Adapter {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if a.Name == name {
			compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
			if len(errs) > 0 {
				t.Fatal(errs)
			}
			return compiled
		}
	}
	t.Fatalf("no adapter %s in the library", name)
	return nil
}

func toJSON(t testing.TB, text string) []byte {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

const (
	webYAML = `
apiVersion: apps/v1
kind: Deployment
metadata:
  name: web
  generation: 4
  resourceVersion: "17"
  labels: {tier: front}
  annotations: {deployment.kubernetes.io/revision: "4"}
  finalizers: [example.com/hold]
  managedFields: [{manager: kubectl, operation: Apply, time: "2026-12-01T00:00:00Z"}]
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:1"}]}}
status: {observedGeneration: 4, replicas: 3, availableReplicas: 3}
`
	dbYAML = `
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  replicas: 3
  updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 0}}
  template: {spec: {containers: [{name: db, image: "db:1"}]}}
`
	hpaYAML = `{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}}`
	jobYAML = `{apiVersion: batch/v1, kind: Job, metadata: {name: once, generateName: once-}, spec: {parallelism: 2, template: {spec: {containers: [{name: a, image: a}]}}}}`
	mailing = `{apiVersion: batch/v1, kind: CronJob, metadata: {name: mail, resourceVersion: "1", annotations: {team: a}}, spec: {schedule: "0 * * * *", suspend: false, jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: a}]}}}}}}`
	nodeDS  = `{apiVersion: apps/v1, kind: DaemonSet, metadata: {name: agent}, spec: {template: {spec: {containers: [{name: a, image: a}]}}}}`
	canary  = `{apiVersion: argoproj.io/v1alpha1, kind: Rollout, metadata: {name: web}, spec: {replicas: 3, template: {spec: {containers: [{name: a, image: a}]}}}}`
	pg      = `{apiVersion: postgresql.cnpg.io/v1, kind: Cluster, metadata: {name: pg}, spec: {instances: 3, imageName: "pg:16"}}`
	elastic = `{apiVersion: elasticsearch.k8s.elastic.co/v1, kind: Elasticsearch, metadata: {name: es}, spec: {version: 9.0.0, nodeSets: [{name: data, count: 3}, {name: master, count: 3}]}}`
)

// The cases are usual kubectl commands; the expected values are the sets of actions that a freeze judges.
func TestClassifyKubectlCommands(t *testing.T) {
	const nothing = workload.Change(0)
	tests := []struct {
		reason, adapter, object string
		// edit is a JSON merge patch of the object.
		edit string
		want workload.Change
	}{
		{"kubectl set image", "deployments.apps", webYAML, `{spec: {template: {spec: {containers: [{name: web, image: "web:2"}]}}}}`, rollOut},
		{"kubectl rollout undo", "deployments.apps", webYAML,
			`{spec: {template: {spec: {containers: [{name: web, image: "web:0"}]}}}, metadata: {annotations: {deployment.kubernetes.io/revision: "5"}}}`, rollOut},
		{"kubectl rollout restart", "deployments.apps", webYAML,
			`{spec: {template: {metadata: {annotations: {kubectl.kubernetes.io/restartedAt: now}}}}}`, rollOut},
		{"kubectl rollout pause", "deployments.apps", webYAML, `{spec: {paused: true}}`, rollOut},
		{"kubectl edit of template and count", "deployments.apps", webYAML,
			`{spec: {replicas: 5, template: {spec: {containers: [{name: web, image: "web:2"}]}}}}`, rollOut | scale},
		{"kubectl scale of the object itself", "deployments.apps", webYAML, `{spec: {replicas: 5}}`, scale},
		{"a template edit that changes nothing, with a count", "deployments.apps", webYAML,
			`{spec: {replicas: 5, template: {metadata: {labels: {app: web}}}}}`, scale},
		{"the strategy", "deployments.apps", webYAML, `{spec: {strategy: {type: Recreate}}}`, rollOut},
		{"kubectl label", "deployments.apps", webYAML, `{metadata: {labels: {tier: back}}}`, nothing},
		{"kubectl annotate", "deployments.apps", webYAML, `{metadata: {annotations: {note: x}}}`, nothing},
		{"a finalizer goes", "deployments.apps", webYAML, `{metadata: {finalizers: null, deletionTimestamp: "2026-12-20T00:00:00Z"}}`, nothing},
		{"an owner comes", "deployments.apps", webYAML, `{metadata: {ownerReferences: [{apiVersion: v1, kind: App, name: a, uid: u}]}}`, remove},
		{"server-side apply of the same", "deployments.apps", webYAML,
			`{metadata: {managedFields: [{manager: ci, operation: Apply, time: "2026-12-20T00:00:00Z"}]}}`, nothing},
		{"status", "deployments.apps", webYAML, `{status: {availableReplicas: 2}}`, nothing},
		{"another API version of the same object", "deployments.apps", webYAML, `{apiVersion: apps/v1beta2}`, nothing},

		{"the partition", "statefulsets.apps", dbYAML, `{spec: {updateStrategy: {rollingUpdate: {partition: 2}}}}`, rollOut},
		{"OnDelete", "statefulsets.apps", dbYAML, `{spec: {updateStrategy: {type: OnDelete, rollingUpdate: null}}}`, rollOut},
		{"a StatefulSet's count", "statefulsets.apps", dbYAML, `{spec: {replicas: 1}}`, scale},
		{"a DaemonSet's template", "daemonsets.apps", nodeDS, `{spec: {template: {spec: {nodeSelector: {gpu: "true"}}}}}`, rollOut},
		{"a DaemonSet's labels", "daemonsets.apps", nodeDS, `{metadata: {labels: {a: b}}}`, nothing},
		{"a ReplicaSet's count", "replicasets.apps", edited(webYAML, "kind: Deployment", "kind: ReplicaSet"), `{spec: {replicas: 0}}`, scale},
		{"suspending a CronJob", "cronjobs.batch", mailing, `{spec: {suspend: true}}`, scale},
		{"a CronJob's image", "cronjobs.batch", mailing, `{spec: {jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: b}]}}}}}}`,
			rollOut},
		{"a CronJob's labels", "cronjobs.batch", mailing, `{metadata: {labels: {a: b}}}`, nothing},
		{"a Job's parallelism", "jobs.batch", jobYAML, `{spec: {parallelism: 0}}`, scale},
		{"a person edits the minimum of an autoscaler", "horizontalpodautoscalers.autoscaling", hpaYAML, `{spec: {minReplicas: 4}}`, scale},
		{"a person edits its maximum", "horizontalpodautoscalers.autoscaling", hpaYAML, `{spec: {maxReplicas: 20}}`, scale},

		{"a canary's image and count", "rollouts.argoproj.io", canary,
			`{spec: {replicas: 4, template: {spec: {containers: [{name: a, image: b}]}}}}`, rollOut | scale},
		{"hibernation of a database", "clusters.postgresql.cnpg.io", pg, `{metadata: {annotations: {cnpg.io/hibernation: "on"}}}`, scale},
		{"a database's image", "clusters.postgresql.cnpg.io", pg, `{spec: {imageName: "pg:17"}}`, rollOut},
		{"one count of several", "elasticsearches.elasticsearch.k8s.elastic.co", elastic,
			`{spec: {nodeSets: [{name: data, count: 4}, {name: master, count: 3}]}}`, scale},
		{"a count and a version", "elasticsearches.elasticsearch.k8s.elastic.co", elastic,
			`{spec: {version: 9.1.0, nodeSets: [{name: data, count: 4}, {name: master, count: 3}]}}`, rollOut | scale},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			before := toJSON(t, test.object)
			after, err := jsonpatch.MergePatch(before, toJSON(t, test.edit))
			if err != nil {
				t.Fatal(err)
			}
			a := shipped(t, test.adapter)
			if got := a.Classify(before, after); got != test.want {
				t.Errorf("want %v, got %v", test.want.Names(), got.Names())
			}
			if got := a.Classify(after, before); got != test.want {
				t.Errorf("undone: want %v, got %v", test.want.Names(), got.Names())
			}
		})
	}
}

// kubectl replace --force is a deletion and a creation, and so is kubectl apply of an object with a new generated name.
func TestClassifyReplaceAsDeletionAndCreation(t *testing.T) {
	a := shipped(t, "jobs.batch")
	if got := a.Classify(nil, toJSON(t, jobYAML)); got != create {
		t.Errorf("created: got %v", got.Names())
	}
	if got := a.Classify(toJSON(t, jobYAML), nil); got != remove {
		t.Errorf("deleted: got %v", got.Names())
	}
}

// An object of a megabyte is judged like any other, as text.
func TestClassifyMegabyte(t *testing.T) {
	var object map[string]any
	if err := json.Unmarshal(toJSON(t, webYAML), &object); err != nil {
		t.Fatal(err)
	}
	annotations := map[string]any{}
	for i := range 20 {
		annotations[string(rune('a'+i))] = string(make([]byte, 1<<16))
	}
	object["metadata"].(map[string]any)["annotations"] = annotations
	before, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, toJSON(t, `{spec: {replicas: 9}}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(before) < 1<<20 {
		t.Fatalf("only %d bytes", len(before))
	}
	if got := shipped(t, "deployments.apps").Classify(before, after); got != scale {
		t.Errorf("got %v", got.Names())
	}
}
