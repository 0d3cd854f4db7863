package cli

import (
	"context"
	"errors"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// overridesOf returns the Overrides of a namespace.
func overridesOf(ns string) []v1alpha1.Override {
	var list v1alpha1.OverrideList
	Expect(env.Client.List(ctx, &list, client.InNamespace(ns))).To(Succeed())
	return list.Items
}

var _ = Describe("Verbs that write", func() {
	var ns string
	asleep := func() string {
		return value(ns, change{Target: "CronJob.batch/" + ns + "/report", Field: "/spec/suspend"})
	}
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(asleep).Should(Equal("true"))
	})

	It("wake sleeping objects, wait until they are ready, and undo that", func() {
		got := run("alice:people", "", "wake", "cj/report", "-n", ns, "--until", "2026-03-03T00:00:00Z", "--reason", "month's end", "--wait")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		Expect(got.Out).To(And(ContainSubstring("cronjob/report: awake until Tue 2026-03-03 00:00 UTC"),
			ContainSubstring(".spec.suspend true -> false"), ContainSubstring("cronjob/report is ready")))
		Expect(asleep()).To(Equal("false"))
		Expect(overridesOf(ns)).To(ConsistOf(HaveField("Spec.OverrideRules", Equal(v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake,
			Until: "2026-03-03T00:00:00Z", Reason: "month's end"}))))

		got = run("alice:people", "", "wake", "cj/report", "-n", ns, "--end")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		Eventually(asleep).Should(Equal("true"))
	})

	It("put objects to sleep by day, and hold them", func() {
		clock.SetTime(noon)
		Eventually(asleep).Should(Equal("false"))
		got := run("alice:people", "", "sleep", "cj/report", "-n", ns, "--until", "2026-03-02T18:00:00Z", "--reason", "repair")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		Eventually(asleep).Should(Equal("true"))
		Expect(run("alice:people", "", "sleep", "cj/report", "-n", ns, "--end").Code).To(Equal(0))
		Eventually(asleep).Should(Equal("false"))

		paused := func() string {
			return value(ns, change{Target: "Deployment.apps/" + ns + "/web", Field: "/spec/paused"})
		}
		Expect(run("alice:people", "", "hold", "deployment/web", "-n", ns, "--until", "2026-03-02T18:00:00Z").Code).To(Equal(0))
		Eventually(paused).Should(Equal("true"))
		clock.SetTime(noon.Add(6 * time.Hour))
		Eventually(paused).ShouldNot(Equal("true"))
	})

	It("wake a namespace and a schedule", func() {
		for _, place := range []string{"namespace/" + ns, "schedule/nights"} {
			Expect(run("alice:people", "", "wake", place, "-n", ns, "--for", "1h").Code).To(Equal(0), place)
			Eventually(asleep).Should(Equal("false"), place)
			Expect(run("alice:people", "", "wake", place, "-n", ns, "--end").Code).To(Equal(0), place)
			Eventually(asleep).Should(Equal("true"), place)
		}
	})

	It("wait for the objects that a namespace and a schedule wake", func() {
		for _, place := range []string{"namespace/" + ns, "schedule/nights"} {
			got := run("alice:people", "", "wake", place, "-n", ns, "--for", "1h", "--wait", "--timeout", "2s")
			Expect(got.Code).To(Equal(1), place)
			// No controller creates the pods of web here. The CronJob report is ready once the manager has resumed it, which may
			// take longer than 2 s.
			Expect(got.ErrOut).To(MatchRegexp("(deployment/web|cronjob/report) is kept awake but not ready after 2s"), place)
			// A second call waits for the objects that are kept awake already.
			Eventually(asleep).Should(Equal("false"), place)
			got = run("alice:people", "", "wake", place, "-n", ns, "--for", "2h", "--wait", "--timeout", "2s")
			Expect(got).To(answered(1, "deployment/web is kept awake but not ready after 2s"), place)
			Expect(run("alice:people", "", "wake", place, "-n", ns, "--end").Code).To(Equal(0), place)
			Eventually(asleep).Should(Equal("true"), place)
		}
	})

	It("show a person how far the wait is, and end it once every object is ready, or at an interrupt", func() {
		begin := func() (out, progress *gbytes.Buffer, code chan int, interrupt context.CancelCauseFunc) {
			out, progress, code = gbytes.NewBuffer(), gbytes.NewBuffer(), make(chan int, 1)
			waiting, interrupt := context.WithCancelCause(ctx)
			args := []string{"wake", "namespace/" + ns, "-n", ns, "--for", "1h", "--wait", "--kubeconfig=" + env.Cluster.Kubeconfig,
				"--cache-dir=" + GinkgoT().TempDir()}
			go func() {
				code <- cli.Run(waiting, args, factory.Env{Now: clock.Now, Interactive: true,
					IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: progress}})
			}()
			Eventually(progress).Should(gbytes.Say("[01] of 2 ready, waiting for deployment/web: "))
			return out, progress, code, interrupt
		}
		_, progress, code, interrupt := begin()
		interrupt(errors.New("interrupt signal received"))
		Eventually(code).Should(Receive(Equal(1)))
		Expect(progress).To(gbytes.Say("deployment/web stays awake, but the wait for it has ended: interrupt signal received"))

		out, _, code, interrupt := begin()
		defer interrupt(nil)
		Eventually(func(g Gomega) { // the manager may write the object in between
			web := &appsv1.Deployment{ObjectMeta: objectMeta(ns, "web")}
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			web.Status = appsv1.DeploymentStatus{ObservedGeneration: web.Generation, Replicas: 3, UpdatedReplicas: 3, ReadyReplicas: 3,
				AvailableReplicas: 3}
			g.Expect(env.Client.Status().Update(ctx, web)).To(Succeed())
		}).Should(Succeed())
		Eventually(code).Should(Receive(Equal(0)))
		Expect(string(out.Contents())).To(And(ContainSubstring("deployment/web is ready"), ContainSubstring("cronjob/report is ready")))
	})

	It("name the objects that wake in all namespaces, if a schedule reaches all", func() {
		other := suite.Namespace(ctx, env)
		apply(shop, other)
		removeNights(other)
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: ClusterSchedule, metadata: {name: all-%[1]s}, spec: {target: {names: [report],
  namespaceSelector: {matchExpressions: [{key: kubernetes.io/metadata.name, operator: In, values: [%[2]s]}]}},
  upscale: "0 8 * * *", downscale: "0 20 * * *"}}`, ns, other)
		DeferCleanup(func() { suite.Remove(ctx, env, &v1alpha1.ClusterSchedule{ObjectMeta: objectMeta("", "all-"+ns)}) })
		got := run("viewer", "", "wake", "clusterschedule/all-"+ns, "-n", ns, "--for", "1h", "--dry-run")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		Expect(got.Out).To(ContainSubstring("CronJob.batch/" + other + "/report"))
	})

	It("write nothing in a dry run, and name the missing right", func() {
		Expect(run("alice:people", "", "wake", "cj/report", "-n", ns, "--for", "2h", "--dry-run").Out).To(ContainSubstring("dry run"))
		got := run("viewer", "", "wake", "cj/report", "-n", ns, "--for", "2h")
		Expect(got.Code).To(Equal(1))
		Expect(got.ErrOut).To(ContainSubstring("this right is needed: create overrides.flyball.dev in namespace " + ns))
		apply(`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {name: sale, namespace: %s},
  spec: {target: {}, startTime: "2026-03-02T12:00:00Z", endTime: "2026-03-04T12:00:00Z"}}`, ns)
		DeferCleanup(func() {
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
		})
		got = run("viewer", "", "except", "deployment/web", "-n", ns, "--allow", "rollout", "--for", "1h", "--reason", "fix")
		Expect(got.Code).To(Equal(1))
		Expect(got.ErrOut).To(ContainSubstring("create and except on freezeexceptions.flyball.dev"))
		Expect(overridesOf(ns)).To(BeEmpty())
	})

	It("create an exception that lifts the announced policies", func() {
		apply(`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {name: sale, namespace: %s},
  spec: {target: {}, startTime: "2026-03-02T12:00:00Z", endTime: "2026-03-04T12:00:00Z"}}`, ns)
		denied := func() int { return run("alice:people", "", "can-i", "rollout", "deployment/web", "-n", ns).Code }
		Eventually(denied).Should(Equal(1))
		got := run("alice:people", "", "except", "deployment/web", "-n", ns, "--allow", "rollout", "--for", "1h", "--reason", "CVE fix", "--name",
			"hotfix")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		Expect(got.Out).To(ContainSubstring("It lifts\n  RollOut Deployment.apps/" + ns + "/web"))
		Eventually(denied).Should(Equal(0))
		Expect(run("alice:people", "", "can-i", "delete", "deployment/web", "-n", ns).Code).To(Equal(1))
		Expect(run("alice:people", "", "can-i", "rollout", "deployment/web", "-n", ns, "--at", "+2h").Code).To(Equal(1))
		Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.FreezeException{}, client.InNamespace(ns))).To(Succeed())
		Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
	})
})
