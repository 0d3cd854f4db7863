package deletioncost

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/test/integration/suite"
)

const (
	runs     = 10
	replicas = 30
)

func clock() time.Time { return time.Now() }

func containsCost(fields string) bool { return strings.Contains(fields, fleet.CostAnnotation) }

func spreadOf(count map[string]int) int {
	all := slices.Collect(maps.Values(count))
	return slices.Max(all) - slices.Min(all)
}

// best is the smallest spread that n pods can have which are left of those given. Whatever the costs, pods that are not ready go first.
func best(pods []*corev1.Pod, n int) int {
	left, broken, total := zones(pods), map[string]int{}, len(pods)
	for _, p := range pods {
		if !isReady(p) {
			broken[zoneOf[p.Spec.NodeName]]++
		}
	}
	fullest := func(of map[string]int) string {
		return slices.MaxFunc(slices.Collect(maps.Keys(of)), func(a, b string) int { return left[a] - left[b] })
	}
	for ; total > n; total-- {
		if len(broken) == 0 {
			left[fullest(left)]--
			continue
		}
		zone := fullest(broken)
		left[zone]--
		if broken[zone]--; broken[zone] == 0 {
			delete(broken, zone)
		}
	}
	return spreadOf(left)
}

// fleets are Deployments that are alike.
type fleets struct{ namespace string }

func newFleets() fleets {
	GinkgoHelper()
	f := fleets{suite.Namespace(ctx, env)}
	f.each(func(app string) { newDeployment(f.namespace, app, replicas) })
	f.await()
	return f
}

// each does something for every Deployment.
func (f fleets) each(do func(app string)) {
	for run := range runs {
		do(fmt.Sprintf("web-%d", run))
	}
}

func (f fleets) await() {
	GinkgoHelper()
	f.each(func(app string) { Eventually(ready(f.namespace, app, replicas)).Should(Succeed()) })
}

func (f fleets) deployment(app string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: app}}
}

func (f fleets) patch(app, body string) {
	GinkgoHelper()
	Expect(env.Patch(ctx, f.deployment(app), body)).To(Succeed())
}

// scaleDown scales all Deployments to 29, 28 and so on down to 1, and gives by how much the spread between zones is at most above the
// best that there can be.
func (f fleets) scaleDown() (worst int) {
	GinkgoHelper()
	start := map[string][]*corev1.Pod{}
	f.each(func(app string) { start[app] = podsOf(Default, f.namespace, app) })
	for n := replicas - 1; n > 0; n-- {
		f.each(func(app string) { f.patch(app, fmt.Sprintf(`{"spec":{"replicas":%d}}`, n)) })
		f.each(func(app string) {
			worst = max(worst, f.excess(app, start[app], n))
		})
	}
	return worst
}

// excess waits until an app has n pods and gives by how much their spread is above the best that can be left of those at the start.
func (f fleets) excess(app string, start []*corev1.Pod, n int) int {
	GinkgoHelper()
	var left []*corev1.Pod
	Eventually(func(g Gomega) {
		left = podsOf(g, f.namespace, app)
		g.Expect(left).To(HaveLen(n))
	}).Should(Succeed())
	count := zones(left)
	for zone := range zones(start) {
		count[zone] += 0
	}
	return spreadOf(count) - best(start, n)
}

var _ = Describe("Scaling down Deployments over zones of 3, 5 and 7 nodes", func() {
	nothing := func(fleets) {}
	DescribeTable("leaves the zones even for every n from 29 to 1", func(prepare func(fleets)) {
		start()
		with, without := newFleets(), newFleets()
		Expect(env.Client.Create(ctx, newPolicy(with.namespace, "zones"))).To(Succeed())
		var both sync.WaitGroup
		for _, f := range []fleets{with, without} {
			both.Go(func() {
				defer GinkgoRecover()
				prepare(f)
			})
		}
		both.Wait()
		with.each(func(app string) {
			Eventually(planned(with.namespace, app)).WithTimeout(2 * time.Minute).Should(Succeed())
		})
		var withCosts, withoutCosts int
		both.Go(func() {
			defer GinkgoRecover()
			withCosts = with.scaleDown()
		})
		both.Go(func() {
			defer GinkgoRecover()
			withoutCosts = without.scaleDown()
		})
		both.Wait()
		AddReportEntry(fmt.Sprintf("spread above the best there can be, at worst in %d runs: %d with Flyball, %d without", runs, withCosts, withoutCosts),
			ReportEntryVisibilityAlways)
		Expect(withCosts).To(BeNumerically("<=", 1))
		for _, f := range []fleets{with, without} {
			suite.Remove(ctx, env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}})
		}
	},
		Entry("as the scheduler has placed them", nothing),
		Entry("after pods were deleted at random", func(f fleets) {
			f.each(func(app string) {
				pods := podsOf(Default, f.namespace, app)
				rand.Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
				for _, p := range pods[:8] {
					Expect(env.Client.Delete(ctx, p)).To(Succeed())
				}
			})
			f.await()
		}),
		Entry("after a roll-out", func(f fleets) {
			f.each(func(app string) { f.patch(app, `{"spec":{"template":{"metadata":{"labels":{"revision":"2"}}}}}`) })
			f.each(func(app string) {
				Eventually(func(g Gomega) {
					pods := podsOf(g, f.namespace, app)
					g.Expect(pods).To(HaveLen(replicas))
					for _, p := range pods {
						g.Expect(p.Labels).To(HaveKeyWithValue("revision", "2"))
						g.Expect(isReady(p)).To(BeTrue())
					}
				}).Should(Succeed())
			})
		}),
		Entry("with a second ReplicaSet alive", withSecondReplicaSet),
		Entry("with a tenth of the pods not ready", func(f fleets) {
			f.each(func(app string) {
				pods := podsOf(Default, f.namespace, app)
				for _, i := range rand.Perm(len(pods))[:replicas/10] {
					unready(pods[i])
				}
			})
		}),
		Entry("after the nodes of a zone were cordoned and drained", func(f fleets) {
			for name, zone := range zoneOf {
				if zone == "zone-a" {
					Expect(env.Patch(ctx, node(name), `{"spec":{"unschedulable":true}}`)).To(Succeed())
				}
			}
			DeferCleanup(func() {
				for name := range zoneOf {
					Expect(env.Patch(ctx, node(name), `{"spec":{"unschedulable":null}}`)).To(Succeed())
				}
			})
			f.each(func(app string) {
				for _, p := range podsOf(Default, f.namespace, app) {
					if zoneOf[p.Spec.NodeName] == "zone-a" {
						Expect(client.IgnoreNotFound(env.Client.Delete(ctx, p))).To(Succeed())
					}
				}
			})
			f.await()
		}),
	)
})

// withSecondReplicaSet has roll-outs stop after the first ten pods: new ones are not available for an hour.
func withSecondReplicaSet(f fleets) {
	GinkgoHelper()
	f.each(func(app string) {
		f.patch(app, `{"spec":{"minReadySeconds":3600,"progressDeadlineSeconds":7200,"template":{"metadata":{"labels":{"revision":"2"}}}}}`)
	})
	f.each(func(app string) {
		Eventually(func(g Gomega) {
			groups := map[string]int{}
			for _, p := range podsOf(g, f.namespace, app) {
				groups[metav1.GetControllerOf(p).Name]++
			}
			g.Expect(slices.Sorted(maps.Values(groups))).To(Equal([]int{10, 20}))
		}).Should(Succeed())
		f.patch(app, `{"spec":{"paused":true}}`)
	})
	f.await()
}

// unready has a pod count as one that has not been ready for an hour.
func unready(p *corev1.Pod) {
	GinkgoHelper()
	Expect(env.Client.Status().Patch(ctx, p, client.RawPatch("application/strategic-merge-patch+json", fmt.Appendf(nil,
		`{"status":{"conditions":[{"type":"Ready","status":"False","reason":"Broken","lastTransitionTime":%q}]}}`,
		time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))))).To(Succeed())
}
