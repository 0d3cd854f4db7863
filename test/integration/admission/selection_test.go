package admission

import (
	"context"
	"fmt"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// warnings records the warnings of the API server.
type warnings struct {
	mu   sync.Mutex
	list []string
}

// HandleWarningHeaderWithContext implements rest.WarningHandlerWithContext.
func (w *warnings) HandleWarningHeaderWithContext(_ context.Context, _ int, _, text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.list = append(w.list, text)
}

func (w *warnings) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.list
}

var _ = DescribeTable("A likely mistake is let through with a warning",
	func(kind, spec string, want ...string) {
		daemon := object("DaemonSet", "agent",
			`{selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}}`)
		daemon.SetAPIVersion("apps/v1")
		Expect(client.IgnoreAlreadyExists(env.Client.Create(ctx, daemon))).To(Succeed())
		config := rest.CopyConfig(env.Config)
		said := func(g Gomega) []string {
			heard := &warnings{}
			config.WarningHandlerWithContext = heard
			c, err := client.New(config, client.Options{Scheme: env.Client.Scheme()})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(c.Create(ctx, object(kind, "selecting", spec), client.DryRunAll)).To(Succeed())
			return heard.all()
		}
		if len(want) == 0 {
			Expect(said(Default)).To(BeEmpty())
			return
		}
		matchers := make([]any, len(want))
		for i := range want {
			matchers[i] = ContainSubstring(want[i])
		}
		Eventually(said).Should(ContainElements(matchers...)) // a webhook whose lists take longer than two seconds gives no warning
	},
	Entry("nothing amiss", "Schedule", `{`+pair+`, target: {kinds: [{group: apps, kind: DaemonSet}], names: [agent]}}`),
	Entry("a name", "Schedule", `{`+pair+`, target: {kinds: [{group: apps, kind: DaemonSet}], names: [agnet]}}`,
		"spec.target.names: there is no object agnet; did you mean agent?"),
	Entry("a name of any kind", "Schedule", `{`+pair+`, target: {names: [agnet]}}`,
		"spec.target.names: there is no object agnet; did you mean agent?"),
	Entry("a kind", "Schedule", `{`+pair+`, target: {kinds: [{group: apps, kind: DemonSet}]}}`,
		"spec.target.kinds: there is no adapter for DemonSet.apps; did you mean DaemonSet.apps?"),
	Entry("a namespace", "ClusterSchedule", `{`+pair+`, target: {namespaces: [defaulr]}}`,
		"spec.target.namespaces: there is no namespace defaulr; did you mean default?"),
	Entry("labels of namespaces", "ClusterSchedule", `{`+pair+`, target: {namespaceSelector: {matchLabels: {env: nowhere}}}}`,
		"spec.target.namespaceSelector: no namespace has env=nowhere"),
	Entry("a kind outside namespaces", "Schedule", `{`+pair+`, target: {kinds: [{kind: Node}]}}`,
		"spec.target.kinds: Node lives outside namespaces"),
	Entry("a calendar", "Schedule", `{`+pair+
		`, calendars: [{name: nowhere, effect: Asleep}], target: {kinds: [{group: apps, kind: DaemonSet}], names: [agent]}}`,
		"calendars: there is no Calendar nowhere; the policy changes nothing until there is one"),
	Entry("holidays without a checked list", "Calendar", `{holidays: {country: MW}}`,
		"the holidays of MW were not checked against an official list"),
	Entry("of a freeze", "ChangeFreeze",
		`{startTime: 2036-03-02T12:00:00Z, endTime: 2036-03-03T12:00:00Z, deny: [Delete], target: {kinds: [{group: apps, kind: DemonSet}]}}`,
		"did you mean DaemonSet.apps?"),
	Entry("of the kinds to suspend", "ChangeFreeze",
		`{startTime: 2036-03-02T12:00:00Z, endTime: 2036-03-03T12:00:00Z, deny: [], suspend: [{group: apps, kind: DemonSet}]}`,
		"spec.suspend: there is no adapter for DemonSet.apps; did you mean DaemonSet.apps?"),
	Entry("of a trigger", "Trigger", `{target: {kinds: [{group: autoscaling, kind: HorizontalPodAutoscalr}]}, triggers: [{name: peak, `+
		morning+`, during: {min: 2}}]}`, "did you mean HorizontalPodAutoscaler.autoscaling?"),
)

var _ = It("A maintenance window that is never open together with another over the same objects is let through with a warning", func() {
	const days = `{target: {kinds: [{group: apps, kind: DaemonSet}]}, deny: [RollOut], windows: [{days: [%s], from: "10:00", to: "12:00"}]}`
	first := object("MaintenanceWindow", "tuesdays", fmt.Sprintf(days, "Tue"))
	Expect(env.Client.Create(ctx, first)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, first))).To(Succeed()) })
	config := rest.CopyConfig(env.Config)
	Eventually(func(g Gomega) {
		heard := &warnings{}
		config.WarningHandlerWithContext = heard
		c, err := client.New(config, client.Options{Scheme: env.Client.Scheme()})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(c.Create(ctx, object("MaintenanceWindow", "thursdays", fmt.Sprintf(days, "Thu")), client.DryRunAll)).To(Succeed())
		g.Expect(heard.all()).To(ContainElement(And(ContainSubstring("/tuesdays selects the same objects"),
			ContainSubstring("RollOut is always denied"))))
	}).Should(Succeed())

	By("naming each in the status of the other")
	second := object("MaintenanceWindow", "thursdays", fmt.Sprintf(days, "Thu"))
	Expect(env.Client.Create(ctx, second)).To(Succeed())
	DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, second))).To(Succeed()) })
	conflict := func(name string) (c metav1.Condition) {
		w := &v1alpha1.MaintenanceWindow{}
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: first.GetNamespace(), Name: name}, w)).To(Succeed())
		if found := meta.FindStatusCondition(w.Status.Conditions, v1alpha1.ConditionConflicting); found != nil {
			c = *found
		}
		return c
	}
	for name, other := range map[string]string{"tuesdays": "/thursdays selects the same objects",
		"thursdays": "/tuesdays selects the same objects"} {
		Eventually(conflict).WithArguments(name).Should(And(HaveField("Reason", "NeverOpen"), HaveField("Status", metav1.ConditionTrue),
			HaveField("Message", ContainSubstring(other))))
	}
	Expect(env.Client.Delete(ctx, second)).To(Succeed())
	Eventually(conflict).WithArguments("tuesdays").Should(HaveField("Status", metav1.ConditionFalse))
})
