package scene

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// Night is a manager whose clock stands at nine in the evening. It can be stopped and started again. It also serves the
// clean-ups of a spec that were registered after its first start.
type Night struct {
	Running *harness.Manager
	Clock   *suite.Clock
	// config is the client configuration of the manager. It is nil for the administrator's configuration.
	Config *rest.Config
}

// ManagerAtNight starts the manager.
func ManagerAtNight() *Night {
	GinkgoHelper()
	n := &Night{}
	n.Start()
	DeferCleanup(n.Stop)
	return n
}

func (n *Night) Start() {
	n.Clock = suite.NewClock(Monday.Add(9 * time.Hour))
	n.Running = Env.Start(harness.Options{Clock: n.Clock, Config: n.Config, Log: GinkgoWriter})
}

func (n *Night) Stop() {
	GinkgoHelper()
	if n.Running != nil {
		running := n.Running
		n.Running = nil
		Expect(running.Stop()).To(Succeed())
	}
}

// Asleep creates a Deployment with a number of replicas and a Schedule, and waits until the Schedule has put the
// Deployment to sleep.
func Asleep(namespace string, replicasAwake int32, change ...func(*v1alpha1.ScheduleRules)) (*v1alpha1.Schedule, *v1alpha1.Schedule) {
	GinkgoHelper()
	Expect(Env.Client.Create(Ctx, Deployment(namespace, "web", replicasAwake, "tier", "front"))).To(Succeed())
	s := Nightly(namespace, "nights", change...)
	Eventually(Replicas(namespace, "web")).Should(BeEquivalentTo(0))
	return s, &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: s.Name}}
}

// Restored waits until the Deployment of asleep has its replicas again and has no annotation of Flyball.
func Restored(namespace string, n int) {
	GinkgoHelper()
	Eventually(Replicas(namespace, "web")).Should(BeEquivalentTo(n))
	Eventually(Ledger(namespace, "web")).Should(BeEmpty())
}
