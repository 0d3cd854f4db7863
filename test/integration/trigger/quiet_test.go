package trigger

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// counter counts the requests that a manager sends about single objects of one resource in one namespace.
type counter struct {
	path string

	mu   sync.Mutex
	seen map[string]int
	// running is the number of requests whose answer has not come or is not counted yet.
	running int
}

func (c *counter) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
}

// end counts a request under the text what. If what is empty, the request does not count.
func (c *counter) end(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if what != "" {
		c.seen[what]++
	}
}

type counting struct {
	*counter
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (c counting) RoundTrip(req *http.Request) (*http.Response, error) {
	if !strings.Contains(req.URL.Path, c.path) {
		return c.next.RoundTrip(req)
	}
	c.begin()
	answer, err := c.next.RoundTrip(req)
	what := req.Method
	switch {
	case err == nil && answer.StatusCode == http.StatusConflict:
		what = "" // the watch has not brought the latest version, so the write is refused and repeated, and counts only once
	case strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch"):
		what = "APPLY"
	}
	c.end(what)
	return answer, err
}

// take returns the number of requests since its last call, by verb. The effect of a request can be seen before its
// answer, so take waits for all answers.
func (c *counter) take() (seen map[string]int) {
	GinkgoHelper()
	Eventually(func() int {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.running == 0 {
			seen, c.seen = c.seen, map[string]int{}
		}
		return c.running
	}).Should(BeZero())
	return seen
}

// costs matches the requests for undoing one drift, and in addition the given numbers of patches and reads of the
// object. One more read is allowed, because the watch may be behind the manager's own write.
func costs(patches, looks int) OmegaMatcher {
	return And(
		HaveKeyWithValue("APPLY", 1),
		WithTransform(func(seen map[string]int) int { return seen["GET"] }, BeNumerically("<=", looks+2)),
		WithTransform(func(seen map[string]int) int { return seen["PATCH"] }, Equal(patches)),
	)
}

// startCounted runs a manager whose requests are counted.
func startCounted(h float64, namespace, resource string) (*suite.Clock, *counter) {
	GinkgoHelper()
	clock := suite.NewClock(hour(h))
	c := &counter{path: "/namespaces/" + namespace + "/" + resource + "/", seen: map[string]int{}}
	config := rest.CopyConfig(env.Config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return counting{c, next} })
	suite.Start(ctx, env, harness.Options{Clock: clock, Config: config}, builtin...)
	return clock, c
}

// drift changes a label of the template and waits until the change is undone. The manager has then seen all earlier
// changes of the object.
func drift(namespace string, to string) {
	GinkgoHelper()
	Expect(env.Patch(ctx, autoscaler(namespace, 0, 0), fmt.Sprintf(`{"metadata":{"labels":{"made":%q}}}`, to))).To(Succeed())
	Eventually(label(namespace, "made")).Should(Equal("yes"))
}

// report writes the status of the autoscaler, as its controller does.
func report(namespace string, count int32) {
	GinkgoHelper()
	hpa := autoscaler(namespace, 0, 0)
	Eventually(func(g Gomega) {
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
		hpa.Status.CurrentReplicas, hpa.Status.DesiredReplicas = count, count
		g.Expect(env.Client.Status().Update(ctx, hpa)).To(Succeed())
	}).Should(Succeed())
}

// annotation reads an annotation of the autoscaler.
func annotation(namespace, key string) func(Gomega) string {
	return func(g Gomega) string {
		hpa := autoscaler(namespace, 0, 0)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(hpa), hpa)).To(Succeed())
		return hpa.Annotations[key]
	}
}

// quantities is a template with an annotation, whose amounts are written in another form than the API server uses.
const quantities = `{"apiVersion":"autoscaling/v2","kind":"HorizontalPodAutoscaler","metadata":{"name":"web","labels":{"made":"yes"},"annotations":{"example.com/team":"front"}},
"spec":{"minReplicas":1,"maxReplicas":4,"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":"web"},
"metrics":[{"type":"External","external":{"metric":{"name":"queue"},"target":{"type":"AverageValue","averageValue":"5000m"}}}]}}`

var _ = Describe("The object of a template", func() {
	peak := daily("peak", 1, "08:00", "11:00", values(5, 20))

	It("costs no request without a change, in any spelling of its values", func() {
		ns := newNamespace()
		clock, sent := startCounted(7, ns, "horizontalpodautoscalers")
		t := templated(ns, autoscalers, quantities, peak)
		create(t)
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		// Once both changes are undone, the watch shows the annotation, and the manager has seen the first form.
		Expect(env.Patch(ctx, autoscaler(ns, 0, 0), `{"metadata":{"annotations":{"example.com/team":"back"}}}`)).To(Succeed())
		Eventually(annotation(ns, "example.com/team")).Should(Equal("front"))
		drift(ns, "no")
		sent.take()

		By("its controller writes the status, and others add labels and annotations")
		for count := range int32(5) {
			report(ns, count)
			Expect(env.Patch(ctx, autoscaler(ns, 0, 0), fmt.Sprintf(`{"metadata":{"labels":{"theirs":"%[1]d"},"annotations":{"theirs":"%[1]d"}}}`,
				count))).To(Succeed())
		}
		drift(ns, "never")
		Expect(sent.take()).To(costs(0, 0))

		By("a window sets the bounds and restores them")
		for i, want := range [][2]int32{{5, 20}, {1, 4}} {
			clock.SetTime(hour(float64(8 + 3*i)))
			Eventually(bounds(ns)).Should(Equal(want))
			drift(ns, fmt.Sprint(i))
			Expect(sent.take()).To(costs(1, 1), "the bounds, and a look at what they have changed")
		}
		By("an edit of the Trigger that leaves the template as it is")
		edit(t, func(s *v1alpha1.TriggerSpec) { s.Triggers[0].During = values(6, 20) })
		Eventually(statusOf(t)).Should(HaveField("ObservedGeneration", t.Generation))
		drift(ns, "again")
		Expect(sent.take()).To(costs(0, 0))
	})

	It("has its annotations kept too", func() {
		start(7)
		ns := newNamespace()
		create(templated(ns, autoscalers, quantities, peak))
		Eventually(bounds(ns)).Should(Equal([2]int32{1, 4}))
		for _, text := range []string{`"back"`, `null`} {
			Expect(env.Patch(ctx, autoscaler(ns, 0, 0), `{"metadata":{"annotations":{"example.com/team":`+text+`}}}`)).To(Succeed())
			Eventually(annotation(ns, "example.com/team")).Should(Equal("front"))
		}
	})
})
