package integration

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
)

// starting answers questions of discovery about a group as an API server does that starts: it tells of less than it serves.
type starting struct {
	group string
	// tells is what is answered by the path below /apis/<group>; what is not in it is not found.
	tells map[string]string
	begun atomic.Bool
}

func (s *starting) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		below, ok := strings.CutPrefix(r.URL.Path, "/apis/"+s.group)
		if !ok || strings.Count(below, "/") > 1 || !s.begun.Load() {
			return next.RoundTrip(r)
		}
		code, body := http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		if told := s.tells[below]; told != "" {
			code, body = http.StatusOK, strings.ReplaceAll(told, "GROUP", s.group)
		}
		return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	})
}

var _ = Describe("A kind that an API server does not tell of while it starts", func() {
	DescribeTable("is used as before, or again, though nothing changes afterwards",
		func(reason string, tells map[string]string) {
			k := newKind()
			Expect(k.Install(ctx, env)).To(Succeed())
			s := &starting{group: k.Group, tells: tells}
			n := &night{config: rest.CopyConfig(env.Config)}
			n.config.Wrap(s.wrap)
			n.start()
			DeferCleanup(n.stop)
			ns := newNamespace()
			a := adapt(k.Adapter(".spec.replicas"))
			press(k, ns, "daily", 3)
			nights := pressNights(ns, k)
			Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
			Eventually(targets(ns, "nights")).Should(HaveField("Total", BeEquivalentTo(1)))

			s.begun.Store(true)
			Expect(env.Patch(ctx, a.DeepCopy(), `{"spec":{"target":{"versions":["v1","v7"]}}}`)).To(Succeed())
			Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Reason", reason))
			// All groups are checked again 5 s after the manager has started. That must not be what helps.
			Consistently(targets(ns, "nights"), 6*time.Second).Should(HaveField("Total", BeEquivalentTo(1)))

			s.begun.Store(false)
			Expect(env.Client.Delete(ctx, nights)).To(Succeed())
			Eventually(adapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Status", metav1.ConditionTrue))
			Eventually(pressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
		},
		Entry("its group", "Unknown", nil),
		Entry("the kind in its group", "Unknown", map[string]string{
			"": `{"kind": "APIGroup", "apiVersion": "v1", "name": "GROUP", "versions": [{"groupVersion": "GROUP/v1", "version": "v1"}]}`,
		}),
		Entry("its version", "VersionNotServed", map[string]string{
			"": `{"kind": "APIGroup", "apiVersion": "v1", "name": "GROUP", "versions": [{"groupVersion": "GROUP/v2", "version": "v2"}]}`,
			"/v2": `{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "GROUP/v2",
				"resources": [{"name": "presses", "kind": "Press", "namespaced": true, "verbs": ["get", "list", "watch", "patch"]}]}`,
		}),
	)
})
