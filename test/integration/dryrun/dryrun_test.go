// Package dryrun tests an installation that writes nothing (--dry-run), with the real manager against a real Kubernetes API server.
package dryrun

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

var (
	env *harness.Env
	ctx context.Context
)

func TestDryRun(t *testing.T) { suite.Run(t, "Dry run") }

var adapters = []string{"deployments.apps", "statefulsets.apps", "replicasets.apps", "horizontalpodautoscalers.autoscaling"}

var _ = BeforeSuite(func() {
	ctx = context.Background()
	env = suite.Up(ctx, local.Options{Level: local.LevelWorkloads, Audit: true}, adapters...)
})

// account is the user name of the manager, whose own writes freezes admit.
const account = "system:serviceaccount:flyball-system:flyball"

func config() *rest.Config { return env.Cluster.Impersonate(account, "system:masters") }

// monday is the beginning of the specs, before the evening of the schedule.
var monday = time.Date(2037, 1, 5, 19, 0, 0, 0, time.UTC)

const objects = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: web, labels: {tier: web}}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: "example.com/app:1"}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: front, labels: {tier: front}}
spec:
  replicas: 4
  selector: {matchLabels: {app: front}}
  template: {metadata: {labels: {app: front}}, spec: {containers: [{name: main, image: "example.com/app:1"}]}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: front, labels: {tier: front}}
spec:
  minReplicas: 4
  maxReplicas: 10
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: front}
`

const policies = `
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {namespace: %[1]s, name: nights}
spec:
  target: {selector: {matchLabels: {tier: web}}}
  upscale: "0 8 * * *"
  downscale: "0 20 * * *"
---
apiVersion: flyball.dev/v1alpha1
kind: Trigger
metadata: {namespace: %[1]s, name: peak}
spec:
  target: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscaler}]}
  triggers:
  - {name: evening, window: {days: [Mon, Tue], from: "20:00", to: "23:00"}, during: {min: 6, max: 20}}
---
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {namespace: %[1]s, name: holiday}
spec:
  startTime: 2037-01-05T12:00:00Z
  endTime: 2037-01-08T12:00:00Z
  deny: [RollOut]
  message: {reason: inventory}
`

// start runs a manager until the returned function is called.
func start(clock *clocktesting.FakeClock, dry bool) (m *harness.Manager) {
	GinkgoHelper()
	port := suite.FreePort()
	m = suite.Start(ctx, env, harness.Options{Clock: clock, Config: config(), DryRun: dry, Webhook: app.WebhookOptions{Enabled: true,
		Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball", Pods: true}}, adapters...)
	return m
}

// written returns the manager's requests that write, except to Flyball's own kinds and to those of its own operation.
func written(g Gomega) (all []string) {
	requests, err := env.Cluster.Audit()
	g.Expect(err).NotTo(HaveOccurred())
	for _, r := range requests {
		if r.UserAgent != "flyball-manager" || r.Object == nil || slices.Contains([]string{"get", "list", "watch"}, r.Verb) {
			continue
		}
		switch r.Object.APIGroup + "/" + r.Object.Resource {
		case "events.k8s.io/events", "coordination.k8s.io/leases", "/secrets", "authorization.k8s.io/selfsubjectaccessreviews",
			"authorization.k8s.io/subjectaccessreviews", "authentication.k8s.io/selfsubjectreviews", "authentication.k8s.io/tokenreviews":
			continue
		}
		if r.Object.APIGroup != v1alpha1.GroupVersion.Group && r.Object.APIGroup != "admissionregistration.k8s.io" {
			all = append(all, r.Verb+" "+r.URI)
		}
	}
	return all
}

func replicas(namespace, name string) func(Gomega) int32 {
	return func(g Gomega) int32 {
		var d appsv1.Deployment
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &d)).To(Succeed())
		return *d.Spec.Replicas
	}
}

func bounds(namespace string) func(Gomega) [2]int32 {
	return func(g Gomega) [2]int32 {
		var h autoscalingv2.HorizontalPodAutoscaler
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "front"}, &h)).To(Succeed())
		return [2]int32{*h.Spec.MinReplicas, h.Spec.MaxReplicas}
	}
}

func schedule(namespace string) func(Gomega) v1alpha1.PolicyStatus {
	return func(g Gomega) v1alpha1.PolicyStatus {
		var s v1alpha1.Schedule
		g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "nights"}, &s)).To(Succeed())
		return s.Status.PolicyStatus
	}
}

var _ = Describe("A dry run", func() {
	It("writes nothing, says what would be, and does it once it is off", func() {
		ns := suite.Namespace(ctx, env)
		Expect(env.Apply(ctx, fmt.Appendf(nil, objects, ns))).To(Succeed())
		Expect(env.Apply(ctx, fmt.Appendf(nil, policies, ns))).To(Succeed())
		clock := clocktesting.NewFakeClock(monday)
		m := start(clock, true)
		suite.AwaitWebhook(ctx, env)
		Eventually(schedule(ns)).Should(HaveField("Targets", HaveValue(HaveField("Awake", BeEquivalentTo(1)))))
		clock.SetTime(monday.Add(90 * time.Minute))

		By("the statuses of the evening, marked")
		Eventually(func(g Gomega) {
			st := schedule(ns)(g)
			g.Expect(st.State).To(Equal("Asleep"))
			g.Expect(st.Targets).To(HaveValue(HaveField("Asleep", BeEquivalentTo(1))))
			g.Expect(meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionDryRun)).To(HaveField("Message",
				ContainSubstring("writes nothing to targets")))
			var t v1alpha1.Trigger
			g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "peak"}, &t)).To(Succeed())
			g.Expect(t.Status.Targets).To(HaveValue(HaveField("Set", BeEquivalentTo(1))))
			g.Expect(meta.IsStatusConditionTrue(t.Status.Conditions, v1alpha1.ConditionDryRun)).To(BeTrue())
			g.Expect(notes(ns)(g)).To(ContainElement(HavePrefix("dry run: asleep since")))
		}).Should(Succeed())

		By("a change in the freeze, which passes with a warning")
		web := &appsv1.Deployment{}
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "web"}, web)).To(Succeed())
		warned := &warnings{}
		alice := env.Cluster.Impersonate("alice", "system:masters")
		alice.WarningHandler = warned
		people, err := client.New(alice, client.Options{Scheme: app.Scheme()})
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() []string {
			Expect(people.Patch(ctx, web, client.RawPatch(types.MergePatchType, fmt.Appendf(nil,
				`{"spec":{"template":{"metadata":{"annotations":{"try":"%d"}}}}}`, time.Now().UnixNano())))).To(Succeed())
			return warned.all()
		}).Should(ContainElement(And(HavePrefix("dry run of Flyball: this would be refused: "), ContainSubstring("inventory"))))

		By("the savings, counted as if")
		Eventually(func(g Gomega) {
			clock.Step(time.Minute)
			g.Expect(metric(m, "flyball_saved_replica_seconds_total")).To(BeNumerically(">", 0))
			g.Expect(metric(m, "flyball_dry_run")).To(BeEquivalentTo(1))
		}).Should(Succeed())

		By("the command line, which shows the same")
		var out, errOut strings.Builder
		args := []string{"explain", "deployment/web", "-n", ns, "--time-zone=UTC", "--kubeconfig=" + env.Cluster.Kubeconfig}
		code := cli.Run(ctx, args, factory.Env{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}, Now: clock.Now})
		Expect(code).To(BeZero(), errOut.String())
		Expect(out.String()).To(And(ContainSubstring("asleep, because of Schedule/"+ns+"/nights"), ContainSubstring("replicas 0 -> 3")))
		Expect(out.String()).To(ContainSubstring("note: Flyball runs with --dry-run"))

		suite.Still(written).Should(BeEmpty())
		Expect(replicas(ns, "web")(Default)).To(BeEquivalentTo(3))
		Expect(bounds(ns)(Default)).To(Equal([2]int32{4, 10}))

		By("the morning, on which the schedule wakes its target in the same way")
		clock.SetTime(monday.Add(14 * time.Hour))
		Eventually(schedule(ns)).Should(HaveField("Targets", HaveValue(HaveField("Awake", BeEquivalentTo(1)))))
		clock.SetTime(monday.Add(25*time.Hour + 30*time.Minute))
		Eventually(schedule(ns)).Should(HaveField("Targets", HaveValue(HaveField("Asleep", BeEquivalentTo(1)))))
		suite.Still(written).Should(BeEmpty())
		Expect(m.Stop()).To(Succeed())

		By("the same night in earnest")
		start(clock, false)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(written).ShouldNot(BeEmpty(), "written knows a write")
		Eventually(bounds(ns)).Should(Equal([2]int32{6, 20}))
		Eventually(func(g Gomega) {
			st := schedule(ns)(g)
			g.Expect(meta.FindStatusCondition(st.Conditions, v1alpha1.ConditionDryRun)).To(BeNil())
			g.Expect(st.Targets).To(HaveValue(HaveField("Asleep", BeEquivalentTo(1))))
		}).Should(Succeed())
		Eventually(func() error {
			return env.Client.Patch(ctx, web, client.RawPatch(types.MergePatchType,
				[]byte(`{"spec":{"template":{"metadata":{"annotations":{"try":"again"}}}}}`)), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("denied the request")))
		clock.SetTime(monday.Add(38 * time.Hour))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(bounds(ns)).Should(Equal([2]int32{4, 10}))
	})
})

// notes returns the notes of the events in a namespace.
func notes(namespace string) func(Gomega) []string {
	return func(g Gomega) (all []string) {
		var list eventsv1.EventList
		g.Expect(env.Client.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		for _, e := range list.Items {
			if e.ReportingController == "flyball" {
				all = append(all, e.Note)
			}
		}
		return all
	}
}

// metric returns the sum of a metric's series.
func metric(m *harness.Manager, name string) (sum float64) {
	families, err := m.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() == name {
			for _, s := range f.Metric {
				sum += s.GetCounter().GetValue() + s.GetGauge().GetValue()
			}
		}
	}
	return sum
}

// warnings collects the warnings of API servers.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeader implements rest.WarningHandler.
func (w *warnings) HandleWarningHeader(_ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.list)
}
