package adapter

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

func ledgerOf(of, entries string) string {
	return fmt.Sprintf("%q", fmt.Sprintf(`{%s,"of":%q}`, entries, of))
}

func TestSavingsOfASleepingObject(t *testing.T) {
	nights := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	const by = `"by":"Schedule/shop/nights"`
	const hibernating = `
target: {group: example.com, kind: Ring, versions: [v1]}
scale: [{name: main, replicas: .spec.size, default: 1, minimum: 1}]
suspend: [{set: [{path: .spec.off, value: true}]}]
`
	for _, test := range []struct {
		reason, adapter, of, entries, spec string
		want                               []Saving
	}{
		{"a count that was taken to zero", deploymentYAML, "Deployment/x", `"/spec/replicas":{"was":3,"set":0,` + by + `}`, `{"replicas":0}`,
			[]Saving{{By: nights, Replicas: 3}}},
		{"a count that was lowered", deploymentYAML, "Deployment/x", `"/spec/replicas":{"was":10,"set":4,` + by + `}`, `{"replicas":4}`,
			[]Saving{{By: nights, Replicas: 6}}},
		{"a count that was absent", deploymentYAML, "Deployment/x", `"/spec/replicas":{"set":0,` + by + `}`, `{"replicas":0}`,
			[]Saving{{By: nights, Replicas: 1}}},
		{"a count that was raised", deploymentYAML, "Deployment/x", `"/spec/replicas":{"was":2,"set":4,` + by + `}`, `{"replicas":4}`,
			[]Saving{{By: nights, Replicas: -2}}},
		{"somebody has scaled it since", deploymentYAML, "Deployment/x", `"/spec/replicas":{"was":3,"set":0,` + by + `}`, `{"replicas":2}`, nil},
		{"set once and left to others", deploymentYAML, "Deployment/x", `"/spec/replicas":{"was":3,"set":1,"once":1,` + by + `}`,
			`{"replicas":1}`, nil},
		{"held and not scaled", deploymentYAML, "Deployment/x", `"/spec/paused":{"set":true,` + by + `}`, `{"replicas":3,"paused":true}`, nil},
		{"no ledger", deploymentYAML, "Deployment/x", ``, `{"replicas":0}`, nil},
		{"two lists of one object", elasticYAML, "Elasticsearch/x",
			`"/spec/nodeSets/0/count":{"was":3,"set":1,"element":"hot",` + by + `},"/spec/nodeSets/1/count":{"was":5,"set":1,"element":"cold",` +
				by + `}`,
			`{"nodeSets":[{"name":"hot","count":1},{"name":"cold","count":1}]}`, []Saving{{By: nights, Replicas: 6}}},
		{"switched off, the count left as it is", hibernating, "Ring/x", `"/spec/off":{"set":true,` + by + `}`, `{"size":3,"off":true}`,
			[]Saving{{By: nights, Replicas: 3}}},
		{"an amount and no number of replicas", hibernating, "Ring/x", `"/spec/size":{"was":"40Gi","set":0,` + by + `}`, `{"size":0}`, nil},
		{"switched off, an amount left as it is", hibernating, "Ring/x", `"/spec/off":{"set":true,` + by + `}`, `{"size":"40Gi","off":true}`,
			nil},
		{"switched off, and nothing ran", hibernating, "Ring/x", `"/spec/off":{"set":true,` + by + `}`, `{"size":0,"off":true}`, nil},
		{"switched off and on again by somebody", hibernating, "Ring/x", `"/spec/off":{"set":true,` + by + `}`, `{"size":3,"off":false}`, nil},
		{"no count at all", cronJobYAML, "CronJob/x", `"/spec/suspend":{"was":false,"set":true,` + by + `}`, `{"suspend":true}`, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			a := mustCompile(t, test.adapter, Keys{})
			annotations := ""
			if test.entries != "" {
				annotations = `,"annotations":{"flyball.dev/ledger":` + ledgerOf(test.of, test.entries) + `}`
			}
			obj := projected(t, a, []byte(`{"metadata":{"name":"x","namespace":"shop"`+annotations+`},"spec":`+test.spec+`}`))
			if diff := cmp.Diff(test.want, a.Savings(obj)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequestsAddUpOverContainers(t *testing.T) {
	asleep := `"metadata":{"name":"x","annotations":{"flyball.dev/ledger":` +
		ledgerOf("Deployment/x", `"/spec/replicas":{"was":3,"set":0,"by":"Schedule/shop/nights"}`) + `}}`
	for _, test := range []struct {
		reason, pod string
		want        *workload.Requests
	}{
		{"containers are added up",
			`{"containers":[{"resources":{"requests":{"cpu":"250m","memory":"64Mi"}}},{"resources":{"requests":{"cpu":"1","memory":"1M"}}}]}`,
			&workload.Requests{MilliCPU: 1250, MemoryBytes: 64<<20 + 1e6}},
		{"a limit stands for a request", `{"containers":[{"resources":{"limits":{"cpu":2,"memory":"1Gi"},"requests":{"memory":"1Mi"}}}]}`,
			&workload.Requests{MilliCPU: 2000, MemoryBytes: 1 << 20}},
		{"an init container that needs more than what runs later",
			`{"initContainers":[{"resources":{"requests":{"cpu":"3"}}},{"resources":{"requests":{"cpu":"1"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`,
			&workload.Requests{MilliCPU: 3000}},
		{"a sidecar runs beside the containers",
			`{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"500m"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`,
			&workload.Requests{MilliCPU: 1500}},
		{"a sidecar runs beside the init containers after it",
			`{"initContainers":[{"restartPolicy":"Always","resources":{"requests":{"cpu":"1"}}},{"resources":{"requests":{"cpu":"2"}}}],"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`,
			&workload.Requests{MilliCPU: 3000}},
		{"the pod as a whole, and its overhead",
			`{"resources":{"requests":{"cpu":"2"}},"overhead":{"cpu":"100m","memory":"10Mi"},"containers":[{"resources":{"requests":{"cpu":"1"}}}]}`,
			&workload.Requests{MilliCPU: 2100, MemoryBytes: 10 << 20}},
		{"nothing is requested", `{"containers":[{"name":"main"}]}`, &workload.Requests{}},
		{"what is no quantity counts as nothing", `{"containers":[{"resources":{"requests":{"cpu":"much","memory":{}}}}]}`, &workload.Requests{}},
		{"no pod", `null`, nil},
	} {
		t.Run(test.reason, func(t *testing.T) {
			a := mustCompile(t, deploymentYAML, Keys{})
			obj := projected(t, a, []byte(`{`+asleep+`,"spec":{"replicas":0,"template":{"spec":`+test.pod+`}}}`))
			if diff := cmp.Diff(test.want, obj.Requests); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			awake := projected(t, a, []byte(`{"metadata":{"name":"x"},"spec":{"replicas":3,"template":{"spec":`+test.pod+`}}}`))
			if awake.Requests != nil {
				t.Errorf("requests of an object that nothing was changed on are kept: %v", awake.Requests)
			}
		})
	}
}
