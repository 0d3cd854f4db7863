package failures

import (
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// notes lists the notes of the events about an object with a given reason.
func notes(namespace, name, reason string) func(Gomega) []string {
	return func(g Gomega) (all []string) {
		var list eventsv1.EventList
		g.Expect(scene.Env.Client.List(scene.Ctx, &list, client.InNamespace(namespace))).To(Succeed())
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == name && e.Reason == reason {
				all = append(all, e.Note)
			}
		}
		return all
	}
}

// statusOf reads the status of a Schedule.
func statusOf(namespace, name string) func(Gomega) v1alpha1.PolicyStatus {
	return func(g Gomega) v1alpha1.PolicyStatus {
		var s v1alpha1.Schedule
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		return s.Status.PolicyStatus
	}
}

var _ = Describe("One tally", func() {
	It("is the source of status, metrics, events and messages", func() {
		clock := suite.NewClock(scene.Monday)
		m := scene.StartManagerAt(clock)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3), scene.Deployment(ns, "manual", 2))
		scene.Known(ns, 2)
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", "2 targets are as they should be"))
		Eventually(notes(ns, "nights", "Awake")).Should(ConsistOf(HaveSuffix("; 2 targets: 2 awake")))

		clock.SetTime(scene.Dusk)
		Eventually(notes(ns, "nights", "Asleep")).Should(ConsistOf(ContainSubstring("; 2 targets: ")))
		Eventually(scene.Replicas(ns, "manual")).Should(BeEquivalentTo(0))
		scene.Scale(ns, "manual", 1)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Overridden: 1}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionTrue, "AsExpected"),
			HaveField("Message", And(HavePrefix("1 target is as it should be; 1 overridden: "), ContainSubstring(ns+"/manual"),
				ContainSubstring("changed by another writer")))))
		Expect(statusOf(ns, "nights")(Default).Overridden).To(ConsistOf(And(
			HaveField("Name", "manual"), HaveField("Kind", "Deployment.apps"), HaveField("Message", ContainSubstring("changed by another writer")))))
		state := func(name string) func(Gomega) float64 {
			return func(g Gomega) float64 { return scene.SeriesOf(m, "flyball_targets", ns+"/nights", name)(g) }
		}
		Eventually(state("asleep")).Should(BeEquivalentTo(1))
		Eventually(state("overridden")).Should(BeEquivalentTo(1))
		Eventually(state("pending")).Should(BeEquivalentTo(0))
	})

	It("counts held and annotated targets as asleep", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		scene.NightlyOn(ns, "held", v1alpha1.TargetSelector{},
			func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Hold: new(true)} })
		other := scene.NewNamespace()
		scene.Create(scene.Deployment(other, "web", 3))
		scene.NightlyOn(other, "annotated", v1alpha1.TargetSelector{}, func(r *v1alpha1.ScheduleRules) {
			r.AsleepAs = &v1alpha1.AsleepAs{Annotations: map[string]string{"example.com/tier": "night"}}
		})
		clock.SetTime(scene.Dusk)
		Eventually(scene.TargetsOf(ns, "held")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		Eventually(scene.TargetsOf(other, "annotated")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		scene.Patch(&v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "held"}}, `{"spec":{"suspend":true}}`)
		Eventually(statusOf(ns, "held")).Should(HaveField("State", "Suspended"))
		Eventually(scene.TargetsOf(ns, "held")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
	})

	It("announces no transition that will not come", func() {
		g := &gate{match: patches("deployments")}
		clock := suite.NewClock(scene.Dusk.Add(3600e9))
		m := startBehind(clock, g)
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		s := scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		g.close()
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(statusOf(ns, "nights")).Should(And(HaveField("State", "Restoring"), HaveField("NextTransitionTime", BeNil())))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionFalse, "Restoring"),
			HaveField("Message", "being deleted: 1 target has still to be given back: Deployment.apps/"+ns+"/web: under way")))
		Expect(scene.ConditionOf(ns, "nights", v1alpha1.ConditionAsleep)(Default)).To(And(scene.BeCondition(metav1.ConditionFalse, "Restoring"),
			HaveField("Message", Not(ContainSubstring("until")))))
		Eventually(notes(ns, "nights", "Restoring")).Should(ConsistOf(Not(ContainSubstring("until"))))
		Eventually(labelled(m, ns+"/nights")).ShouldNot(ContainElement("flyball_next_transition_timestamp_seconds"))
		g.open()
		Eventually(scene.Vanished(s)).Should(Succeed())
	})

	It("names ten waiting and ten overridden targets", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		for i := range 12 {
			scene.Create(scene.Deployment(ns, fmt.Sprintf("web-%02d", i), 1))
		}
		s := scene.Nightly(ns, "nights", limitDown(1, 3600e9))
		Eventually(scene.TargetsOf(ns, "nights")).Should(HaveField("Awake", BeEquivalentTo(12)))
		clock.SetTime(scene.Dusk)
		Eventually(statusOf(ns, "nights")).Should(HaveField("Waiting", And(HaveLen(10),
			HaveEach(And(HaveField("Kind", "Deployment.apps"), HaveField("Namespace", ns), HaveField("Message", "waits for its batch"))))))
		scene.Nightly(ns, "over", scene.Never, scene.Priority(1))
		Eventually(statusOf(ns, "nights")).Should(And(HaveField("Waiting", BeEmpty()), HaveField("Overridden", And(HaveLen(10),
			HaveEach(HaveField("Message", "overruled by Schedule/"+ns+"/over on size (priority)"))))))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", And(
			HavePrefix("no target is as it should be; 12 overridden: "), HaveSuffix("and 9 more"))))
		Expect(s.Name).To(Equal("nights"))
	})

	It("sends long events, cut to the limit of the API server", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3))
		lift := scene.Deny(ns, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", ns), "object.spec.replicas == oldObject.spec.replicas", strings.Repeat("no.", 450),
			func() error {
				d := scene.Deployment(ns, "web", 3)
				return scene.Env.Client.Patch(scene.Ctx, d, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":99}}`)),
					client.DryRunAll)
			})
		defer lift()
		scene.Nightly(ns, "nights")
		Eventually(notes(ns, "nights", "TargetsFailed")).Should(ConsistOf(And(HaveLen(1024), HaveSuffix("... (the status has the rest)"))))
		Expect(len(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)(Default).Message)).To(BeNumerically(">", 1024))
	})
})
