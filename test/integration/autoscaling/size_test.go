package autoscaling

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// An autoscaler whose target is outside of its new bounds would scale it at once, from the count that it had.
var _ = Describe("A size that a Trigger sets together with bounds around it", func() {
	It("stays with the autoscaler", func() {
		var all []string
		for i := range 4 {
			ns := fmt.Sprint("sized-", i)
			create(ns, 2,
				`minReplicas: 2, maxReplicas: 4, behavior: {scaleDown: {selectPolicy: Disabled}}, metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]`)
			all = append(all, ns)
		}
		clock := startManager()
		for _, ns := range all {
			t := &v1alpha1.Trigger{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "peak"}}
			t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "autoscaling", Kind: "HorizontalPodAutoscaler"}}
			t.Spec.Triggers = []v1alpha1.TimeTrigger{{
				Name: "evening", Window: v1alpha1.Window{From: "18:00", To: "22:00"},
				During: v1alpha1.TriggerValues{Min: ptr.To[int64](3), Max: ptr.To[int64](11), Replicas: ptr.To[int64](5)},
			}}
			Expect(env.Client.Create(ctx, t)).To(Succeed())
			DeferCleanup(func() { Expect(env.Client.Delete(ctx, t)).To(Succeed()) })
			Eventually(conditions(ns)).Should(HaveKeyWithValue(BeEquivalentTo("ScalingActive"), BeEquivalentTo("True")))
		}
		clock.SetTime(monday.Add(6*time.Hour + time.Minute))
		for _, ns := range all {
			Eventually(autoscaler(ns)).Should(And(HaveField("MinReplicas", HaveValue(BeEquivalentTo(3))),
				HaveField("MaxReplicas", BeEquivalentTo(11))))
		}
		for _, observed := range all {
			suite.DuringRounds(env, observed, rounds/2, func(g Gomega) {
				for _, ns := range all {
					g.Expect(replicas(ns)(g)).To(BeEquivalentTo(5), ns)
				}
			})
		}
	})
})
