package pods

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/workload"
)

const podJSON = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-1","namespace":"shop","uid":"u1","resourceVersion":"7",` +
	`"creationTimestamp":"2026-03-02T08:00:00Z",
"labels":{"app":"web","controller-revision-hash":"abc"},%s
"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"n"},{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web-5d",` +
	`"controller":true}],
"managedFields":[{"manager":"kube-controller-manager","fieldsV1":{"f:metadata":{"f:labels":{"f:app":{}}}}},
{"manager":"flyball","fieldsV1":{"f:metadata":{"f:annotations":{"f:controller.kubernetes.io/pod-deletion-cost":{}}}}}%s]},
"spec":{"nodeName":"node-1","containers":[{"name":"a"}]},
"status":{"phase":"Running","conditions":[{"type":"Initialized","status":"True"},{"type":"Ready","status":"%s",` +
	`"lastTransitionTime":"2026-03-02T08:00:05Z"}],
"containerStatuses":[{"restartCount":2},{"restartCount":9}]}}`

func project(t *testing.T, raw string) *workload.Object {
	t.Helper()
	obj, err := newPods(newIdentity(), "flyball", false).Project([]byte(raw))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestPodsAreProjected(t *testing.T) {
	created := time.Date(2026, 3, 2, 8, 0, 0, 0, time.UTC).Unix()
	const cost = `"annotations":{"controller.kubernetes.io/pod-deletion-cost":"-5"},`
	want := workload.Pod{Namespace: "shop", Name: "web-1", UID: "u1", Version: "7", Assigned: true, Group: "ReplicaSet.apps/shop/web-5d",
		Revision: "ReplicaSet.apps/shop/web-5dabc",
		Phase:    workload.PodRunning, Ready: true, Changed: created + 5, Created: created, Restarts: 9}
	for name, tc := range map[string]struct {
		raw  string
		edit func(*workload.Pod)
	}{
		"without a cost": {fmt.Sprintf(podJSON, "", "", "True"), func(*workload.Pod) {}},
		"not ready":      {fmt.Sprintf(podJSON, "", "", "False"), func(p *workload.Pod) { p.Ready = false }},
		"with its cost":  {fmt.Sprintf(podJSON, cost, "", "True"), func(p *workload.Pod) { p.Cost, p.Writer = -5, "flyball" }},
		"with a cost that another agreed to": {fmt.Sprintf(podJSON, cost,
			`,{"manager":"helm","fieldsV1":{"f:metadata":{"f:annotations":{"f:x":{},"f:controller.kubernetes.io/pod-deletion-cost":{}}}}}`, "True"),
			func(p *workload.Pod) { p.Cost, p.Writer = -5, "helm" }},
		"with a cost that is no number": {fmt.Sprintf(podJSON, `"annotations":{"controller.kubernetes.io/pod-deletion-cost":"+5"},`, "", "True"),
			func(p *workload.Pod) { p.Writer = "flyball" }},
	} {
		p := want
		tc.edit(&p)
		if diff := cmp.Diff(&p, podOf(project(t, tc.raw))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
	for raw, counted := range map[string]bool{
		`{"metadata":{"name":"x"}}`:                                            true,
		`{"metadata":{"name":"x"},"status":{"phase":"Succeeded"}}`:             false,
		`{"metadata":{"name":"x"},"status":{"phase":"Failed"}}`:                false,
		`{"metadata":{"name":"x","deletionTimestamp":"2026-03-02T08:00:00Z"}}`: false,
	} {
		if isCounted(project(t, raw)) != counted {
			t.Errorf("%s is counted: %t", raw, !counted)
		}
	}
	odd := podOf(project(t,
		`{"metadata":{"name":"x","namespace":"shop","creationTimestamp":7},"spec":{"nodeName":""},"status":{"phase":"Odd","conditions":7}}`))
	if odd == nil || odd.Assigned || odd.Created != 0 || odd.Group != "Pod/shop/x" || odd.Phase != workload.PodPending {
		t.Errorf("a pod with odd fields is %+v", odd)
	}
}

func TestNodesAreProjected(t *testing.T) {
	obj, err := newNodes(newIdentity(), []string{"zone"}).Project([]byte(`{"metadata":{"name":"n","labels":{"zone":"a","other":"b"}},
"spec":{"unschedulable":true,"taints":[{"key":"gone","effect":"NoExecute"},{"key":"rather-not","effect":"PreferNoSchedule"},` +
		`{"key":"DeletionCandidateOfClusterAutoscaler","effect":"PreferNoSchedule"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(workload.Pairs{{Key: "zone", Value: "a"}}, obj.Labels); diff != "" {
		t.Error(diff)
	}
	want := []workload.Field{{Raw: unschedulable}, {Raw: "gone"}, {Raw: "DeletionCandidateOfClusterAutoscaler"}}
	if diff := cmp.Diff(want, obj.Fields); diff != "" {
		t.Error(diff)
	}
}

func ref(kind, name string) workload.Ref {
	return workload.Ref{GroupKind: schema.GroupKind{Kind: kind}, Namespace: "shop", Name: name}
}

func owned(name string, owner workload.Ref) *workload.Object {
	return &workload.Object{Namespace: "shop", Name: name,
		OwnerReference: &workload.OwnerReference{GroupKind: owner.GroupKind, Name: owner.Name}}
}

func names(t *tree, r workload.Ref) []string {
	var out []string
	if b := t.branches[r]; b != nil {
		b.each(func(o *workload.Object) { out = append(out, o.Name) })
	}
	return out
}

// Pods belong to indirect owners, also if these become known later than the pods.
func TestOwnersOfAnyDepth(t *testing.T) {
	app, web, old, new := ref("App", "a"), ref("Deployment", "web"), ref("ReplicaSet", "old"), ref("ReplicaSet", "new")
	owners := map[workload.Ref]*workload.OwnerReference{old: {GroupKind: web.GroupKind, Name: "web"}}
	tr := newTree(func(r workload.Ref) *workload.OwnerReference { return owners[r] })
	at := time.Unix(100, 0)
	p1, p2 := owned("p1", old), owned("p2", new)
	tr.add(p1, at)
	tr.add(p2, at.Add(time.Second))
	if diff := cmp.Diff([]string{"p1"}, names(tr, web)); diff != "" {
		t.Error(diff)
	}
	owners[new] = &workload.OwnerReference{GroupKind: web.GroupKind, Name: "web"}
	owners[web] = &workload.OwnerReference{GroupKind: app.GroupKind, Name: "a"}
	tr.relink(new)
	if diff := cmp.Diff([]string{"p1", "p2"}, names(tr, app)); diff != "" {
		t.Error(diff)
	}
	if got := tr.branches[app].moved; !got.Equal(at.Add(time.Second)) {
		t.Errorf("the app moved last at %s", got)
	}
	if diff := cmp.Diff([]workload.Ref{old, web, app}, tr.branches[old].above()); diff != "" {
		t.Error(diff)
	}
	next := owned("p1", old)
	tr.replace(p1, next)
	tr.remove(p2, at)
	tr.remove(next, at)
	if len(tr.branches) > 0 {
		t.Errorf("without pods there is still %v", tr.branches)
	}
}

// Circular ownership does no harm.
func TestCircularOwnersDoNoHarm(t *testing.T) {
	a, b := ref("A", "a"), ref("B", "b")
	owners := map[workload.Ref]*workload.OwnerReference{a: {GroupKind: b.GroupKind, Name: "b"}, b: {GroupKind: a.GroupKind, Name: "a"}}
	tr := newTree(func(r workload.Ref) *workload.OwnerReference { return owners[r] })
	p := owned("p", a)
	tr.add(p, time.Now())
	tr.relink(a)
	tr.relink(b)
	if diff := cmp.Diff([]string{"p"}, names(tr, a)); diff != "" {
		t.Error(diff)
	}
	tr.remove(p, time.Now())
	if len(tr.branches) > 0 {
		t.Errorf("without pods there is still %v", tr.branches)
	}
}

func TestOwnersAreShared(t *testing.T) {
	s := newShared()
	first := s.get(workload.OwnerReference{Name: "a"})
	for i := range 3 * sharedAtMost / 2 {
		s.get(workload.OwnerReference{Name: fmt.Sprint(i)})
	}
	if s.get(workload.OwnerReference{Name: "a"}) != first {
		t.Error("an owner that was asked for a generation ago has two copies")
	}
	if n := len(s.young) + len(s.aged); n > 2*sharedAtMost {
		t.Errorf("%d owners are kept", n)
	}
}
