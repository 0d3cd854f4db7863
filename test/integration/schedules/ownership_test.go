package schedules

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// applied is an object that its owners write by server-side apply.
type applied struct{ live *unstructured.Unstructured }

// appliedDeployment returns a Deployment called web. It does not create it.
func appliedDeployment(namespace string) *applied {
	return &applied{live: unstructuredOf(scene.Deployment(namespace, "web", 1))}
}

// apply applies the object with a count as a field manager. If the count is negative, it applies the object without the
// count.
func (a *applied) apply(manager string, count int64, opts ...client.PatchOption) error {
	obj := a.live.DeepCopy()
	unstructured.RemoveNestedField(obj.Object, "spec", "replicas")
	if count >= 0 {
		Expect(unstructured.SetNestedField(obj.Object, count, "spec", "replicas")).To(Succeed())
	}
	body, err := obj.MarshalJSON()
	Expect(err).NotTo(HaveOccurred())
	return scene.Env.Client.Patch(scene.Ctx, obj, client.RawPatch(types.ApplyPatchType, body), append(opts, client.FieldOwner(manager))...)
}

func (a *applied) get(g Gomega) *unstructured.Unstructured {
	obj := a.live.DeepCopy()
	g.Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
	return obj
}

func (a *applied) count(g Gomega) int64 { return customkind.Number(a.get(g), ".spec.replicas") }

// managers returns the field managers that own fields of the object.
func (a *applied) managers(g Gomega) []string {
	var names []string
	for _, e := range a.get(g).GetManagedFields() {
		names = append(names, e.Manager)
	}
	return names
}

// unstructuredOf returns an object in the form in which it is written, without a status.
func unstructuredOf(obj client.Object) *unstructured.Unstructured {
	GinkgoHelper()
	gvk, err := scene.Env.Client.GroupVersionKindFor(obj)
	Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{}
	Expect(scene.Env.Client.Scheme().Convert(obj, u, nil)).To(Succeed())
	u.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(u.Object, "status")
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	return u
}

// patchCounter counts the patches in one namespace that the API server accepts. It can be told to hold back patches of
// managedFields.
type patchCounter struct {
	namespace string

	mu    sync.Mutex
	all   int
	drops bool
}

func (c *patchCounter) wrap(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.Method != http.MethodPatch || !strings.Contains(r.URL.Path, "/namespaces/"+c.namespace+"/deployments/") {
			return next.RoundTrip(r)
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		r.Body = io.NopCloser(bytes.NewReader(body))
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.drops && bytes.Contains(body, []byte(`"/metadata/managedFields/`)) {
			return nil, fmt.Errorf("the manager is gone before this write")
		}
		resp, err := next.RoundTrip(r)
		if err == nil && resp.StatusCode == http.StatusOK {
			c.all++
		}
		return resp, err
	})
}

func (c *patchCounter) set(drops bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drops = drops
}

func (c *patchCounter) patches() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.all
}

// start runs a manager whose patches are counted.
func (c *patchCounter) start(clock *suite.Clock) *harness.Manager {
	GinkgoHelper()
	config := rest.CopyConfig(scene.Env.Config)
	config.Wrap(c.wrap)
	return suite.Start(scene.Ctx, scene.Env, harness.Options{Clock: clock, Config: config}, scene.Builtin...)
}

var _ = Describe("Server-side apply by the owner", func() {
	const helm, flux, flyball = "helm", "flux", "flyball"
	dusk := func(day int) time.Time { return scene.Monday.Add(time.Duration(day)*24*time.Hour + 9*time.Hour) }
	dawn := func(day int) time.Time { return scene.Monday.Add(time.Duration(day)*24*time.Hour + 21*time.Hour) }

	overNights := func(clock *suite.Clock, ns string, web *applied, atNight int64) {
		GinkgoHelper()
		Expect(web.apply(helm, 3)).To(Succeed())
		s := scene.Nightly(ns, "nights", func(r *v1alpha1.ScheduleRules) { r.AsleepAs = &v1alpha1.AsleepAs{Replicas: &atNight} })
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(HaveField("Message", ContainSubstring("1 target")))

		By("at night: without the field it changes nothing, with another value it is refused")
		clock.SetTime(dusk(0))
		Eventually(web.count).Should(Equal(atNight))
		Expect(web.apply(helm, -1)).To(Succeed())
		Expect(web.apply(flux, -1)).To(Succeed())
		suite.Still(web.count).Should(Equal(atNight))
		Expect(web.apply(helm, 5)).To(MatchError(ContainSubstring(`conflict with "` + flyball + `"`)))

		By("by day: the field is its owner's again")
		clock.SetTime(dawn(0))
		Eventually(web.count).Should(BeEquivalentTo(3))
		Eventually(web.managers).ShouldNot(ContainElement(flyball))
		Expect(web.apply(helm, 4)).To(Succeed())
		Expect(web.count(Default)).To(BeEquivalentTo(4))
		Expect(web.apply(flux, 6)).To(MatchError(ContainSubstring(`conflict with "`+helm+`"`)), "the two of them are no concern of Flyball's")

		By("at night, with force: it stays until the next transition, and then it is the owner's")
		clock.SetTime(dusk(1))
		Eventually(web.count).Should(Equal(atNight))
		suite.Settled() // until a count behind /scale is confirmed by a further write, another count is overwritten
		Expect(web.apply(helm, 2, client.ForceOwnership)).To(Succeed())
		suite.Still(web.count).Should(BeEquivalentTo(2))
		clock.SetTime(dawn(1))
		Eventually(web.managers).ShouldNot(ContainElement(flyball))
		Expect(web.apply(helm, 3)).To(Succeed())

		By("after the policy is gone")
		clock.SetTime(dusk(2))
		Eventually(web.count).Should(Equal(atNight))
		scene.Remove(s)
		Eventually(web.count).Should(BeEquivalentTo(3))
		Eventually(web.managers).ShouldNot(ContainElement(flyball))
		Expect(web.apply(helm, 7)).To(Succeed())
	}

	It("meets no conflict once a Deployment is restored", func() {
		clock, ns := scene.StartManager(), scene.NewNamespace()
		overNights(clock, ns, appliedDeployment(ns), 0)
	})

	It("meets no conflict once a count behind /scale is restored", func() {
		clock := scene.StartManager()
		a := customkind.Kind{}.Adapter(".spec.replicas")
		a.Name, a.Spec.Target.Kind = "replicationcontrollers", "ReplicationController"
		a.Spec.Scale[0].Via = v1alpha1.ViaScale
		scene.Adapt(a)
		ns := scene.NewNamespace()
		web := appliedDeployment(ns)
		web.live.SetAPIVersion("v1")
		web.live.SetKind("ReplicationController")
		selector, _, err := unstructured.NestedMap(web.live.Object, "spec", "selector", "matchLabels")
		Expect(err).NotTo(HaveOccurred())
		Expect(unstructured.SetNestedMap(web.live.Object, selector, "spec", "selector")).To(Succeed())
		unstructured.RemoveNestedField(web.live.Object, "spec", "strategy")
		overNights(clock, ns, web, 1) // the API server keeps no owner of a zero there
	})

	It("costs one more write each morning, and none without server-side appliers", func() {
		for _, tc := range []struct {
			applies bool
			want    int
		}{{false, 2}, {true, 3}} {
			ns := scene.NewNamespace()
			web, c := appliedDeployment(ns), &patchCounter{namespace: ns}
			clock := suite.NewClock(scene.Monday)
			m := c.start(clock)
			if tc.applies {
				Expect(web.apply(helm, 3)).To(Succeed())
			} else {
				Expect(scene.Env.Client.Create(scene.Ctx, scene.Deployment(ns, "web", 3))).To(Succeed())
			}
			s := scene.Nightly(ns, "nights")
			clock.SetTime(dusk(0))
			Eventually(web.count).Should(BeEquivalentTo(0))
			clock.SetTime(dawn(0))
			Eventually(web.count).Should(BeEquivalentTo(3))
			Eventually(c.patches).Should(Equal(tc.want))
			suite.Still(c.patches).Should(Equal(tc.want))
			scene.Remove(s)
			Expect(m.Stop()).To(Succeed())
		}
	})

	It("is free again after the next night if a manager stopped between the two writes", func() {
		ns := scene.NewNamespace()
		web, c := appliedDeployment(ns), &patchCounter{namespace: ns, drops: true}
		clock := suite.NewClock(scene.Monday)
		m := c.start(clock)
		Expect(web.apply(helm, 3)).To(Succeed())
		s := scene.Nightly(ns, "nights")
		clock.SetTime(dusk(0))
		Eventually(web.count).Should(BeEquivalentTo(0))
		clock.SetTime(dawn(0))
		Eventually(web.count).Should(BeEquivalentTo(3))
		Eventually(scene.Ledger(ns, "web")).Should(BeEmpty())
		Expect(m.Stop()).To(Succeed())
		Expect(web.apply(helm, 4)).To(MatchError(ContainSubstring(`conflict with "` + flyball + `"`)))

		c.set(false)
		clock = suite.NewClock(dusk(1))
		c.start(clock)
		Eventually(web.count).Should(BeEquivalentTo(0))
		clock.SetTime(dawn(1))
		Eventually(web.count).Should(BeEquivalentTo(3))
		Eventually(web.managers).ShouldNot(ContainElement(flyball))
		Expect(web.apply(helm, 4)).To(Succeed())
		scene.Remove(s)
	})
})
