package tortoise

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// making makes a Tortoise create an autoscaler of the Deployment web.
func making(name string, then v1alpha1.AutoscalerRemoval) func(*v1alpha1.TortoiseSpec) {
	return func(s *v1alpha1.TortoiseSpec) {
		s.Target.Names = []string{"web"}
		s.Replicas.Max = ptr.To[int32](20)
		s.Autoscaler = &v1alpha1.MadeAutoscaler{Create: true, Name: name, OnDelete: then}
	}
}

// heard records the warnings in answers.
type heard struct{ all []string }

func (h *heard) HandleWarningHeaderWithContext(_ context.Context, code int, _, text string) {
	if code == 299 {
		h.all = append(h.all, text)
	}
}

// warnings installs the chart's admission policy that warns. The returned function returns the warnings for deleting an
// object.
func warnings() func(Gomega, client.Object) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(env.Root, "deploy/kustomize/base/flyball.yaml"))
	Expect(err).NotTo(HaveOccurred())
	all, err := harness.Objects(text)
	Expect(err).NotTo(HaveOccurred())
	for _, obj := range all {
		if obj.GetName() == "flyball-tuned" {
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func() { suite.Remove(ctx, env, obj) })
		}
	}
	said := &heard{}
	config := rest.CopyConfig(env.Config)
	config.WarningHandlerWithContext = said
	c, err := client.New(config, client.Options{Scheme: env.Client.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return func(g Gomega, obj client.Object) []string {
		said.all = nil
		g.Expect(c.Delete(ctx, obj, client.DryRunAll)).To(Succeed())
		return said.all
	}
}

var _ = Describe("A Tortoise that creates an autoscaler", func() {
	find := func(namespace, name string) func(Gomega) *autoscalingv2.HorizontalPodAutoscaler {
		return func(g Gomega) *autoscalingv2.HorizontalPodAutoscaler {
			h := &autoscalingv2.HorizontalPodAutoscaler{}
			err := env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, h)
			if apierrors.IsNotFound(err) {
				return nil
			}
			g.Expect(err).NotTo(HaveOccurred())
			return h
		}
	}

	It("tunes the autoscaler, and leaves it as created when the Tortoise is deleted", func() {
		ns := suite.Namespace(ctx, env)
		Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, "web"))).To(Succeed())
		ownWeb := owned(&appsv1.Deployment{}, ns, "web")(Default)
		remember(ns, learntOf(ns, noon, 30)) // with so many pods, another target utilisation saves some
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, making("", v1alpha1.KeepAutoscaler))
		tuned := func(g Gomega) {
			st := recommendation(ns, "web")(g)
			g.Expect(st.Autoscaler).NotTo(BeNil())
			g.Expect(st.Autoscaler.Name).To(Equal("web"))
			g.Expect(st.Autoscaler.Min.Applied && st.Autoscaler.Utilisation != nil && st.Autoscaler.Utilisation.Applied).To(BeTrue())
			spec := hpa(ns)(g)
			g.Expect(spec.MaxReplicas).To(BeEquivalentTo(20))
			g.Expect(spec.MinReplicas).To(HaveValue(Equal(st.Autoscaler.Min.Recommended)))
			g.Expect(spec.Metrics[0].Resource.Target.AverageUtilization).To(HaveValue(Equal(st.Autoscaler.Utilisation.Recommended)))
			g.Expect(st.Autoscaler.Utilisation.Recommended).NotTo(BeEquivalentTo(70))
		}
		Eventually(tuned).Should(Succeed())
		made := find(ns, "web")(Default)
		Expect(made.OwnerReferences).To(ConsistOf(HaveField("Name", "tuned")))
		still(tuned).Should(Succeed()) // first and tuned values must not alternate

		suite.Remove(ctx, env, t)
		Eventually(func(g Gomega) {
			h := find(ns, "web")(g)
			g.Expect(h).NotTo(BeNil())
			g.Expect(h.UID).To(Equal(made.UID))
			g.Expect(h.OwnerReferences).To(BeEmpty())
			g.Expect(h.Spec.MinReplicas).To(HaveValue(BeEquivalentTo(3)))
			g.Expect(h.Spec.Metrics[0].Resource.Target.AverageUtilization).To(HaveValue(BeEquivalentTo(70)))
		}).Should(Succeed())
		Eventually(owned(&appsv1.Deployment{}, ns, "web")).Should(MatchJSON(ownWeb))
	})

	It("creates none if the target has one, creates it when that is deleted, and removes it at the end", func() {
		ns := web()
		remember(ns, learnt(ns))
		start(clocktesting.NewFakeClock(noon.Add(time.Minute)))
		t := newTortoise(ns, v1alpha1.TortoiseAuto, making("made", v1alpha1.DeleteAutoscaler))
		governed := func(g Gomega) *v1alpha1.RecommendedAutoscaler {
			a := recommendation(ns, "web")(g).Autoscaler
			g.Expect(a).NotTo(BeNil())
			return a
		}
		Eventually(func(g Gomega) { g.Expect(governed(g).Min.Applied).To(BeTrue()) }).Should(Succeed())
		Expect(find(ns, "made")(Default)).To(BeNil())
		warned := warnings()
		Eventually(func(g Gomega) []string {
			return warned(g,
				find(ns, "web")(g))
		}).Should(ContainElement(ContainSubstring("a Tortoise tunes this autoscaler")))
		Expect(env.Client.Delete(ctx, find(ns, "web")(Default))).To(Succeed())
		Eventually(find(ns, "made")).ShouldNot(BeNil())
		Eventually(func(g Gomega) { g.Expect(governed(g).Name).To(Equal("made")) }).Should(Succeed())
		suite.Remove(ctx, env, t)
		Eventually(find(ns, "made")).Should(BeNil())
		Expect(env.Apply(ctx, fmt.Appendf(nil, autoscaler, ns, "web"))).To(Succeed())
		Expect(warned(Default, find(ns, "web")(Default))).To(BeEmpty())
	})
})
