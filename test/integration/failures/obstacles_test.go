package failures

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// judge makes the API server call a webhook at an address for some resources of a namespace, until the returned
// function is called. If the webhook does not answer within 30 seconds, the API server refuses the change. judge
// returns once called reports, by the result of a dry run on a Deployment with the given name, that the webhook was called.
func judge(namespace, resources, address, name string, called func(error) bool) (lift func()) {
	GinkgoHelper()
	Expect(scene.Env.Apply(scene.Ctx, fmt.Appendf(nil, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: judge-%[1]s}
webhooks:
- name: judge.example.com
  clientConfig: {url: "https://%[3]s/"}
  rules: [{apiGroups: ["*"], apiVersions: ["*"], operations: [CREATE, UPDATE], resources: ["%[2]s"], scope: Namespaced}]
  namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: %[1]s}}
  failurePolicy: Fail
  sideEffects: None
  timeoutSeconds: 30
  admissionReviewVersions: [v1]
`, namespace, resources, address))).To(Succeed())
	passes := func() error {
		short, stop := context.WithTimeout(scene.Ctx, time.Second)
		defer stop()
		return scene.Env.Client.Patch(short, scene.Deployment(namespace, name, 0),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":99}}`)),
			client.DryRunAll)
	}
	Eventually(func() bool { return called(passes()) }).Should(BeTrue())
	lift = func() {
		GinkgoHelper()
		config := &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "judge-" + namespace}}
		Expect(client.IgnoreNotFound(scene.Env.Client.Delete(scene.Ctx, config))).To(Succeed())
		Eventually(passes).Should(Succeed())
	}
	DeferCleanup(lift)
	return lift
}

// silent returns the address of a listener that accepts connections and never answers, and a function for judge that
// reports whether a client has connected. It ends with the spec.
func silent() (address string, called func(error) bool) {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	var mu sync.Mutex
	var taken []net.Conn
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			taken = append(taken, conn)
			mu.Unlock()
		}
	}()
	DeferCleanup(func() {
		_ = listener.Close()
		mu.Lock()
		defer mu.Unlock()
		for _, conn := range taken {
			_ = conn.Close()
		}
	})
	return listener.Addr().String(), func(error) bool {
		mu.Lock()
		defer mu.Unlock()
		return len(taken) > 0
	}
}

// nobody returns an address at which no program listens, and a function for judge that reports whether the API server has failed to
// connect to it.
func nobody() (address string, called func(error) bool) {
	GinkgoHelper()
	return fmt.Sprintf("127.0.0.1:%d", suite.FreePort()), func(err error) bool {
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "judge.example.com"`)
	}
}

var _ = Describe("A webhook that fails closed", func() {
	It("and is down makes the targets fail, with its error in status and in an event, until the webhook is back", func() {
		clock := scene.StartManager()
		ns := scene.NewNamespace()
		for _, name := range []string{"one", "two", "three"} {
			scene.Create(scene.Deployment(ns, name, 3))
		}
		scene.Nightly(ns, "nights")
		clock.SetTime(scene.Dusk)
		Eventually(scene.Sleepers(ns)).Should(Equal(3))
		address, called := nobody()
		lift := judge(ns, "deployments", address, "one", called)
		clock.SetTime(scene.Monday.Add(21 * time.Hour))

		named := ContainSubstring(`failed calling webhook "judge.example.com"`)
		Eventually(scene.FailuresOf(ns, "nights")).Should(And(HaveLen(3), HaveEach(HaveField("Message", named))))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(And(scene.BeCondition(metav1.ConditionFalse, "TargetsFailed"),
			HaveField("Message", And(ContainSubstring("3 of 3 targets failed"), named))))
		Eventually(notes(ns, "nights", "TargetsFailed")).Should(ContainElement(named))
		Expect(scene.Sleepers(ns)(Default)).To(Equal(3))

		lift()
		Eventually(scene.Sleepers(ns)).Should(BeZero())
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})

	It("and hangs for one namespace delays no transition and no new schedule of another", func() {
		var begun, underWay, answered atomic.Int32
		clock, config := suite.NewClock(scene.Monday), rest.CopyConfig(scene.Env.Config)
		hung, other := scene.NewNamespace(), scene.NewNamespace()
		config.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
				if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/namespaces/"+hung+"/") {
					return next.RoundTrip(r)
				}
				if strings.Contains(r.URL.Path, "/deployments/") {
					begun.Add(1)
				}
				underWay.Add(1)
				defer underWay.Add(-1)
				defer answered.Add(1)
				return next.RoundTrip(r)
			})
		})
		suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: clock, Config: config}, scene.Builtin...)
		const many = 40
		for i := range many {
			scene.Create(scene.Deployment(hung, fmt.Sprintf("web-%02d", i), 2))
		}
		for i := range 5 {
			scene.Create(scene.Deployment(other, fmt.Sprintf("web-%02d", i), 2))
		}
		scene.Nightly(hung, "nights")
		scene.Nightly(other, "nights", func(r *v1alpha1.ScheduleRules) { r.Downscale = "30 20 * * *" })
		scene.Known(hung, many)
		scene.Known(other, 5)
		Eventually(underWay.Load).Should(BeZero())
		address, called := silent()
		judge(hung, "*/*", address, "web-00", called)
		silence, asked := answered.Load(), time.Now()

		clock.SetTime(scene.Dusk)
		Eventually(begun.Load).Should(BeNumerically(">=", 4))
		clock.SetTime(scene.Dusk.Add(30 * time.Minute))
		Eventually(scene.Sleepers(other)).Should(Equal(5))
		Eventually(scene.ConditionOf(other, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
		third := scene.NewNamespace()
		scene.Create(scene.Deployment(third, "web", 2))
		scene.Nightly(third, "nights")
		Eventually(scene.Sleepers(third)).Should(Equal(1))
		Eventually(scene.TargetsOf(third, "nights")).Should(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1}))
		// On a machine that is so slow that the webhook's time is over by now, the order proves nothing.
		Expect(answered.Load() == silence || time.Since(asked) >= 30*time.Second).To(BeTrue(),
			"the others were written only once the webhook's time was over")
	})
})
