package freeze

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// A canary is under way when a freeze with letFinish begins.
var _ = Describe("A roll-out that had begun", func() {
	It("is finished by its controller for letFinish, by nobody else, and none begins", func() {
		ns := newNamespace()
		argo, own, alice := as("system:serviceaccount:argo-rollouts:argo-rollouts"), as("system:serviceaccount:"+ns+":deployer"), as("alice")
		made := func(name, phase string) *unstructured.Unstructured {
			rollout := object(`
apiVersion: argoproj.io/v1alpha1
kind: Rollout
metadata: {name: %s, namespace: %s}
spec: {replicas: 3, template: {metadata: {labels: {app: a}}}}`, name, ns)
			Expect(env.Client.Create(ctx, rollout)).To(Succeed())
			Expect(env.Client.Status().Patch(ctx, rollout, merge(
				`{"status":{"phase":%q,"availableReplicas":3,"HPAReplicas":3,"currentStepIndex":1}}`, phase))).To(Succeed())
			return rollout
		}
		busy, done := made("busy", "Progressing"), made("done", "Healthy")
		replicas := object(`
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: busy-1
  namespace: %s
  ownerReferences: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout, name: busy, uid: %s, controller: true}]
spec:
  replicas: 0
  selector: {matchLabels: {app: a}}
  template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: "registry.example.com/a:1"}]}}`, ns, busy.GetUID())
		Expect(env.Client.Create(ctx, replicas)).To(Succeed())

		freezing(ns, "inventory", "Create, Delete, RollOut, Scale", "  letFinish: 30m")
		step := merge(`{"status":{"currentStepIndex":2}}`)
		by := func(c client.Client, obj *unstructured.Unstructured, what client.Patch) error {
			return c.Status().Patch(ctx, obj.DeepCopy(), what, client.DryRunAll)
		}
		scaled := func(c client.Client) error { return patch(c, replicas, toTwo, client.DryRunAll) }
		eventuallyRefused(func() error { return by(alice, busy, step) })

		Expect(by(argo, busy, step)).To(Succeed())
		Expect(scaled(argo)).To(Succeed())
		Expect(by(argo, done, step)).To(BeRefused("denies RollOut"), "this one has come to its end")
		Expect(by(own, busy, step)).To(BeRefused("denies RollOut"), "editors of the namespace can act as this account")
		Expect(scaled(own)).To(BeRefused("denies Scale"))
		Expect(scaled(alice)).To(BeRefused("denies Scale"))
		Expect(patch(argo, busy, toTwo, client.DryRunAll)).To(BeRefused("denies Scale"), "a spec is no status")
		Expect(patch(argo, busy, `{"spec":{"template":{"metadata":{"labels":{"app":"b"}}}}}`, client.DryRunAll)).To(BeRefused("denies RollOut"))
		Expect(patch(argo, busy, `{"spec":{"restartAt":"2026-03-02T12:00:00Z"}}`, client.DryRunAll)).To(BeRefused("denies RollOut"))
		Expect(argo.Delete(ctx, replicas.DeepCopy(), client.DryRunAll)).To(BeRefused("denies Delete"))

		By("guarding more time and a later start")
		f := &v1alpha1.ChangeFreeze{}
		Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: "inventory"}, f)).To(Succeed())
		Expect(f.Status.State).To(Or(BeEmpty(), Equal("Frozen")))
		for field, value := range map[string]string{"letFinish": "2h", "startTime": "2026-03-02T12:20:00Z"} {
			err := alice.Patch(ctx, f.DeepCopy(), merge(`{"spec":{%q:%q}}`, field, value), client.DryRunAll)
			Expect(err).To(MatchError(ContainSubstring("spec."+field)), "it needs the verb override")
		}

		By("ending with letFinish")
		clock.SetTime(noon.Add(30 * time.Minute))
		Expect(by(argo, busy, step)).To(BeRefused("denies RollOut"))
		Expect(scaled(argo)).To(BeRefused("denies Scale"))
	})
})

func merge(body string, args ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, body, args...))
}
