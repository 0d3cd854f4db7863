package integration

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// cronJob returns a CronJob that its owner has suspended or not. It does not create it.
func cronJob(namespace, name string, suspended *bool) *batchv1.CronJob {
	c := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	c.Spec.Schedule, c.Spec.Suspend = "*/5 * * * *", suspended
	c.Spec.JobTemplate.Spec.Template.Spec = corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "main", Image: "example.com/report:1"}},
	}
	return c
}

var _ = Describe("An object at rest by its owner", func() {
	It("is not written before, during and after the night", func() {
		clock := startManager()
		ns := newNamespace()
		yes := true
		resting := []client.Object{deployment(ns, "zero", 0), cronJob(ns, "suspended", &yes)}
		create(resting...)
		create(deployment(ns, "web", 2), cronJob(ns, "report", nil))
		before := make([]string, len(resting))
		for i, obj := range resting {
			before[i] = obj.GetResourceVersion()
		}
		untouched := func(g Gomega) {
			for i, obj := range resting {
				g.Expect(versionOf(obj)(g)).To(Equal(before[i]), "%s was written", obj.GetName())
			}
		}
		nightly(ns, "nights")
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Awake: 4}))
		untouched(Default)

		clock.SetTime(dusk)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Asleep: 2, AlreadyAsleep: 2}))
		untouched(Default)

		clock.SetTime(dawn)
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 4, Awake: 4}))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2))
		Consistently(untouched).Should(Succeed())
	})

	It("stays at zero on waking if it was scaled to zero while asleep and awake again", func() {
		clock := startManager()
		ns := newNamespace()
		create(deployment(ns, "web", 2))
		nightly(ns, "nights")
		clock.SetTime(dusk)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		clock.SetTime(dawn)
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(2))
		Eventually(ledger(ns, "web")).Should(BeEmpty())

		scale(ns, "web", 0)
		clock.SetTime(dusk.AddDate(0, 0, 1))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, AlreadyAsleep: 1}))
		clock.SetTime(dawn.AddDate(0, 0, 1))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})
})
