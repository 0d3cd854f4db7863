package adapter

import (
	"fmt"
	"runtime"
	"testing"

	"flyball.dev/flyball/engine/workload"
)

// deploymentDoc is a Deployment of ordinary size, as an API server sends it: 3.3 kB.
func deploymentDoc(i int) []byte {
	const container = `{"name":"app","image":"registry.example.com/shop/web:1.2.3","ports":[{"containerPort":8080,"protocol":"TCP"}],` +
		`"env":[{"name":"A","value":"1"},{"name":"B","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],` +
		`"resources":{"limits":{"cpu":"1","memory":"512Mi"},"requests":{"cpu":"100m","memory":"128Mi"}},` +
		`"livenessProbe":{"httpGet":{"path":"/healthz","port":8080,"scheme":"HTTP"},"timeoutSeconds":1,"periodSeconds":10,"successThreshold":1,"failureThreshold":3},` +
		`"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"IfNotPresent"}`
	return fmt.Appendf(nil, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web-%[1]d","namespace":"shop-%[2]d",`+
		`"uid":"3f1a7c1e-6c1f-4d0b-9a55-%012[1]d","resourceVersion":"%[3]d","generation":2,"creationTimestamp":"2026-03-02T20:00:00Z",`+
		`"labels":{"app":"web-%[1]d","app.kubernetes.io/managed-by":"Helm","tier":"front"},`+
		`"annotations":{"deployment.kubernetes.io/revision":"1","meta.helm.sh/release-name":"web"},`+
		`"managedFields":[{"manager":"helm","operation":"Update","apiVersion":"apps/v1","time":"2026-03-02T20:00:00Z","fieldsType":"FieldsV1",`+
		`"fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{},"f:tier":{}}},"f:spec":{"f:replicas":{},"f:selector":{},"f:strategy":{"f:type":{}},`+
		`"f:template":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"app\"}":{".":{},"f:image":{},"f:name":{}}}}}}}}]},`+
		`"spec":{"replicas":3,"selector":{"matchLabels":{"app":"web-%[1]d"}},"template":{"metadata":{"creationTimestamp":null,"labels":{"app":"web-%[1]d"}},`+
		`"spec":{"containers":[%[4]s,%[4]s],"restartPolicy":"Always","terminationGracePeriodSeconds":30,"dnsPolicy":"ClusterFirst","securityContext":{},`+
		`"schedulerName":"default-scheduler"}},"strategy":{"type":"RollingUpdate","rollingUpdate":{"maxUnavailable":"25%%","maxSurge":"25%%"}},`+
		`"revisionHistoryLimit":10,"progressDeadlineSeconds":600},"status":{"observedGeneration":2,"replicas":3,"updatedReplicas":3,"readyReplicas":3,`+
		`"availableReplicas":3,"conditions":[{"type":"Available","status":"True","lastUpdateTime":"2026-03-02T20:00:00Z",`+
		`"lastTransitionTime":"2026-03-02T20:00:00Z","reason":"MinimumReplicasAvailable","message":"Deployment has minimum availability."}]}}`,
		i, i%50, 100000+i, container)
}

func BenchmarkProject(b *testing.B) {
	for name, c := range map[string]struct {
		adapter string
		doc     []byte
	}{
		"Deployment":    {deploymentYAML, deploymentDoc(1)},
		"Asleep":        {deploymentYAML, withLedger(b, `{"replicas":0}`, entry("/spec/replicas", "3", "0"))},
		"Elasticsearch": {elasticYAML, []byte(nodeSetsDoc)},
	} {
		b.Run(name, func(b *testing.B) {
			a := mustCompile(b, c.adapter, Keys{Match: []string{"team"}})
			b.ReportAllocs()
			b.SetBytes(int64(len(c.doc)))
			for b.Loop() {
				if _, err := a.Project(c.doc); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResident measures the heap that one projected Deployment keeps.
func BenchmarkResident(b *testing.B) {
	const n = 10_000
	a := mustCompile(b, deploymentYAML, Keys{Match: []string{"team"}})
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for b.Loop() {
		objects := make([]*workload.Object, n)
		before := heap()
		for i := range objects {
			objects[i] = projected(b, a, deploymentDoc(i))
		}
		b.ReportMetric(float64(heap()-before)/n, "B/object")
		runtime.KeepAlive(objects)
	}
}

func BenchmarkRender(b *testing.B) {
	for name, c := range map[string]struct {
		doc  []byte
		plan workload.Plan
	}{
		"Nothing": {deploymentDoc(1), workload.Plan{}},
		"Asleep":  {withLedger(b, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), sleep()},
		"Sleep":   {deploymentDoc(1), sleep()},
		"Wake":    {withLedger(b, `{"replicas":0}`, entry("/spec/replicas", "3", "0")), workload.Plan{}},
	} {
		b.Run(name, func(b *testing.B) {
			a := mustCompile(b, deploymentYAML, Keys{})
			obj := projected(b, a, c.doc)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := a.Render(obj, c.plan); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkClassify(b *testing.B) {
	a := mustCompile(b, deploymentYAML, Keys{})
	for name, after := range map[string][]byte{
		"Same":     deploymentDoc(1),
		"Metadata": deploymentDoc(1 + 50), // other names and labels, in the template as well
		"Replicas": []byte(string(deploymentDoc(1)[:100]) + string(deploymentDoc(1)[100:])),
	} {
		if name == "Replicas" {
			s := newServer(deploymentDoc(1))
			s.set("/spec/replicas", "5")
			after = s.doc
		}
		b.Run(name, func(b *testing.B) {
			before := deploymentDoc(1)
			b.ReportAllocs()
			for b.Loop() {
				a.Classify(before, after)
			}
		})
	}
}
