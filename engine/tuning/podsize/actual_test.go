package podsize

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

var tuned = workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "tuned"}

// kindOf is a kind of the library.
func kindOf(t *testing.T, name string) *decide.Kind {
	t.Helper()
	all, err := adapters.All()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(all, func(a v1alpha1.Adapter) bool { return a.Name == name })
	compiled, errs := adapter.Compile(name, all[i].Spec, adapter.Keys{Amounts: true})
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return &decide.Kind{Adapter: compiled, GroupKind: compiled.GroupKind()}
}

// written is the verdict on an object that already has all asked requests.
func written(t *testing.T, kind, manifest string, asked map[workload.Amount]int64) *decide.Verdict {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(manifest))
	if err != nil {
		t.Fatal(err)
	}
	k := kindOf(t, kind)
	obj, err := k.Adapter.Project(raw)
	if err != nil {
		t.Fatal(err)
	}
	v := &decide.Verdict{Kind: k, Object: obj, Plan: workload.Plan{Amounts: map[workload.Amount]workload.Claim[int64]{}},
		Result: adapter.Result{State: workload.StateSet}}
	for of, n := range asked {
		v.Plan.Amounts[of] = workload.Claim[int64]{Value: n, By: tuned}
	}
	return v
}

// Manifests of objects: settled objects, objects that do not replace their pods after a change of the template, and a Cluster
// that is not ready.
const (
	settledDeployment = `{metadata: {namespace: shop, name: web, generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, ` +
		`replicas: 2, updatedReplicas: 2, availableReplicas: 2}}`
	pausedDeployment = `{metadata: {namespace: shop, name: web, generation: 3}, spec: {replicas: 2, paused: true}, status: ` +
		`{observedGeneration: 3, replicas: 2, availableReplicas: 2}}`
	onDelete = `{metadata: {namespace: shop, name: web, generation: 3}, spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: ` +
		`{observedGeneration: 3, replicas: 2, availableReplicas: 2}}`
	partitioned = `{metadata: {namespace: shop, name: web, generation: 3}, spec: {replicas: 2, updateStrategy: {rollingUpdate: {partition: ` +
		`1}}},
  status: {observedGeneration: 3, replicas: 2, updatedReplicas: 1, availableReplicas: 2}}`
	busyCluster = `{metadata: {namespace: shop, name: web}, spec: {instances: 2},
		status: {instances: 2, readyInstances: 1, conditions: [{type: Ready, status: "False"}]}}`
	settledCluster = `{metadata: {namespace: shop, name: web}, spec: {instances: 2},
		status: {instances: 2, readyInstances: 2, conditions: [{type: Ready, status: "True"}]}}`
)

// requesting is a pod with one container that requests cpu in milli-CPU and memory in bytes.
func requesting(container string, cpu, memory int64) *workload.Pod {
	return &workload.Pod{Containers: []workload.Container{{Name: container, Resources: workload.Resources{CPU: cpu, Memory: memory}}}}
}

func in(state workload.ResizeState, p *workload.Pod) *workload.Pod {
	p.Resize.State = state
	return p
}

// TestAppliedRequestsAreThoseOfPods: a number is applied once every pod has it, not as soon as it is written. Behind
// returns
// the obstacle.
func TestAppliedRequestsAreThoseOfPods(t *testing.T) {
	const deployments, statefulSets, clusters = "deployments.apps", "statefulsets.apps", "clusters.postgresql.cnpg.io"
	const unmoved = " of 2 pods have other requests than were set: the roll-out has not come to them, or is paused"
	const kept = " of 2 pods have other requests than the written requests until they are replaced: the target counts as settled"
	old := func() *workload.Pod { return requesting("app", 1000, 1<<30) }
	now := func() *workload.Pod { return requesting("app", 500, 256<<20) }
	for _, tc := range []struct {
		reason      string
		kind, obj   string
		how         workload.AmountKind
		edit        func(*decide.Verdict)
		pods        []*workload.Pod
		cpu, memory bool
		behind      string
	}{
		{"all pods have it", deployments, settledDeployment, workload.AmountRequest, nil, []*workload.Pod{now(), now()}, true, true, ""},
		{"one pod has not: it rolls out", deployments, pausedDeployment, workload.AmountRequest, nil, []*workload.Pod{now(), old()}, false, false,
			"1" + unmoved},
		{"a paused Deployment: no pod has it", deployments, pausedDeployment, workload.AmountRequest, nil, []*workload.Pod{old(), old()}, false,
			false, "2" + unmoved},
		{"a StatefulSet with OnDelete", statefulSets, onDelete, workload.AmountRequest, nil, []*workload.Pod{old(), old()}, false, false,
			"2" + kept},
		{"a StatefulSet with a partition", statefulSets, partitioned, workload.AmountRequest, nil, []*workload.Pod{old(), now()}, false, false,
			"1" + kept},
		{"one of two numbers", deployments, pausedDeployment, workload.AmountRequest, nil, []*workload.Pod{requesting("app", 500, 1<<30), now()},
			true, false, "1" + unmoved},
		{"a pod of which the node is not through", deployments, settledDeployment, workload.AmountRequest, nil,
			[]*workload.Pod{in(workload.ResizeDeferred, now()), now()}, false, false, "1" + kept},
		{"it is not written yet", deployments, settledDeployment, workload.AmountRequest,
			func(v *decide.Verdict) { v.Result.Patch = &workload.Patch{} }, []*workload.Pod{now(), now()}, false, false, ""},
		{"somebody else has changed the template", deployments, settledDeployment, workload.AmountRequest,
			func(v *decide.Verdict) { v.Result.State = workload.StateOverridden },
			[]*workload.Pod{now(), now()}, false, false, ""},
		{"another policy asks for it", deployments, settledDeployment, workload.AmountRequest, func(v *decide.Verdict) {
			for of, claim := range v.Plan.Amounts {
				claim.By.Name = "other"
				v.Plan.Amounts[of] = claim
			}
		}, []*workload.Pod{now(), now()}, false, false, ""},
		{"no pods: the next ones will", deployments, settledDeployment, workload.AmountRequest, nil, nil, true, true, ""},
		{"in place: all pods have it", deployments, settledDeployment, workload.AmountInPlace, nil, []*workload.Pod{now(), now()}, true, true,
			""},
		{"in place: one is still to be changed", deployments, settledDeployment, workload.AmountInPlace, nil, []*workload.Pod{now(), old()},
			false,
			false, ""},
		{"in place: the node of one has no room", deployments, settledDeployment, workload.AmountInPlace, nil,
			[]*workload.Pod{now(), in(workload.ResizeDeferred, now())}, false, false, ""},
		{"on creation: all were created with it", deployments, settledDeployment, workload.AmountOnCreate, nil, []*workload.Pod{now(), now()},
			true,
			true, ""},
		{"on creation: one was before", deployments, settledDeployment, workload.AmountOnCreate, nil, []*workload.Pod{now(), old()}, false, false,
			""},
		{"an operator that is at it", clusters, busyCluster, workload.AmountRequest, nil, []*workload.Pod{requesting("postgres", 1000, 1<<30)},
			false, false, ""},
		{"an operator that is through", clusters, settledCluster, workload.AmountRequest, nil,
			[]*workload.Pod{requesting("postgres", 1000, 1<<30)},
			true, true, ""},
	} {
		v := written(t, tc.kind, tc.obj, map[workload.Amount]int64{
			{Kind: tc.how, Component: "app", Resource: workload.CPU}: 500, {Kind: tc.how, Component: "app", Resource: workload.Memory}: 256 << 20,
		})
		if tc.edit != nil {
			tc.edit(v)
		}
		h := NumbersOf(tc.pods, true)
		if cpu, memory := h.isApplied(v, tuned, "app", workload.CPU), h.isApplied(v, tuned, "app", workload.Memory); cpu != tc.cpu ||
			memory != tc.memory {
			t.Errorf("%s: CPU is applied: %t, memory %t", tc.reason, cpu, memory)
		}
		st := found()
		if got := h.Behind(v, tuned, &st); got != tc.behind {
			t.Errorf("%s: it waits for %q, want %q", tc.reason, got, tc.behind)
		}
	}
}

// found recommends 500m and 256Mi; the owner requests 1 core and 1Gi.
func found() v1alpha1.RecommendationStatus {
	request := func(own, recommended string) *v1alpha1.RecommendedRequest {
		return &v1alpha1.RecommendedRequest{Own: ptr.To(resource.MustParse(own)), Recommended: resource.MustParse(recommended)}
	}
	return v1alpha1.RecommendationStatus{Containers: []v1alpha1.RecommendedContainer{{Name: "app", CPU: request("1", "500m"),
		Memory: request("1Gi", "256Mi")}}}
}

// TestSavingsAreThoseOfPods: a written request saves nothing before pods have it.
func TestSavingsAreThoseOfPods(t *testing.T) {
	const clusters = "clusters.postgresql.cnpg.io"
	cpu, memory := request("app", workload.CPU), request("app", workload.Memory)
	for _, tc := range []struct {
		reason    string
		kind, obj string
		asked     map[workload.Amount]int64
		applied   bool
		pods      []*workload.Pod
		want      workload.Requests
	}{
		{"no pod has it", "deployments.apps", pausedDeployment, map[workload.Amount]int64{cpu: 500, memory: 256 << 20}, false,
			[]*workload.Pod{requesting("app", 1000, 1<<30), requesting("app", 1000, 1<<30)}, workload.Requests{}},
		{"one of two has", "deployments.apps", pausedDeployment, map[workload.Amount]int64{cpu: 500, memory: 256 << 20}, false,
			[]*workload.Pod{requesting("app", 500, 256<<20), requesting("app", 1000, 1<<30)},
			workload.Requests{MilliCPU: 500, MemoryBytes: 768 << 20}},
		{"more counts against it", "deployments.apps", settledDeployment, map[workload.Amount]int64{cpu: 1200}, true,
			[]*workload.Pod{requesting("app", 1200, 1<<30)}, workload.Requests{MilliCPU: -200}},
		{"what is not asked for is not counted", "deployments.apps", settledDeployment, map[workload.Amount]int64{cpu: 500}, true,
			[]*workload.Pod{requesting("app", 500, 256<<20)}, workload.Requests{MilliCPU: 500}},
		{"a pod that requests nothing saves nothing", "deployments.apps", settledDeployment, map[workload.Amount]int64{cpu: 500}, false,
			[]*workload.Pod{requesting("app", 500, 1), requesting("app", 0, 1)}, workload.Requests{MilliCPU: 500}},
		{"an operator that is at it", clusters, busyCluster, map[workload.Amount]int64{cpu: 500}, false,
			[]*workload.Pod{requesting("postgres", 1000, 1)}, workload.Requests{}},
		{"an operator that is through", clusters, settledCluster, map[workload.Amount]int64{cpu: 500, memory: 256 << 20}, true,
			[]*workload.Pod{requesting("postgres", 1000, 1), requesting("postgres", 1000, 1)},
			workload.Requests{MilliCPU: 1000, MemoryBytes: 2 * 768 << 20}},
	} {
		h, st := NumbersOf(tc.pods, true), found()
		st.Containers[0].CPU.Applied, st.Containers[0].Memory.Applied = tc.applied, tc.applied
		if diff := cmp.Diff(tc.want, h.Saved(written(t, tc.kind, tc.obj, tc.asked), tuned, &st)); diff != "" {
			t.Errorf("%s: %s", tc.reason, diff)
		}
	}
}

// TestRequestIsInUseIfAllPodsHaveIt: a request is in use if all pods have it. If pods differ, the request is
// unknown. If no pod has a
// request, the recommended request is in use if it is applied.
func TestRequestIsInUseIfAllPodsHaveIt(t *testing.T) {
	st := found()
	check := func(reason string, want map[string]string, pods ...*workload.Pod) {
		t.Helper()
		h := NumbersOf(pods, true)
		if diff := cmp.Diff(want, h.InUse(&st)); diff != "" {
			t.Errorf("%s: %s", reason, diff)
		}
	}
	check("pods of an earlier recommendation", map[string]string{"app cpu": "700m", "app memory": "300Mi"}, requesting("app", 700, 300<<20),
		requesting("app", 700, 300<<20))
	check("pods differ in one", map[string]string{"app cpu": "700m"}, requesting("app", 700, 300<<20), requesting("app", 700, 1<<30))
	check("a node is at it", map[string]string{}, in(workload.ResizeInProgress, requesting("app", 500, 256<<20)))
	st.Containers[0].CPU.Applied = true
	check("no pod tells", map[string]string{"app cpu": "500m", "app memory": "1Gi"}, requesting("other", 1, 1))
}

// TestNumbersOfAnAutoscalerIncludeThoseSetByFlyball: the present numbers of an autoscaler are known, including the
// numbers set by Flyball.
// Numbers that another policy has set are not announced for this policy.
func TestNumbersOfAnAutoscalerIncludeThoseSetByFlyball(t *testing.T) {
	const manifest = `{metadata: {namespace: shop, name: web, annotations: {flyball.dev/ledger: '{"/spec/minReplicas":{"was":5,"set":3,` +
		`"by":"Tortoise/shop/tuned","since":"2037-01-05T12:00:00Z"},"of":"HorizontalPodAutoscaler/web"}'}},
  spec: {minReplicas: 3, maxReplicas: 20, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, metrics: [
    {type: ContainerResource, containerResource: {name: cpu, container: proxy, target: {type: Utilization, averageUtilization: 50}}},
    {type: ContainerResource, containerResource: {name: cpu, container: app, target: {type: Utilization, averageUtilization: 77}}}]}}`
	target := workload.Amount{Kind: workload.AmountUtilisation, Component: "app", Resource: workload.CPU}
	v := written(t, "horizontalpodautoscalers.autoscaling", manifest, map[workload.Amount]int64{target: 77})
	if own := v.Kind.Adapter.Observe(v.Object).Bounds.Min; own == nil || *own != 5 {
		t.Fatalf("its owner has a minimum of %v", own)
	}
	v.Plan.Min = &workload.Claim[int64]{Value: 3, By: tuned}
	v.Plan.Max = &workload.Claim[int64]{Value: 20, By: workload.Policy{Kind: "Trigger", Namespace: "shop", Name: "peak"}}
	h := NumbersOf(nil, true)
	h.see(v, tuned)
	if diff := cmp.Diff(map[string]int64{"min": 3, "max": 20, "utilisation": 77}, h.Numbers); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(map[string]string{"minimum": "3", "utilisation": "77"}, h.OfAutoscaler()); diff != "" {
		t.Error(diff)
	}
	if !areTargetsApplied(v, tuned) {
		t.Error("its target is applied")
	}
	v.Plan.Amounts[workload.Amount{Kind: workload.AmountUtilisation, Component: "proxy",
		Resource: workload.CPU}] = workload.Claim[int64]{Value: 60, By: workload.Policy{Kind: "Tortoise", Namespace: "shop", Name: "other"}}
	if areTargetsApplied(v, tuned) {
		t.Error("one of its targets is that of another policy")
	}
	v.Plan.Amounts = nil
	h = NumbersOf(nil, true)
	if h.see(v, tuned); h.Numbers["utilisation"] != 50 {
		t.Errorf("where none is asked for it is the first, not %d", h.Numbers["utilisation"])
	}
}
