package schedules

import (
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// job is a Job that runs; it is not created.
func job(namespace, name string) *batchv1.Job {
	return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: jobSpec()}
}

func jobSpec() batchv1.JobSpec {
	return batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}},
	}}}
}

// suspended reads whether a Job is suspended.
func suspended(namespace, name string) func(Gomega) bool {
	return func(g Gomega) bool {
		j := job(namespace, name)
		g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(j), j)).To(Succeed())
		return *j.Spec.Suspend
	}
}

var _ = Describe("A Job created at night", func() {
	It("is left alone until the next night, and an earlier Job sleeps", func() {
		ns := scene.NewNamespace()
		before := job(ns, "before")
		scene.Create(before)
		dusk := before.CreationTimestamp.UTC().Add(time.Second)
		clock := suite.NewClock(dusk.Add(-time.Minute))
		scene.StartManagerAt(clock)
		scene.NightlyOver(ns, func(s *v1alpha1.Schedule) {
			s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "batch", Kind: "Job"}}
			s.Spec.Upscale, s.Spec.Downscale = "", ""
			for _, start := range []time.Time{dusk, dusk.Add(2 * time.Hour)} {
				s.Spec.Asleep = append(s.Spec.Asleep, v1alpha1.Window{Start: start.Format(time.RFC3339),
					End: start.Add(time.Hour).Format(time.RFC3339)})
			}
		})
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Awake: 1}))

		clock.SetTime(dusk.Add(time.Minute))
		Eventually(suspended(ns, "before")).Should(BeTrue())
		Eventually(time.Now).Should(BeTemporally(">", dusk.Add(2*time.Second)), "the API server counts seconds")
		scene.Create(job(ns, "hook"))
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 1, Awake: 1}))
		Expect(suspended(ns, "hook")(Default)).To(BeFalse())

		clock.SetTime(dusk.Add(time.Hour))
		Eventually(suspended(ns, "before")).Should(BeFalse())
		clock.SetTime(dusk.Add(2 * time.Hour))
		Eventually(suspended(ns, "hook")).Should(BeTrue())
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
	})
})

var _ = Describe("A Job of a CronJob on whose kind Flyball lacks rights", func() {
	It("is left alone after a restart, and a Job without an owner sleeps", func() {
		var m *harness.Manager
		DeferCleanup(func() { // after the policies have gone
			if m != nil {
				Expect(m.Stop()).To(Succeed())
			}
		})
		ns := scene.NewNamespace()
		hourly := &batchv1.CronJob{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "hourly"},
			Spec: batchv1.CronJobSpec{Schedule: "0 * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: jobSpec()}}}
		scene.Create(hourly)
		owned := job(ns, "hourly-1")
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(hourly, batchv1.SchemeGroupVersion.WithKind("CronJob"))}
		scene.Create(owned)
		scene.NightlyOver(ns, func(s *v1alpha1.Schedule) { s.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "batch", Kind: "Job"}} })

		By("a manager with every right, which stops")
		before := scene.ManagerAtNight()
		scene.Create(job(ns, "first"))
		Eventually(suspended(ns, "first")).Should(BeTrue())
		before.Stop()

		By("a manager without the right to read CronJobs")
		const clerkName = "flyball-no-cronjobs"
		role := strings.Replace(fmt.Sprintf(scene.Clerk, clerkName), "[jobs, cronjobs]", "[jobs]", 1)
		Expect(role).To(ContainSubstring("resources: [jobs]"))
		Expect(scene.Env.Apply(scene.Ctx, []byte(role))).To(Succeed())
		scene.AwaitClerk(clerkName)
		DeferCleanup(func() { // the adapter cannot read its kind, so it holds back the deletion of policies that may have used it
			Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, scene.Clerk, clerkName))).To(Succeed())
		})
		m = scene.Env.Start(harness.Options{Clock: suite.NewClock(scene.Dusk.Add(1)), Config: scene.Env.Cluster.Impersonate(clerkName),
			Log: GinkgoWriter})
		Eventually(scene.AdapterCondition("cronjobs.batch", v1alpha1.ConditionAuthorized)).Should(scene.BeCondition(metav1.ConditionFalse,
			"MissingRules"))
		scene.Create(job(ns, "second"))
		Eventually(suspended(ns, "second")).Should(BeTrue())
		Eventually(scene.Targets(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 2, Asleep: 2}))
		Expect(scene.VersionOf(owned)(Default)).To(Equal(owned.ResourceVersion))
	})
})
