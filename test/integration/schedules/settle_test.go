package schedules

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
)

var _ = Describe("The barrier in place of waiting", func() {
	It("returns only after the manager has seen a write and has reacted", func() {
		scene.StartManagerAsleep()
		ns := scene.NewNamespace()
		scene.Nightly(ns, "nights")
		for i := range 30 {
			name := fmt.Sprintf("web-%d", i)
			scene.Create(scene.Deployment(ns, name, 3))
			Expect(harness.Settle(scene.Ctx)).To(Succeed())
			Expect(scene.Replicas(ns, name)(Default)).To(BeEquivalentTo(0), name)
		}
	})
})
