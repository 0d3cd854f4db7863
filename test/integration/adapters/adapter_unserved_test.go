package adapters

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// starting answers discovery requests about a group like an API server that is starting. Such a server announces less
// than it serves.
type starting struct {
	group string
	// tells has the answers by the path below /apis/<group>. Any other path is answered with not found.
	tells map[string]string
	// objects is true if objects cannot be read either, and their watches end. discovers is true if only discovery is
	// wrong.
	objects   bool
	discovers atomic.Bool
	begun     atomic.Bool
	watches   sync.Map
}

// begin makes the API server behave as if it were starting.
func (s *starting) begin() {
	s.begun.Store(true)
	s.watches.Range(func(body, _ any) bool {
		_ = body.(io.Closer).Close() // it may have ended
		return true
	})
}

func (s *starting) wrap(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		below, ok := strings.CutPrefix(r.URL.Path, "/apis/"+s.group)
		object := strings.Count(below, "/") > 1
		if !ok || !s.begun.Load() || object && (!s.objects || r.Method != http.MethodGet) || !object && s.discovers.Load() {
			response, err := next.RoundTrip(r)
			if err == nil && ok && s.objects && r.URL.Query().Has("watch") {
				if s.watches.Store(response.Body, nil); s.begun.Load() {
					_ = response.Body.Close()
				}
			}
			return response, err
		}
		code, body := http.StatusNotFound, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`
		if told := s.tells[below]; told != "" {
			code, body = http.StatusOK, strings.ReplaceAll(told, "GROUP", s.group)
		}
		return answer(r, code, body), nil
	})
}

// withoutDefinitions keeps watches from delivering CustomResourceDefinitions and APIServices.
func (s *starting) withoutDefinitions(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		watching := strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadata")
		ofKinds := strings.HasSuffix(r.URL.Path, "/customresourcedefinitions") || strings.HasSuffix(r.URL.Path, "/apiservices")
		if watching && ofKinds && s.begun.Load() {
			return answer(r, http.StatusServiceUnavailable,
				`{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "ServiceUnavailable", "code": 503}`), nil
		}
		return next.RoundTrip(r)
	})
}

// definitions forbids the manager to list CustomResourceDefinitions.
func (s *starting) definitions(next http.RoundTripper) http.RoundTripper {
	return scene.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(r.URL.Path, "/customresourcedefinitions") || !s.begun.Load() {
			return next.RoundTrip(r)
		}
		return answer(r, http.StatusForbidden, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Forbidden", "code": 403}`),
			nil
	})
}

func answer(r *http.Request, code int, body string) *http.Response {
	return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(body))}
}

var _ = Describe("A kind that a starting API server does not list", func() {
	DescribeTable("is used as before, or again, without a later change",
		func(reason string, tells map[string]string) {
			k := scene.NewKind()
			Expect(k.Install(scene.Ctx, scene.Env)).To(Succeed())
			s := &starting{group: k.Group, tells: tells}
			n := &scene.Night{Config: rest.CopyConfig(scene.Env.Config)}
			n.Config.Wrap(s.wrap)
			n.Start()
			DeferCleanup(n.Stop)
			ns := scene.NewNamespace()
			a := scene.Adapt(k.Adapter(".spec.replicas"))
			scene.Press(k, ns, "daily", 3)
			nights := scene.PressNights(ns, k)
			Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
			Eventually(scene.Targets(ns, "nights")).Should(HaveField("Total", BeEquivalentTo(1)))

			s.begin()
			Expect(scene.Env.Patch(scene.Ctx, a.DeepCopy(), `{"spec":{"target":{"versions":["v1","v7"]}}}`)).To(Succeed())
			Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Reason", reason))
			// The manager checks all groups again 5 s after its start. The result must not depend on that check.
			Consistently(scene.Targets(ns, "nights"), 6*time.Second).Should(HaveField("Total", BeEquivalentTo(1)))

			s.begun.Store(false)
			Expect(scene.Env.Client.Delete(scene.Ctx, nights)).To(Succeed())
			Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Status", metav1.ConditionTrue))
			Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(3))
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

	It("is not released by a manager that starts meanwhile, nor is its adapter", func() {
		n, k, a, schedule := pressAtNight()
		n.Stop()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		s := &starting{group: k.Group}
		n.Config = rest.CopyConfig(scene.Env.Config)
		n.Config.Wrap(s.wrap)
		n.Config.Wrap(s.withoutDefinitions)
		s.begin()
		n.Start()
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message",
			ContainSubstring("does not serve it yet")))
		suite.Still(scene.Vanished(scene.Read(a))).ShouldNot(Succeed())

		s.begun.Store(false)
		awake(k, schedule)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	// lost puts an object to sleep by a Schedule that lists no kinds. Its API server can be made to know nothing of the
	// object's kind.
	var running *harness.Manager
	lost := func() (s *starting, k customkind.Kind, a *v1alpha1.Adapter, ns string) {
		k = scene.InstallKind()
		s = &starting{group: k.Group, objects: true}
		n := &scene.Night{Config: rest.CopyConfig(scene.Env.Config)}
		n.Config.Wrap(s.wrap)
		n.Start()
		DeferCleanup(n.Stop)
		running, ns = n.Running, scene.NewNamespace()
		a = scene.Adapt(k.Adapter(".spec.replicas"))
		scene.Press(k, ns, "daily", 3)
		scene.NightlyOver(ns, func(*v1alpha1.Schedule) {})
		Eventually(scene.PressCount(k, ns, "daily", ".spec.replicas")).Should(BeEquivalentTo(0))
		return s, k, a, ns
	}

	It("is put to sleep no more by an adapter in deletion", func() {
		s, k, a, _ := lost()
		later := scene.NewNamespace()
		awake := scene.Press(k, later, "second", 5)
		Eventually(scene.SeriesOf(running, "flyball_cache_objects", k.Name())).Should(BeEquivalentTo(2))
		s.begin()
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message",
			ContainSubstring("does not serve it yet")))
		s.discovers.Store(true)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message",
			ContainSubstring("changes of objects are not seen")))
		scene.NightlyOver(later, func(*v1alpha1.Schedule) {})
		suite.Still(scene.PressCount(k, later, "second", ".spec.replicas")).Should(BeEquivalentTo(5))

		s.begun.Store(false)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
		generation := awake.GetGeneration()
		Expect(scene.Env.Client.Get(scene.Ctx, client.ObjectKeyFromObject(awake), awake)).To(Succeed())
		Expect(awake.GetGeneration()).To(Equal(generation), "it was changed and given back")
	})

	It("makes the policies that need it not ready", func() {
		s, k, a, ns := lost()
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))

		s.begin()
		Expect(scene.Env.Patch(scene.Ctx, a.DeepCopy(), `{"spec":{"target":{"versions":["v1","v7"]}}}`)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(HaveField("Reason", "Unknown"))
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionFalse, "AdapterNotReady"))
		Consistently(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady),
			6*time.Second).Should(scene.BeCondition(metav1.ConditionFalse, "AdapterNotReady"))

		s.begun.Store(false)
		Eventually(scene.ConditionOf(ns, "nights", v1alpha1.ConditionReady)).Should(scene.BeCondition(metav1.ConditionTrue, "AsExpected"))
	})
})

// unserve makes the API server serve no version of a kind, or serve the kind again.
func unserve(k customkind.Kind, served bool) {
	GinkgoHelper()
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.SetName(k.Name())
	patch := fmt.Sprintf(`[{"op": "replace", "path": "/spec/versions/0/served", "value": %t}]`, served)
	Expect(scene.Env.Client.Patch(scene.Ctx, crd, client.RawPatch(types.JSONPatchType, []byte(patch)))).To(Succeed())
}

var _ = Describe("A kind that is defined and served in no version", func() {
	It("is kept, makes the policies that need it not ready, and works again once it is served", func() {
		_, k, a, s := pressAtNight()
		unserve(k, false)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(And(scene.BeCondition(metav1.ConditionFalse,
			"NothingServed"),
			HaveField("Message", ContainSubstring("set served: true"))))
		notReady := And(scene.BeCondition(metav1.ConditionFalse, "AdapterNotReady"), HaveField("Message", ContainSubstring("set served: true")))
		Eventually(scene.ConditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady)).Should(notReady)
		Consistently(scene.ConditionOf(s.Namespace, s.Name, v1alpha1.ConditionReady), 6*time.Second).Should(notReady)

		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message",
			ContainSubstring("cannot be restored: the CustomResourceDefinition")))
		Expect(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)(Default)).To(HaveField("Reason", "NothingServed"))
		unserve(k, true)
		awake(k, s)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})

	It("does not block its adapter and its policies once it is removed", func() {
		_, k, a, s := pressAtNight()
		unserve(k, false)
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse, "NothingServed"))
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message", ContainSubstring("cannot be restored")))

		Expect(k.Remove(scene.Ctx, scene.Env)).To(Succeed())
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
		Eventually(scene.Vanished(s)).Should(Succeed())
	})

	It("does not block policies of a starting manager, and is restored once it is served", func() {
		n, k, _, s := pressAtNight()
		n.Stop()
		unserve(k, false)
		Eventually(func() error {
			return scene.Env.Client.Get(scene.Ctx, client.ObjectKey{Namespace: s.Namespace, Name: "daily"}, k.Object(s.Namespace, "daily", nil))
		}).ShouldNot(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, s)).To(Succeed())
		n.Start()
		Eventually(scene.Vanished(s)).Should(Succeed())
		unserve(k, true)
		awake(k, s)
	})

	It("is not missed if Flyball has never changed an object of it", func() {
		n := scene.ManagerAtNight()
		ns := scene.NewNamespace()
		s := scene.NightlyOver(ns, func(*v1alpha1.Schedule) {})
		Eventually(scene.ConditionOf(ns, s.Name, v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionTrue))
		k := scene.InstallKind()
		unserve(k, false)
		scene.Adapt(k.Adapter(".spec.replicas"))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse, "NothingServed"))
		suite.Still(scene.ConditionOf(ns, s.Name, v1alpha1.ConditionReady)).Should(HaveField("Status", metav1.ConditionTrue))
		Eventually(scene.SeriesOf(n.Running, "flyball_adapter_kind_installed", k.Name())).Should(BeZero())
	})
})

var _ = Describe("A kind that is not installed", func() {
	It("is recognised without the right to list definitions", func() {
		forbidden := &starting{}
		forbidden.begun.Store(true)
		n := &scene.Night{Config: rest.CopyConfig(scene.Env.Config)}
		n.Config.Wrap(forbidden.definitions)
		n.Start()
		DeferCleanup(n.Stop)
		k := scene.NewKind()
		scene.Adapt(k.Adapter(".spec.replicas"))
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionServed)).Should(scene.BeCondition(metav1.ConditionFalse, "GroupNotServed"))
		Eventually(scene.SeriesOf(n.Running, "flyball_adapter_kind_installed", k.Name())).Should(BeZero())
	})

	It("blocks its adapter without the right to list definitions, if an object of it may sleep", func() {
		n, k, a, _ := pressAtNight()
		n.Stop()
		Expect(k.Remove(scene.Ctx, scene.Env)).To(Succeed())
		Eventually(func() error { return k.Gone(scene.Ctx, scene.Env) }).Should(Succeed())
		Expect(scene.Env.Client.Delete(scene.Ctx, scene.Read(a))).To(Succeed())
		forbidden := &starting{}
		forbidden.begun.Store(true)
		n.Config = rest.CopyConfig(scene.Env.Config)
		n.Config.Wrap(forbidden.definitions)
		n.Start()
		Eventually(scene.AdapterCondition(k.Name(), v1alpha1.ConditionReady)).Should(HaveField("Message",
			ContainSubstring("look for the CustomResourceDefinition "+k.Name())))
		forbidden.begun.Store(false)
		Eventually(scene.Vanished(scene.Read(a))).Should(Succeed())
	})
})
