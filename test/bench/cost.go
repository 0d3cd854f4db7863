package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

const zoneLabel = "topology.kubernetes.io/zone"

// costPlans measures the plan for a Deployment of 2,000 pods without costs, which changes nearly all of them.
func (b *bench) costPlans(ctx context.Context) error {
	now := time.Now()
	var pods []*workload.Pod
	for i := range 2000 {
		name := fmt.Sprint("node-", i%100)
		at := now.Add(-time.Hour).Unix() + int64(i)
		pods = append(pods, &workload.Pod{Name: fmt.Sprint("web-", i), UID: fmt.Sprint(i), Assigned: true, Group: "web", Revision: "web",
			Phase: workload.PodRunning, Ready: true,
			Changed: at, Created: at, Node: &workload.Node{Name: name, Labels: map[string]string{zoneLabel: fmt.Sprint("zone-", i%100%3)}}})
	}
	var rounds []float64
	for b.again(b.pureRounds, rounds) {
		r := testing.Benchmark(func(t *testing.B) {
			for t.Loop() {
				f := &workload.Fleet{Own: "flyball", Pods: pods}
				if n := len(deletioncost.Make(deletioncost.Default, f, deletioncost.Params{SpreadBy: []string{zoneLabel}}, false,
					now).Changes); n < 1900 {
					t.Fatalf("the plan changes %d pods", n)
				}
			}
		})
		if r.N == 0 {
			return errors.New("the benchmark of plans failed")
		}
		rounds = append(rounds, float64(r.T.Microseconds())/float64(r.N)/1000)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	b.report.rounds("cost_plan_ms_2000", rounds)
	b.report.figure("cost_plan_ms_2000", median(rounds), "ms")
	return nil
}

// costing counts the deletion costs that a manager sets on the pods of one Deployment: at first, while nothing changes,
// and for each replaced pod.
func (b *bench) costing(ctx context.Context) (err error) {
	s, err := b.start(ctx, local.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	f := podFleet{stage: s}
	if err := f.grow(ctx, b.costed); err != nil {
		return err
	}
	m := s.env.Start(harness.Options{})
	defer func() { err = errors.Join(err, m.Stop()) }()
	policy := &v1alpha1.DeletionCost{ObjectMeta: metav1.ObjectMeta{Namespace: podNamespace, Name: "even"}}
	policy.Spec.WritesPerSecond = ptr.To[int32](1000)
	if err := s.env.Client.Create(ctx, policy); err != nil {
		return fmt.Errorf("create the policy: %w", err)
	}
	first, err := settledWrites(ctx, m, 1)
	if err != nil {
		return err
	}
	b.report.say("%d pods got their costs by %.0f writes", b.costed, first)
	steady, err := f.steady(ctx, m, first)
	if err != nil {
		return err
	}
	b.report.figure("cost_steady_writes", steady, "writes")
	var perChange []float64
	before := first + steady
	for range b.podChanges {
		if err := f.replaceOne(ctx); err != nil {
			return err
		}
		after, err := settledWrites(ctx, m, before)
		if err != nil {
			return err
		}
		perChange = append(perChange, (after-before)/2) // one pod is deleted and one is created
		before = after
	}
	b.report.rounds("cost_writes_per_pod_change", perChange)
	b.report.figure("cost_writes_per_pod_change", median(perChange), "writes")
	return nil
}

// steady waits while nothing changes and returns the number of writes in that time.
func (f *podFleet) steady(ctx context.Context, m *harness.Manager, before float64) (float64, error) {
	select {
	case <-ctx.Done():
		return 0, ctx.Err()
	case <-time.After(f.idle):
	}
	after, err := costWrites(m)
	return after - before, err
}

// costWrites returns the number of deletion costs that a manager has set or removed.
func costWrites(m *harness.Manager) (float64, error) {
	families, err := m.Registry.Gather()
	if err != nil {
		return 0, fmt.Errorf("read the manager's metrics: %w", err)
	}
	sum := 0.0
	for _, family := range families {
		if family.GetName() == "flyball_deletion_cost_writes_total" {
			for _, metric := range family.GetMetric() {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	return sum, nil
}

// settledWrites waits until at least the given number of writes was made and no more follow. It returns their number. A
// target waits for a time after a change, and settledWrites waits longer than that.
func settledWrites(ctx context.Context, m *harness.Manager, atLeast float64) (float64, error) {
	const quiet, patience = 1500 * time.Millisecond, 5 * time.Minute
	last, since, deadline := -1.0, time.Now(), time.Now().Add(patience)
	for time.Now().Before(deadline) {
		n, err := costWrites(m)
		if err != nil {
			return 0, err
		}
		if n != last {
			last, since = n, time.Now()
		}
		if n >= atLeast && time.Since(since) > quiet {
			return n, nil
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return 0, fmt.Errorf("the manager has made %.0f writes in %s and does not come to rest", last, patience)
}

const podNamespace = "bench-pods"

// podFleet is a Deployment with its ReplicaSet and pods, created without controllers.
type podFleet struct {
	*stage
	owner *appsv1.ReplicaSet
	names []string
	made  int
}

// grow creates nodes in three zones, and the Deployment with its pods.
func (f *podFleet) grow(ctx context.Context, n int) error {
	f.report.say("making %d pods", n)
	c := f.env.Client
	if err := c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: podNamespace}}); err != nil {
		return fmt.Errorf("create a namespace: %w", err)
	}
	for i := range podNodes {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("node-", i),
			Labels: map[string]string{zoneLabel: fmt.Sprint("zone-", i%3)}}}
		if err := c.Create(ctx, node); err != nil {
			return fmt.Errorf("create a node: %w", err)
		}
	}
	labels := map[string]string{"app": "web"}
	selector, template := &metav1.LabelSelector{MatchLabels: labels},
		corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: podSpec("")}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: podNamespace, Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: selector, Template: template}}
	if err := c.Create(ctx, d); err != nil {
		return fmt.Errorf("create the Deployment: %w", err)
	}
	f.owner = &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: podNamespace, Name: "web-1",
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(d, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template}}
	if err := c.Create(ctx, f.owner); err != nil {
		return fmt.Errorf("create the ReplicaSet: %w", err)
	}
	for range n {
		if err := f.add(ctx); err != nil {
			return err
		}
	}
	return nil
}

const podNodes = 100

func podSpec(node string) corev1.PodSpec {
	return corev1.PodSpec{NodeName: node, TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}}
}

// add creates one ready pod on a node of the fleet.
func (f *podFleet) add(ctx context.Context) error {
	pods := f.clients.CoreV1().Pods(podNamespace)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("web-1-", f.made), Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(f.owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: podSpec(fmt.Sprint("node-", rand.IntN(podNodes)))}
	f.made++
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create a pod: %w", err)
	}
	const ready = `{"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastTransitionTime":%q}]}}`
	_, err := pods.Patch(ctx, pod.Name, types.MergePatchType, fmt.Appendf(nil, ready, time.Now().UTC().Format(time.RFC3339)),
		metav1.PatchOptions{}, "status")
	if err != nil {
		return fmt.Errorf("make a pod ready: %w", err)
	}
	f.names = append(f.names, pod.Name)
	return nil
}

// replaceOne deletes a pod and creates another on some node.
func (f *podFleet) replaceOne(ctx context.Context) error {
	i := rand.IntN(len(f.names))
	err := f.clients.CoreV1().Pods(podNamespace).Delete(ctx, f.names[i], metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
	if err != nil {
		return fmt.Errorf("delete a pod: %w", err)
	}
	f.names[i] = f.names[len(f.names)-1]
	f.names = f.names[:len(f.names)-1]
	return f.add(ctx)
}
