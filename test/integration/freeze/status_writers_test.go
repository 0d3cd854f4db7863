package freeze

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// The user of these specs may write only /status of an object.
var _ = Describe("A writer of a status in a freeze", func() {
	It("cannot have an object deleted by an owner that does not exist", func() {
		ns, alice := newNamespace(), as("alice")
		var all []*unstructured.Unstructured
		for _, s := range specimens() {
			all = append(all, s.made(ns, "a"))
		}
		freezing(ns, "inventory", "Delete")
		eventuallyRefused(func() error { return alice.Delete(ctx, all[0].DeepCopy(), client.DryRunAll) })
		orphan := client.RawPatch(types.MergePatchType,
			[]byte(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"6f1e"}]}}`))
		refusals := 0
		for _, obj := range all {
			given := obj.DeepCopy()
			err := alice.Status().Patch(ctx, given, orphan)
			switch {
			case err == nil:
				Expect(given.GetOwnerReferences()).To(BeEmpty(), "the API server takes no owner from the status of %s", obj.GetKind())
			case apierrors.IsNotFound(err): // the kind has no status
			default:
				Expect(err).To(BeRefused("denies Delete"), obj.GetKind())
				refusals++
			}
		}
		Expect(refusals).To(BeNumerically(">", 0), "some kinds take owners from a status")
	})

	It("cannot end it by writing that an adapter's kind is not served", func() {
		ns, alice := newNamespace(), as("alice")
		web := deployment(ns, "web")
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		try := func() error { return patch(alice, web, toTwo, client.DryRunAll) }
		freezing(ns, "inventory", "Scale")
		eventuallyRefused(try)

		var a v1alpha1.Adapter
		report := func(change func(*[]metav1.Condition)) {
			GinkgoHelper()
			Eventually(func(g Gomega) { // the manager writes it too
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Name: "deployments.apps"}, &a)).To(Succeed())
				change(&a.Status.Conditions)
				g.Expect(env.Client.Status().Update(ctx, &a)).To(Succeed())
			}).Should(Succeed())
		}
		Expect(env.Client.Get(ctx, client.ObjectKey{Name: "deployments.apps"}, &a)).To(Succeed())
		before := a.DeepCopy()
		DeferCleanup(func() {
			report(func(all *[]metav1.Condition) { *all = before.Status.Conditions })
			Expect(env.AwaitAdapters(ctx, "deployments.apps")).To(Succeed())
		})
		report(func(all *[]metav1.Condition) {
			meta.SetStatusCondition(all, metav1.Condition{Type: v1alpha1.ConditionServed, Status: metav1.ConditionFalse, Reason: "KindNotServed",
				Message: "forged"})
		})

		// Another freeze makes the manager rebuild the configuration from everything that it knows.
		other := newNamespace()
		api := deployment(other, "api")
		Expect(env.Client.Create(ctx, api)).To(Succeed())
		freezing(other, "second", "Scale")
		Eventually(func() error { return patch(alice, api, toTwo, client.DryRunAll) }).Should(BeRefused(fmt.Sprintf("ChangeFreeze/%s/second",
			other)))
		Expect(try()).To(BeRefused())
	})
})
