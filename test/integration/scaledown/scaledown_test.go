package scaledown

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/integration/zones"
)

const (
	// runs is small, because a run costs as much as the specs of a small suite.
	runs = 3
	// comparisons is the number of runs without Flyball, which are only reported.
	comparisons = 1
	replicas    = 30
)

// fleet has an equal Deployment for each run.
type fleet struct {
	namespace string
	runs      int
}

func newFleet(runs int) fleet {
	GinkgoHelper()
	f := fleet{suite.Namespace(ctx, cluster.Env), runs}
	for run := range runs {
		cluster.NewDeployment(ctx, f.namespace, appOf(run), replicas)
	}
	return f
}

func appOf(run int) string { return fmt.Sprintf("web-%d", run) }

// each calls do for every Deployment, in parallel.
func (f fleet) each(do func(app string) error) error {
	var group errgroup.Group
	for run := range f.runs {
		group.Go(func() error { return do(appOf(run)) })
	}
	return group.Wait()
}

func (f fleet) await(app string, check func([]*corev1.Pod) error) error {
	_, err := pods.Await(f.namespace, app, check)
	return err
}

func allReady(list []*corev1.Pod) error { return zones.Ready(list, replicas) }

func (f fleet) patch(app, body string) error {
	return cluster.Patch(ctx, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: app}}, body)
}

// planned returns an error unless the pods of an app have the deletion costs that the planner wants.
func planned(list []*corev1.Pod) error {
	if n := len(cluster.Plan(list)); n > 0 {
		return fmt.Errorf("%d pods cost something else than planned", n)
	}
	return nil
}

// scaleDown scales a Deployment to 29, 28 and so on down to 1 replicas. It returns the largest difference between the
// spread over zones and the best possible spread.
func (f fleet) scaleDown(app string) (worst int, err error) {
	start := pods.Pods(f.namespace, app)
	for n := replicas - 1; n > 0; n-- {
		if err := f.patch(app, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)); err != nil {
			return 0, err
		}
		left, err := pods.Await(f.namespace, app, func(list []*corev1.Pod) error {
			if len(list) != n {
				return fmt.Errorf("there are %d pods, want %d", len(list), n)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		count := cluster.Count(left)
		for zone := range cluster.Count(start) {
			count[zone] += 0
		}
		worst = max(worst, zones.Spread(count)-cluster.Best(start, n))
	}
	return worst, nil
}

// scaleAllDown returns the worst result of all runs.
func (f fleet) scaleAllDown() (worst int, err error) {
	found := make(chan int, f.runs)
	err = f.each(func(app string) error {
		n, err := f.scaleDown(app)
		found <- n
		return err
	})
	for range f.runs {
		worst = max(worst, <-found)
	}
	return worst, err
}

var _ = Describe("Scaling down Deployments over zones of 3, 5 and 7 nodes", func() {
	DescribeTable("leaves the zones even for every n from 29 to 1", func(once func(), prepare func(fleet, string) error) {
		suite.Start(ctx, cluster.Env, harness.Options{}, "deployments.apps")
		with, without := newFleet(runs), newFleet(comparisons)
		Expect(cluster.Client.Create(ctx, zones.Policy(with.namespace, "zones"))).To(Succeed())
		ready := func(f fleet) error {
			return f.each(func(app string) error { return f.await(app, allReady) })
		}
		var both errgroup.Group
		for _, f := range []fleet{with, without} {
			both.Go(func() error { return ready(f) })
		}
		Expect(both.Wait()).To(Succeed())
		once()
		var withCosts, withoutCosts int
		both.Go(func() (err error) {
			if err := with.each(func(app string) error { return prepare(with, app) }); err != nil {
				return err
			}
			if err := with.each(func(app string) error { return with.await(app, planned) }); err != nil {
				return err
			}
			withCosts, err = with.scaleAllDown()
			return err
		})
		both.Go(func() (err error) {
			if err := without.each(func(app string) error { return prepare(without, app) }); err != nil {
				return err
			}
			withoutCosts, err = without.scaleAllDown()
			return err
		})
		Expect(both.Wait()).To(Succeed())
		AddReportEntry(fmt.Sprintf("spread above the best there can be, at worst: %d in %d runs with Flyball, %d in %d runs without", withCosts,
			runs,
			withoutCosts, comparisons),
			ReportEntryVisibilityAlways)
		Expect(withCosts).To(BeNumerically("<=", 1))
		for _, f := range []fleet{with, without} {
			Expect(cluster.Client.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})).To(Succeed())
		}
	},
		Entry("as the scheduler has placed them", nothing, func(fleet, string) error { return nil }),
		Entry("after pods were deleted at random", nothing, deleteSome),
		Entry("after a roll-out", nothing, rollOut),
		Entry("with a second ReplicaSet alive", nothing, secondReplicaSet),
		Entry("with a tenth of the pods not ready", nothing, breakSome),
		Entry("after the nodes of a zone were cordoned and drained", cordon, drain),
	)
})

func nothing() {}

// drained is the zone whose nodes are drained.
const drained = "zone-a"

func cordon() {
	GinkgoHelper()
	set := func(value string) {
		GinkgoHelper()
		for name, zone := range cluster.ZoneOf {
			if zone == drained {
				Expect(cluster.Patch(ctx, zones.Node(name), `{"spec":{"unschedulable":`+value+`}}`)).To(Succeed())
			}
		}
	}
	DeferCleanup(set, "null")
	set("true")
}

func drain(f fleet, app string) error {
	return f.replace(app, slices.DeleteFunc(pods.Pods(f.namespace, app),
		func(p *corev1.Pod) bool { return cluster.ZoneOf[p.Spec.NodeName] != drained }))
}

func deleteSome(f fleet, app string) error {
	list := pods.Pods(f.namespace, app)
	rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return f.replace(app, list[:8])
}

// replace deletes pods and waits until new pods are ready in their place.
func (f fleet) replace(app string, gone []*corev1.Pod) error {
	names := map[string]bool{}
	for _, p := range gone {
		names[p.Name] = true
		if err := client.IgnoreNotFound(cluster.Client.Delete(ctx, p)); err != nil {
			return err
		}
	}
	return f.await(app, func(list []*corev1.Pod) error {
		for _, p := range list {
			if names[p.Name] {
				return fmt.Errorf("%s is still there", p.Name)
			}
		}
		return allReady(list)
	})
}

func rollOut(f fleet, app string) error {
	if err := f.patch(app, `{"spec":{"template":{"metadata":{"labels":{"revision":"2"}}}}}`); err != nil {
		return err
	}
	return f.await(app, func(list []*corev1.Pod) error {
		for _, p := range list {
			if p.Labels["revision"] != "2" {
				return fmt.Errorf("%s is of the first revision", p.Name)
			}
		}
		return allReady(list)
	})
}

// secondReplicaSet begins a roll-out that stops after the first ten pods, because new pods count as available only
// after an hour.
func secondReplicaSet(f fleet, app string) error {
	if err := f.patch(app,
		`{"spec":{"minReadySeconds":3600,"progressDeadlineSeconds":7200,"template":{"metadata":{"labels":{"revision":"2"}}}}}`); err != nil {
		return err
	}
	err := f.await(app, func(list []*corev1.Pod) error {
		groups := map[string]int{}
		for _, p := range list {
			groups[metav1.GetControllerOf(p).Name]++
		}
		if sizes := slices.Sorted(maps.Values(groups)); !slices.Equal(sizes, []int{10, 20}) {
			return fmt.Errorf("the ReplicaSets have %v pods, want 10 and 20", sizes)
		}
		return allReady(list)
	})
	if err != nil {
		return err
	}
	return f.patch(app, `{"spec":{"paused":true}}`)
}

// breakSome marks pods as not ready for an hour.
func breakSome(f fleet, app string) error {
	list := pods.Pods(f.namespace, app)
	body := fmt.Appendf(nil, `{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Broken","lastTransitionTime":%q}]}}`,
		time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	for _, i := range rand.Perm(len(list))[:replicas/10] {
		if err := cluster.Client.Status().Patch(ctx, list[i].DeepCopy(),
			client.RawPatch("application/strategic-merge-patch+json", body)); err != nil {
			return err
		}
	}
	return f.await(app, func(list []*corev1.Pod) error {
		if n := len(slices.DeleteFunc(list, zones.IsReady)); n != replicas/10 {
			return fmt.Errorf("%d pods are not ready, want %d", n, replicas/10)
		}
		return nil
	})
}
