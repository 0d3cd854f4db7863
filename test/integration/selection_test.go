package integration

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// with returns a selector of objects with a label.
func with(key, value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
}

var _ = Describe("A selection at night", func() {
	It("follows the labels of an object", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web, deployment(ns, "front", 1, "tier", "front"))
		nightlyOn(ns, "nights", v1alpha1.TargetSelector{Selector: with("tier", "front")})
		Eventually(counts(ns)).Should(Equal(map[string]int{"front": 0, "web": 3}))

		patch(web, label("tier", "front"))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(web, label("tier", ""))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		Eventually(ledger(ns, "web")).Should(BeEmpty())
	})

	It("follows the annotations of an object", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		marked := deployment(ns, "marked", 1)
		marked.Annotations = map[string]string{"example.com/enabled": "true"}
		create(web, marked)
		nightlyOn(ns, "nights", v1alpha1.TargetSelector{Annotations: map[string]string{"example.com/enabled": "true"}})
		Eventually(counts(ns)).Should(Equal(map[string]int{"marked": 0, "web": 3}))

		patch(web, annotation("example.com/enabled", "true"))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		patch(web, annotation("example.com/enabled", "false"))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
	})

	It("leaves out objects with the label flyball.dev/exclude at once", func() {
		startManagerAsleep()
		ns := newNamespace()
		web := deployment(ns, "web", 3)
		create(web, deployment(ns, "never", 2, v1alpha1.LabelExclude, "true"))
		nightly(ns, "nights")
		Eventually(counts(ns)).Should(Equal(map[string]int{"never": 2, "web": 0}))

		patch(web, label(v1alpha1.LabelExclude, "true"))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(3))
		patch(web, label(v1alpha1.LabelExclude, ""))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
		Expect(counts(ns)(Default)).To(HaveKeyWithValue("never", 2))
	})

	It("follows the labels of a namespace", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3), deployment(ns, "api", 1))
		clusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.NamespaceSelector = with("env", ns)
		})
		Consistently(replicas(ns, "web")).Should(BeEquivalentTo(3))

		patch(namespace(ns), label("env", ns))
		Eventually(sleepers(ns)).Should(Equal(2))
		patch(namespace(ns), label("env", ""))
		Eventually(counts(ns)).Should(Equal(map[string]int{"api": 1, "web": 3}))
	})

	It("takes in a namespace that is created with the label", func() {
		startManagerAsleep()
		env := fmt.Sprintf("new-%d", schedules.Add(1))
		clusterNightly(func(s *v1alpha1.ClusterScheduleSpec) { s.Target.NamespaceSelector = with("env", env) })
		ns := newNamespace("env", env)
		create(deployment(ns, "web", 3))
		Eventually(replicas(ns, "web")).Should(BeEquivalentTo(0))
	})

	It("wakes objects that it no longer selects", func() {
		startManagerAsleep()
		ns := newNamespace()
		create(deployment(ns, "web", 3), deployment(ns, "api", 1))
		s := nightlyOn(ns, "nights", v1alpha1.TargetSelector{Names: []string{"web", "api"}})
		Eventually(sleepers(ns)).Should(Equal(2))

		patch(s, `{"spec":{"target":{"names":["api"]}}}`)
		Eventually(counts(ns)).Should(Equal(map[string]int{"api": 0, "web": 3}))
		Eventually(targetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
	})

	It("leaves out the namespaces that are excluded", func() {
		startManagerAsleep()
		env := fmt.Sprintf("shop-%d", schedules.Add(1))
		shop, payments := newNamespace("env", env), newNamespace("env", env)
		create(deployment(shop, "web", 3), deployment(payments, "web", 3))
		clusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.NamespaceSelector = with("env", env)
			s.Target.ExcludeNamespaces = []string{payments}
		})
		Eventually(replicas(shop, "web")).Should(BeEquivalentTo(0))
		Consistently(replicas(payments, "web")).Should(BeEquivalentTo(3))
	})

	It("reaches the namespaces of Kubernetes and of Flyball only by name", func() {
		startManagerAsleep()
		ns := newNamespace()
		names := []string{"kube-system", "kube-public", "kube-node-lease", harness.Namespace}
		for _, name := range names {
			d := deployment(name, ns, 3)
			create(d)
			DeferCleanup(func() { Expect(env.Client.Delete(ctx, d)).To(Succeed()) })
		}
		create(deployment(ns, ns, 3))
		every := clusterNightly(func(s *v1alpha1.ClusterScheduleSpec) {
			s.Target.Names = []string{ns}
			s.Target.NamespaceSelector = &metav1.LabelSelector{}
		})
		Eventually(replicas(ns, ns)).Should(BeEquivalentTo(0))
		for _, name := range names {
			Expect(replicas(name, ns)(Default)).To(BeEquivalentTo(3), name)
		}

		patch(every, `{"spec":{"target":{"namespaces":["kube-public"]}}}`)
		Eventually(replicas("kube-public", ns)).Should(BeEquivalentTo(0))
		Expect(replicas("kube-system", ns)(Default)).To(BeEquivalentTo(3))
	})
})
