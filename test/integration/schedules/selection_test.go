package schedules

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// with returns a selector of objects with a label.
func with(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

var _ = Describe("A selection at night", func() {
	It("follows the labels of an object", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web, scene.Deployment(ns, "front", 1, "tier", "front"))
		scene.NightlyOn(ns, "nights", v1alpha1.TargetSelector{Selector: with("tier", "front")})
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"front": 0, "web": 3}))

		scene.Patch(web, scene.LabelPatch("tier", "front"))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(web, scene.LabelPatch("tier", ""))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
	})

	It("follows the annotations of an object", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		marked := scene.Deployment(ns, "marked", 1)
		marked.Annotations = map[string]string{"example.com/enabled": "true"}
		scene.Create(web, marked)
		scene.NightlyOn(ns, "nights", v1alpha1.TargetSelector{Annotations: map[string]string{"example.com/enabled": "true"}})
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"marked": 0, "web": 3}))

		scene.Patch(web, scene.AnnotationPatch("example.com/enabled", "true"))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		scene.Patch(web, scene.AnnotationPatch("example.com/enabled", "false"))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("leaves out objects with the label flyball.dev/exclude at once", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		web := scene.Deployment(ns, "web", 3)
		scene.Create(web, scene.Deployment(ns, "never", 2, v1alpha1.LabelExclude, "true"))
		scene.Nightly(ns, "nights")
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"never": 2, "web": 0}))

		scene.Patch(web, scene.LabelPatch(v1alpha1.LabelExclude, "true"))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))
		scene.Patch(web, scene.LabelPatch(v1alpha1.LabelExclude, ""))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(scene.Counts(ns)(Default)).To(HaveKeyWithValue("never", 2))
	})

	It("follows the labels of a namespace", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3), scene.Deployment(ns, "api", 1))
		scene.ClusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.NamespaceSelector = with("env", ns)
		})
		suite.Still(scene.Replicas(ns, "web")).Should(BeEquivalentTo(3))

		scene.Patch(scene.Namespace(ns), scene.LabelPatch("env", ns))
		Eventually(scene.Sleepers(ns)).Should(Equal(2))
		scene.Patch(scene.Namespace(ns), scene.LabelPatch("env", ""))
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"api": 1, "web": 3}))
	})

	It("takes in a namespace that is created with the label", func() {
		scene.StartManagerAsleep()
		env := fmt.Sprintf("new-%d", scene.Schedules.Add(1))
		scene.ClusterNightly(func(s *v1alpha1.ClusterScheduleSpec) { s.Target.NamespaceSelector = with("env", env) })
		ns := scene.NewNamespace("env", env)
		scene.Create(scene.Deployment(ns, "web", 3))
		Eventually(scene.Replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("wakes objects that it no longer selects", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Create(scene.Deployment(ns, "web", 3), scene.Deployment(ns, "api", 1))
		s := scene.NightlyOn(ns, "nights", v1alpha1.TargetSelector{Names: []string{"web", "api"}})
		Eventually(scene.Sleepers(ns)).Should(Equal(2))

		scene.Patch(s, `{"spec":{"target":{"names":["api"]}}}`)
		Eventually(scene.Counts(ns)).Should(Equal(map[string]int{"api": 0, "web": 3}))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
	})

	It("leaves out the namespaces that are excluded", func() {
		scene.StartManagerAsleep()
		env := fmt.Sprintf("shop-%d", scene.Schedules.Add(1))
		shop, payments := scene.NewNamespace("env", env), scene.NewNamespace("env", env)
		scene.Create(scene.Deployment(shop, "web", 3), scene.Deployment(payments, "web", 3))
		scene.ClusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.NamespaceSelector = with("env", env)
			s.Target.ExcludeNamespaces = []string{payments}
		})
		Eventually(scene.Replicas(shop, "web")).Should(BeEquivalentTo(0))
		suite.Still(scene.Replicas(payments, "web")).Should(BeEquivalentTo(3))
	})

	It("reaches the namespaces of Kubernetes and of Flyball only by name", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		names := []string{"kube-system", "kube-public", "kube-node-lease", harness.Namespace}
		for _, name := range names {
			d := scene.Deployment(name, ns, 3)
			scene.Create(d)
			DeferCleanup(func() { Expect(scene.Env.Client.Delete(scene.Ctx, d)).To(Succeed()) })
		}
		scene.Create(scene.Deployment(ns, ns, 3))
		every := scene.ClusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.Names = []string{ns}
			s.Target.NamespaceSelector = &metav1.LabelSelector{}
		})
		Eventually(scene.Replicas(ns, ns)).Should(BeEquivalentTo(0))
		for _, name := range names {
			Expect(scene.Replicas(name, ns)(Default)).To(BeEquivalentTo(3), name)
		}

		scene.Patch(every, `{"spec":{"target":{"namespaces":["kube-public"]}}}`)
		Eventually(scene.Replicas("kube-public", ns)).Should(BeEquivalentTo(0))
		Expect(scene.Replicas("kube-system", ns)(Default)).To(BeEquivalentTo(3))
	})
})
