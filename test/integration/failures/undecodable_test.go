package failures

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
)

// A stored object that the manager cannot decode would disable every policy of the kind. Only a real API server
// evaluates the CEL rules of a CRD. A property test of the policy kinds checks the rest.
var _ = Describe("An API server without Flyball's webhook", func() {
	It("keeps no instant that does not decode", func() {
		ns := scene.NewNamespace()
		s := scene.Nightly(ns, "nights")
		status := func(body string) error {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"status":%s}`, body))
			return scene.Env.Client.Status().Patch(scene.Ctx, s.DeepCopy(), patch, client.DryRunAll)
		}
		condition := func(at string) string {
			return fmt.Sprintf(`{"conditions":[{"type":"Ready","status":"True","reason":"Fine","message":"","lastTransitionTime":%s}]}`, at)
		}
		batch := func(at string) string { return fmt.Sprintf(`{"upscaleBatch":{"openedAt":%s}}`, at) }
		next := func(at string) string { return fmt.Sprintf(`{"nextTransitionTime":%s}`, at) }
		Expect(status(condition(`"2026-12-20T00:00:00Z"`))).To(Succeed())
		Expect(status(next(`"2026-12-20T00:00:00.5+02:00"`))).To(Succeed())
		Expect(status(batch(`"2026-12-20T00:00:00.000000Z"`))).To(Succeed())
		for _, at := range []string{`"2026-12-20t00:00:00z"`, `"2026-12-20T00:00:00Zt"`, `"2026-12-20T00:00:00+99:99"`, `["a"]`} {
			for _, body := range []string{condition(at), next(at), batch(at)} {
				err := status(body)
				Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", body, err)
			}
		}
		Expect(apierrors.IsInvalid(status(batch(`"2026-12-20T00:00:00Z"`)))).To(BeTrue(), "openedAt has microseconds")
	})

	It("keeps a duration in days, and none in words", func() {
		ns := scene.NewNamespace()
		s := scene.Nightly(ns, "nights")
		limit := func(delay string) error {
			return scene.Env.Patch(scene.Ctx, s.DeepCopy(), fmt.Sprintf(`{"spec":{"upscaleRateLimit":{"batchSize":1,"delayBetweenBatches":%s}}}`,
				delay))
		}
		Expect(limit(`"1d12h"`)).To(Succeed())
		for _, delay := range []string{`"a day"`, `"-1h"`, `"1us"`, `""`, `["1h"]`, `5`} {
			err := limit(delay)
			Expect(apierrors.IsInvalid(err)).To(BeTrue(), "%s: %v", delay, err)
		}
	})

	It("keeps no quantity that takes minutes to read, or that does not decode", func() {
		t := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: scene.NewNamespace(), Name: "look"}}
		t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
		Expect(scene.Env.Client.Create(scene.Ctx, t)).To(Succeed())
		least := func(cpu string) error {
			patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"resources":[{"min":{"cpu":%s}}]}}`, cpu))
			return scene.Env.Client.Patch(scene.Ctx, t.DeepCopy(), patch, client.DryRunAll)
		}
		for _, cpu := range []string{`1`, `"100m"`, `"1.5"`, `"1e1"`} {
			Expect(least(cpu)).To(Succeed(), cpu)
		}
		for _, cpu := range []string{`"1e-999999999"`, `"1e999999999"`, `"1e1.5"`, `"much"`, `1.5`} {
			Expect(least(cpu)).To(MatchError(ContainSubstring("spec.resources[0].min.cpu")), cpu)
		}
	})
})
