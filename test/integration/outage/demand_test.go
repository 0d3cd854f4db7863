package outage

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// replica is one of two managers, with a Prometheus of its own that has no answer.
type replica struct {
	*harness.Process
	health string
	asked  atomic.Int64
}

func replicate() *replica {
	GinkgoHelper()
	r := &replica{health: fmt.Sprintf("127.0.0.1:%d", suite.FreePort())}
	prometheus := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		r.asked.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	DeferCleanup(prometheus.Close)
	r.Process = start("--leader-elect=true", "--health-probe-bind-address="+r.health, "--prometheus="+prometheus.URL)
	return r
}

// ready reports whether the replica has seen the cluster.
func (r *replica) ready() bool {
	resp, err := http.Get("http://" + r.health + "/readyz")
	if err != nil {
		return false
	}
	_ = resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

var _ = Describe("Two managers", func() {
	It("ask for the demand of a schedule by their leader alone", func() {
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "idle"}}
		s.Spec.Target.Namespaces = []string{suite.Namespace(ctx, env)}
		s.Spec.Idle = &v1alpha1.IdleRule{Demand: "sum by (namespace, name) (rate(requests[20s]))", AsleepAfter: "1m", Interval: "2s"}
		Expect(env.Client.Create(ctx, s)).To(Succeed())
		DeferCleanup(func() { Expect(env.Client.Delete(ctx, s)).To(Succeed()) })

		leader := replicate()
		Eventually(leader.asked.Load).Should(BeNumerically(">", 0))
		other := replicate()
		Eventually(other.ready).Should(BeTrue())
		before := leader.asked.Load()
		Eventually(leader.asked.Load).Should(BeNumerically(">", before+2))
		Expect(other.asked.Load()).To(BeZero())

		Expect(leader.Terminate()).To(Succeed())
		Eventually(other.asked.Load).Should(BeNumerically(">", 0))
	})
})
