package failures

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("Very many workloads whose writes are refused for one reason", func() {
	It("cost few requests, are all named as failed, and all sleep once the obstacle is gone", func() {
		const many = 300
		ns := scene.NewNamespace()
		sent := &gate{match: patchesIn(ns)}
		startBehind(suite.NewClock(scene.Dusk.Add(time.Hour)), sent)
		for i := range many {
			scene.Create(scene.Deployment(ns, fmt.Sprintf("web-%03d", i), 2))
		}
		lift := scene.Deny(ns, "{apiGroups: [apps], apiVersions: [v1], operations: [UPDATE], resources: [deployments]}",
			fmt.Sprintf("object.metadata.namespace == '%s'", ns), "object.spec.replicas == oldObject.spec.replicas", "the presses are running",
			func() error {
				return scene.Env.Client.Patch(scene.Ctx, scene.Deployment(ns, "web-000", 0),
					client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)),
					client.DryRunAll)
			})
		first := time.Now()
		scene.Nightly(ns, "nights")
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Failed: many}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(
			scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"), HaveField("Message", ContainSubstring("300 of 300 targets failed"))))
		Expect(scene.FailuresOf(ns, "nights")(Default)).To(And(HaveLen(10),
			HaveEach(HaveField("Message", ContainSubstring("the presses are running")))))
		Expect(sent.times()).NotTo(BeEmpty())
		// Ten writes a second are tried again. On a slow machine this begins while the first round is not complete.
		Expect(float64(len(sent.times()))).To(BeNumerically("<=", many+20+10*time.Since(first).Seconds()), "the first round")

		begun, sofar := time.Now(), len(sent.times())
		Eventually(func() time.Duration { return time.Since(begun) }).Should(BeNumerically(">", 5*time.Second))
		Expect(float64(len(sent.times()) - sofar)).To(BeNumerically("<=", 10*time.Since(begun).Seconds()+20))
		Eventually(func() int { return len(sent.times()) }).Should(BeNumerically(">", sofar), "nobody tries again")
		Expect(scene.TargetsOf(ns, "nights")(Default)).To(Equal(v1alpha1.TargetCounts{Total: many, Failed: many}))

		lift()
		Eventually(scene.Sleepers(ns)).Should(Equal(many))
		Eventually(scene.TargetsOf(ns, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: many, Asleep: many}))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})
