package schedules

import (
	"encoding/json"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// fieldManager is Flyball's name in managedFields.
const fieldManager = "flyball"

// countOwners returns the field managers that own the count of the object.
func (a *applied) countOwners(g Gomega) (names []string) {
	for _, e := range a.get(g).GetManagedFields() {
		var fields map[string]map[string]any
		g.Expect(json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields)).To(Succeed())
		if _, owns := fields["f:spec"]["f:replicas"]; owns {
			names = append(names, e.Manager)
		}
	}
	return names
}

// applyByClient applies the object with a count, as kubectl apply does without --server-side. It computes the patch
// from the last applied, the new and the live object.
func (a *applied) applyByClient(manager string, count int64) {
	GinkgoHelper()
	manifest := a.live.DeepCopy()
	unstructured.RemoveNestedField(manifest.Object, "spec", "replicas")
	if count >= 0 {
		Expect(unstructured.SetNestedField(manifest.Object, count, "spec", "replicas")).To(Succeed())
	}
	text := must(manifest.MarshalJSON())
	manifest.SetAnnotations(map[string]string{corev1.LastAppliedConfigAnnotation: string(text)})
	live := a.live.DeepCopy()
	if err := scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(live), live); err != nil {
		Expect(client.IgnoreNotFound(err)).To(Succeed())
		Expect(scene.Env.Client.Create(scene.Ctx, manifest, client.FieldOwner(manager))).To(Succeed())
		return
	}
	meta := must(strategicpatch.NewPatchMetaFromStruct(appsv1.Deployment{}))
	last := []byte(live.GetAnnotations()[corev1.LastAppliedConfigAnnotation])
	patch := must(strategicpatch.CreateThreeWayMergePatch(last, must(manifest.MarshalJSON()), must(live.MarshalJSON()), meta, true))
	if string(patch) != "{}" {
		Expect(scene.Env.Client.Patch(scene.Ctx, live, client.RawPatch(types.StrategicMergePatchType, patch),
			client.FieldOwner(manager))).To(Succeed())
	}
}

func must[T any](value T, err error) T {
	GinkgoHelper()
	Expect(err).NotTo(HaveOccurred())
	return value
}

// argo compares and applies a Deployment as an Application of Argo CD does.
type argo struct {
	web *applied
	// serverSide is true for the option ServerSideApply=true. ignores is true for ignoreDifferences with
	// managedFieldsManagers: [flyball]. respects is true for the option RespectIgnoreDifferences=true.
	serverSide, ignores, respects bool
}

// ignored reports whether Argo CD ignores the count. It does so if the count differs from the count in Git and a
// trusted manager owns it.
func (a *argo) ignored(g Gomega, git int64) bool {
	return a.ignores && a.web.count(g) != git && slices.Contains(a.web.countOwners(g), fieldManager)
}

// outOfSync reports whether the count makes the Application OutOfSync. selfHeal would then sync it.
func (a *argo) outOfSync(git int64) func(Gomega) bool {
	return func(g Gomega) bool { return a.web.count(g) != git && !a.ignored(g, git) }
}

// sync applies the Deployment with the count in Git. If the count is ignored and the option respects is set, it applies
// the live count instead.
func (a *argo) sync(git int64) {
	GinkgoHelper()
	if a.respects && a.ignored(Default, git) {
		git = a.web.count(Default)
	}
	if a.serverSide {
		Expect(a.web.apply("argocd-controller", git, client.ForceOwnership)).To(Succeed())
		return
	}
	a.web.applyByClient("argocd-controller", git)
}

var _ = Describe("GitOps tools on an object that sleeps", func() {
	nightOf := func(day int) time.Time { return scene.Dusk.AddDate(0, 0, day).Add(time.Hour) }
	morningOf := func(day int) time.Time { return scene.Dawn.AddDate(0, 0, day).Add(time.Hour) }
	begin := func(ns string) {
		GinkgoHelper()
		scene.Nightly(ns, "nights")
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", ContainSubstring("1 target")))
	}
	restoredTo := func(web *applied, ns string, count int64) {
		GinkgoHelper()
		Eventually(web.count).Should(Equal(count))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		Eventually(web.managers).ShouldNot(ContainElement(fieldManager))
	}

	DescribeTable("Argo CD that ignores Flyball's fields and respects it when it syncs", func(serverSide bool) {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		app := &argo{web: web, serverSide: serverSide}
		app.sync(3)
		app.ignores, app.respects = true, true
		begin(ns)
		for day, git := range []int64{3, 5} {
			By("at night neither selfHeal nor a sync wakes it, also with another count in Git")
			clock.SetTime(nightOf(day))
			Eventually(web.count).Should(BeEquivalentTo(0))
			Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
			for _, count := range []int64{git, git + 2} {
				Expect(app.outOfSync(count)(Default)).To(BeFalse())
				app.sync(count)
				Expect(web.count(Default)).To(BeEquivalentTo(0))
			}
			suite.Still(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))

			By("in the morning it is as before, and Git rules again")
			clock.SetTime(morningOf(day))
			restoredTo(web, ns, git)
			Expect(app.outOfSync(git + 2)(Default)).To(BeTrue())
			app.sync(git + 2)
			Expect(web.count(Default)).To(Equal(git + 2))
		}
	},
		Entry("applied on the server", true),
		Entry("applied by the client", false),
	)

	It("Argo CD that only ignores Flyball's fields does not heal, but a sync wakes the object", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		app := &argo{web: web}
		app.sync(3)
		app.ignores = true
		begin(ns)
		clock.SetTime(nightOf(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		Expect(app.outOfSync(3)(Default)).To(BeFalse())
		app.sync(3)
		suite.Still(web.count).Should(BeEquivalentTo(3))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(morningOf(0))
		restoredTo(web, ns, 3)
	})

	It("Argo CD without the setting heals the object, which is then left awake", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		app := &argo{web: web, serverSide: true}
		app.sync(3)
		begin(ns)
		clock.SetTime(nightOf(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		Expect(app.outOfSync(3)(Default)).To(BeTrue())
		app.sync(3)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		Expect(web.count(Default)).To(BeEquivalentTo(3))
		clock.SetTime(morningOf(0))
		restoredTo(web, ns, 3)
		Expect(app.outOfSync(3)(Default)).To(BeFalse())
	})

	// reconcile applies as the kustomize-controller does by default: with force.
	reconcile := func(web *applied, git int64) {
		GinkgoHelper()
		Expect(web.apply("kustomize-controller", git, client.ForceOwnership)).To(Succeed())
	}

	It("Flux with the count in Git wakes the object at each reconciliation", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		reconcile(web, 3)
		begin(ns)
		clock.SetTime(nightOf(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		reconcile(web, 3)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(morningOf(0))
		restoredTo(web, ns, 3)
		reconcile(web, 4)
		Expect(web.countOwners(Default)).To(Equal([]string{"kustomize-controller"}))
	})

	It("Flux whose count leaves Git while the object sleeps does not wake it, and the count stays", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		reconcile(web, 3)
		begin(ns)
		for day := range 2 {
			clock.SetTime(nightOf(day))
			Eventually(web.count).Should(BeEquivalentTo(0))
			reconcile(web, -1)
			suite.Still(web.count).Should(BeEquivalentTo(0))
			clock.SetTime(morningOf(day))
			restoredTo(web, ns, 3)
			reconcile(web, -1)
			Expect(web.count(Default)).To(BeEquivalentTo(3))
		}
	})

	It("Flux whose count leaves Git by day sets it to the default, because no other manager owns it", func() {
		web := appliedDeployment(scene.NewNamespace())
		reconcile(web, 3)
		reconcile(web, -1)
		Expect(web.count(Default)).To(BeEquivalentTo(1))
	})

	It("Flux that ignores the count applies it only where it does not differ", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		ignoring := func(git int64) {
			GinkgoHelper()
			if web.count(Default) != git {
				git = -1
			}
			reconcile(web, git)
		}
		reconcile(web, 3)
		begin(ns)
		clock.SetTime(nightOf(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		ignoring(3)
		suite.Still(web.count).Should(BeEquivalentTo(0))
		clock.SetTime(morningOf(0))
		restoredTo(web, ns, 3)
		ignoring(3)
		Expect(web.countOwners(Default)).To(Equal([]string{"kustomize-controller"}))
		clock.SetTime(nightOf(1))
		Eventually(web.count).Should(BeEquivalentTo(0))
		clock.SetTime(morningOf(1))
		restoredTo(web, ns, 3)
	})

	It("kubectl apply without the count leaves it, and with the count wakes the object", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		web := appliedDeployment(ns)
		const kubectl = "kubectl-client-side-apply"
		web.applyByClient(kubectl, -1)
		scene.Scale(ns, "web", 3)
		begin(ns)
		clock.SetTime(nightOf(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		web.applyByClient(kubectl, -1)
		suite.Still(web.count).Should(BeEquivalentTo(0))
		web.applyByClient(kubectl, 4)
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Overridden: 1}))
		clock.SetTime(morningOf(0))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		Expect(web.count(Default)).To(BeEquivalentTo(4))
	})
})
