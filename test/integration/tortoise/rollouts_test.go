package tortoise

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

var _ = Describe("A Tortoise over several targets", func() {
	It("rolls out one after the other, goes on when one takes too long, and says so", func() {
		ns := suite.Namespace(ctx, env)
		names := []string{"a", "b", "c"}
		pause := func(name, paused string) {
			GinkgoHelper()
			d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
			Expect(env.Patch(ctx, d, `{"spec":{"paused":`+paused+`}}`)).To(Succeed())
		}
		for _, name := range names {
			Expect(env.Apply(ctx, fmt.Appendf(nil, deployment, ns, name))).To(Succeed())
			rememberOf(ns, name, learnt(ns))
		}
		for _, name := range names {
			Eventually(func(g Gomega) {
				var d appsv1.Deployment
				g.Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
				g.Expect(d.Status.AvailableReplicas).To(BeEquivalentTo(5))
			}).Should(Succeed())
			pause(name, "true") // so that a roll-out does not begin
		}
		changed := func(g Gomega) (which []string) {
			for _, name := range names {
				if requests(ns, name)(g)["memory"] != "1Gi" {
					which = append(which, name)
				}
			}
			return which
		}
		clock := clocktesting.NewFakeClock(noon.Add(time.Minute))
		start(clock)
		newTortoise(ns, v1alpha1.TortoiseAuto)
		Eventually(changed).Should(HaveLen(1))
		const others = "waits for other targets to roll out"
		Eventually(func(g Gomega) {
			for _, name := range names {
				st := recommendation(ns, name)(g)
				if name == changed(g)[0] {
					g.Expect(st.Waiting).To(BeEmpty())
				} else {
					g.Expect(st.Waiting).To(ContainSubstring(others))
				}
			}
			g.Expect(readyOf(ns)(g).Message).To(ContainSubstring(others))
		}).Should(Succeed())
		first := changed(Default)
		Expect(first).To(HaveLen(1))

		pause(first[0], "false")
		Eventually(changed).Should(HaveLen(2))
		Consistently(changed).WithTimeout(3 * time.Second).Should(HaveLen(2))

		clock.Step(10 * time.Minute)
		Eventually(changed).Should(HaveLen(3))
		Eventually(readyOf(ns)).Should(And(HaveField("Reason", "TargetsFailed"), HaveField("Message", ContainSubstring("its pods with other requests are not ready after 10m0s"))))
		for _, name := range names {
			pause(name, "false")
		}
		Eventually(readyOf(ns)).Should(HaveField("Status", metav1.ConditionTrue))
	})
})
