package pods

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"flyball.dev/flyball/engine/workload"
)

// The writer is known for a pod that was created with other requests, and for a pod that was changed later.
func TestRequestsSetAtCreationAreRecognised(t *testing.T) {
	const raw = `{"metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"3",` +
		`"annotations":{"flyball.dev/tuned-by":"Tortoise/shop/web"}%MORE},
	 "spec":{"containers":[{"name":"main","resources":{"requests":{"cpu":"1"}}}]},
	 "status":{"conditions":[{"type":"PodResizePending","status":"True","reason":"Deferred","message":"no room"}]}}`
	for more, want := range map[string]struct {
		resize  workload.Resize
		resized bool
	}{
		``: {workload.Resize{Made: true, State: workload.ResizeDeferred, Message: "no room"}, true},
		`,"managedFields":[{"manager":"flyball","subresource":"resize","fieldsV1":{"f:spec":{}}}]`: {workload.Resize{By: "flyball", Made: true,
			State: workload.ResizeDeferred, Message: "no room"}, true},
		`,"managedFields":[{"manager":"vpa","subresource":"resize","fieldsV1":{"f:spec":{}}}]`: {workload.Resize{By: "vpa", Made: true,
			State: workload.ResizeDeferred, Message: "no room"}, false},
	} {
		obj, err := newPods(newIdentity(), "flyball", true).Project([]byte(strings.Replace(raw, "%MORE", more, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if got := podOf(obj).Resize; got != want.resize {
			t.Errorf("%q: %+v", more, got)
		}
		if got := New(Options{Own: "flyball"}).isResized(obj); got != want.resized {
			t.Errorf("%q: changed by Flyball: %t", more, got)
		}
	}
}

// The projection has requests, restart policies, and the state of an in-place change.
func TestContainersAreProjected(t *testing.T) {
	const raw = `{"metadata":{"name":"a","namespace":"shop","uid":"u","resourceVersion":"3","managedFields":[
	 {"manager":"kubelet","subresource":"status","fieldsV1":{"f:status":{}}},{"manager":"%BY","subresource":"resize",` +
		`"fieldsV1":{"f:spec":{"f:containers":{}}}}]},
	 "spec":{"nodeName":"n","initContainers":[{"name":"setup","resources":{"requests":{"cpu":"9"}}},{"name":"side",` +
		`"restartPolicy":"Always","resources":{"requests":{"cpu":"10m"}}}],
	 "containers":[{"name":"main","resizePolicy":[{"resourceName":"cpu","restartPolicy":"NotRequired"},{"resourceName":"memory",` +
		`"restartPolicy":"RestartContainer"}],
	  "resources":{"requests":{"cpu":"1.5","memory":"1Gi"},"limits":{"cpu":"2","memory":"2Gi"}}}]},
	 "status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"},{"type":"PodResizeInProgress","status":"False",` +
		`"reason":"Error"},
	  {"type":"PodResizePending","status":"True","reason":"Infeasible","message":"no room"}],
	  "containerStatuses":[{"name":"main","restartCount":2,"state":{"running":{}}}]}}`
	obj, err := newPods(newIdentity(), "flyball", true).Project([]byte(strings.Replace(raw, "%BY", "flyball", 1)))
	if err != nil {
		t.Fatal(err)
	}
	p := podOf(obj)
	want := []workload.Container{
		{Name: "main", Resources: workload.Resources{CPU: 1500, Memory: 1 << 30, CPULimit: 2000, MemoryLimit: 2 << 30}, RestartsForMemory: true,
			Restarts: 2},
		{Name: "side", Resources: workload.Resources{CPU: 10}, Sidecar: true},
	}
	if diff := cmp.Diff(want, p.Containers); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if want := (workload.Resize{By: "flyball", State: workload.ResizeInfeasible, Message: "no room", Unsupported: true}); p.Resize != want {
		t.Errorf("%+v", p.Resize)
	}
	m := New(Options{Own: "flyball"})
	if !m.isResized(obj) {
		t.Error("it is not known to be changed in place")
	}
	other, err := newPods(newIdentity(), "flyball", true).Project([]byte(strings.Replace(raw, "%BY", "vpa", 1)))
	if err != nil || m.isResized(other) || podOf(other).Resize.By != "vpa" {
		t.Errorf("what somebody else has changed is taken for Flyball's: %v", err)
	}
	if !matters(obj, other) {
		t.Error("who has changed it does not matter")
	}
}

// The status of a pod shows whether its node supports in-place changes, and whether the node has seen the last change.
func TestInPlaceChangesFollowTheNodesStatus(t *testing.T) {
	for _, test := range []struct {
		reason, metadata, status string
		want                     workload.Resize
	}{
		{"nothing runs yet", ``, `"containerStatuses":[{"name":"a","state":{"waiting":{}}}]`, workload.Resize{}},
		{"it says what a container has", ``,
			`"containerStatuses":[{"name":"a","state":{"waiting":{}}},{"name":"b","state":{"running":{}},"resources":{}}]`, workload.Resize{}},
		{"it does not say what a container has", ``,
			`"containerStatuses":[{"name":"a","state":{"running":{}}},{"name":"b","state":{"running":{}},"resources":{}}]`,
			workload.Resize{Unsupported: true}},
		{"it has not looked at the change", `,"generation":3`, `"observedGeneration":2`,
			workload.Resize{State: workload.ResizeInProgress, Message: "its node has not looked at the change yet"}},
		{"it has looked at the change", `,"generation":3`, `"observedGeneration":3`, workload.Resize{}},
		{"it does not say what it has looked at", `,"generation":3`, `"phase":"Running"`, workload.Resize{}},
		{"it deferred the change before", `,"generation":3`,
			`"observedGeneration":2,"conditions":[{"type":"PodResizePending","status":"True","reason":"Deferred"}]`,
			workload.Resize{State: workload.ResizeDeferred, Message: "its node says Deferred"}},
	} {
		raw := `{"metadata":{"name":"a","namespace":"shop","uid":"u"` + test.metadata +
			`},"spec":{"containers":[{"name":"a"},{"name":"b"}]},"status":{` + test.status + `}}`
		obj, err := newPods(newIdentity(), "flyball", true).Project([]byte(raw))
		if err != nil {
			t.Fatal(err)
		}
		if got := podOf(obj).Resize; got != test.want {
			t.Errorf("%s: %+v, want %+v", test.reason, got, test.want)
		}
	}
}
