package freeze

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// transport is a RoundTripper that is a function.
type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// enforcing is a manager in a cluster of its own. It can be kept from writing and from reading webhook configurations.
type enforcing struct {
	env     *harness.Env
	manager *harness.Manager
	// kept is true if writes of webhook configurations are held back. blind is true if the manager has no right to read
	// webhook configurations.
	kept, blind atomic.Bool
}

func startEnforcing() *enforcing {
	GinkgoHelper()
	e := &enforcing{env: suite.Up(ctx, local.Options{Level: local.LevelAPI, Log: GinkgoWriter}, "deployments.apps")}
	config := rest.CopyConfig(e.env.Cluster.Impersonate("system:serviceaccount:flyball-system:flyball", "system:masters"))
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return transport(func(r *http.Request) (*http.Response, error) {
			if e.blind.Load() && strings.Contains(r.URL.Path, "/validatingwebhookconfigurations") {
				r = r.Clone(r.Context())
				r.Header.Set("Impersonate-User", "nobody")
				r.Header.Del("Impersonate-Group")
			}
			if e.kept.Load() && r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/validatingwebhookconfigurations") {
				return nil, errors.New("kept from writing")
			}
			return next.RoundTrip(r)
		})
	})
	e.manager = suite.Start(ctx, e.env, harness.Options{Clock: clock, Config: config, Webhook: webhookAt(suite.FreePort(), "flyball")},
		"deployments.apps")
	return e
}

func (e *enforcing) ready(g Gomega) metav1.Condition { return e.condition(g, v1alpha1.ConditionReady) }

func (e *enforcing) active(g Gomega) metav1.Condition {
	return e.condition(g, v1alpha1.ConditionActive)
}

func (e *enforcing) condition(g Gomega, kind string) metav1.Condition {
	var f v1alpha1.ClusterChangeFreeze
	g.Expect(e.env.Client.Get(ctx, client.ObjectKey{Name: "inventory"}, &f)).To(Succeed())
	c := meta.FindStatusCondition(f.Status.Conditions, kind)
	g.Expect(c).NotTo(BeNil())
	return *c
}

// enforced reads the metric. It returns -1 if the metric has no series.
func (e *enforcing) enforced(g Gomega) float64 {
	families, err := e.manager.Registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	for _, f := range families {
		if f.GetName() == "flyball_freeze_enforced" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	return -1
}

func (e *enforcing) events(g Gomega) (reasons []string) {
	var list eventsv1.EventList
	g.Expect(e.env.Client.List(ctx, &list)).To(Succeed())
	for i := range list.Items {
		if list.Items[i].Regarding.Name == "inventory" {
			reasons = append(reasons, list.Items[i].Reason)
		}
	}
	return reasons
}

func (e *enforcing) configuration() *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion("admissionregistration.k8s.io/v1")
	obj.SetKind("ValidatingWebhookConfiguration")
	obj.SetName("flyball-freeze")
	return obj
}

// breaks calls do, checks that the freeze is no longer enforced, and calls undo.
func (e *enforcing) breaks(why string, do func(), undo ...func()) {
	GinkgoHelper()
	works := And(HaveField("Status", metav1.ConditionTrue), HaveField("Reason", "AsExpected"))
	Eventually(e.ready).Should(works)
	Eventually(e.enforced).Should(BeEquivalentTo(1))
	do()
	Eventually(e.ready).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", "NotEnforced"),
		HaveField("Message", ContainSubstring(why))))
	Expect(e.active(Default).Message).To(ContainSubstring("not enforced: "))
	Eventually(e.enforced).Should(BeEquivalentTo(0))
	for _, u := range undo {
		u()
	}
	e.kept.Store(false)
	Eventually(e.ready).Should(works)
}

// ovens are a kind with two versions.
const ovens = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ovens.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Oven, listKind: OvenList, plural: ovens, singular: oven}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {idle: {type: boolean}}}}}}}
  - {name: v2, served: true, storage: false, schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {idle: {type: boolean}}}}}}}
`

var _ = Describe("A freeze", func() {
	It("is ready only while changes are proved to be judged", func() {
		e := startEnforcing()
		Expect(e.env.Apply(ctx, []byte(ovens))).To(Succeed())
		Expect(e.env.AwaitCRDs(ctx)).To(Succeed())
		Expect(e.env.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: Adapter
metadata: {name: ovens.example.com}
spec: {target: {group: example.com, kind: Oven, versions: [v1]}, suspend: [{set: [{path: .spec.idle, value: true}]}]}
`))).To(Succeed())
		Expect(e.env.AwaitAdapters(ctx, "ovens.example.com")).To(Succeed())
		Expect(e.env.Apply(ctx, []byte(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: inventory}
spec: {target: {kinds: [{group: apps, kind: Deployment}, {group: example.com, kind: Oven}], namespaces: [shop]}, startTime: 2026-03-02T11:00:00Z, endTime: 2026-03-06T12:00:00Z, deny: [Delete]}
`))).To(Succeed())
		DeferCleanup(func() {
			Expect(e.env.Client.Delete(ctx, &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "inventory"}})).To(Succeed())
		})
		patched := func(path, value string) func() {
			return func() {
				e.kept.Store(true)
				body := `[{"op":"replace","path":"` + path + `","value":` + value + `}]`
				Expect(e.env.Client.Patch(ctx, e.configuration(), client.RawPatch(types.JSONPatchType, []byte(body)))).To(Succeed())
			}
		}
		By("a kind is served in no version that its adapter lists")
		serve := func(version int, served string) func() {
			crd := &unstructured.Unstructured{}
			crd.SetAPIVersion("apiextensions.k8s.io/v1")
			crd.SetKind("CustomResourceDefinition")
			crd.SetName("ovens.example.com")
			return func() {
				body := fmt.Sprintf(`[{"op":"replace","path":"/spec/versions/%d/served","value":%s}]`, version, served)
				Expect(e.env.Client.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(body)))).To(Succeed())
			}
		}
		e.breaks("serves Oven.example.com in none of the versions that the adapter ovens.example.com lists", serve(0, "false"), serve(0, "true"))
		By("a kind is served in no version at all")
		e.breaks("does not serve Oven.example.com", func() {
			serve(0, "false")()
			serve(1, "false")()
		}, serve(0, "true"), serve(1, "true"))
		By("the configuration is deleted")
		e.breaks("is missing, so changes pass", func() {
			e.kept.Store(true)
			Expect(e.env.Client.Delete(ctx, e.configuration())).To(Succeed())
		})
		Eventually(e.events).Should(ContainElement("NotEnforced"))
		By("its rules are removed")
		e.breaks("differs from the freezes", patched("/webhooks/0/rules/0/operations", `["UPDATE"]`))
		By("its address is changed")
		e.breaks("a probe has not come back", patched("/webhooks/1/clientConfig/url", `"https://127.0.0.1:1/probe"`))
		By("the right to read it is removed")
		e.breaks("cannot be read, so changes may pass", func() {
			e.blind.Store(true)
			Expect(e.env.Patch(ctx, e.configuration(), `{"metadata":{"annotations":{"example.com/touched":"yes"}}}`)).To(Succeed(),
				"so that it is looked at now, and not within a minute")
		}, func() { e.blind.Store(false) })
		By("the adapter is being deleted, and then gone, and comes back")
		adapter := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}}
		e.breaks("the adapter deployments.apps is being deleted", func() {
			Expect(e.env.Patch(ctx, adapter, `{"metadata":{"finalizers":["example.com/last"]}}`)).To(Succeed())
			Expect(e.env.Client.Delete(ctx, adapter)).To(Succeed())
		}, func() {
			Expect(e.env.Patch(ctx, adapter, `{"metadata":{"finalizers":null}}`)).To(Succeed())
			Eventually(e.ready).Should(And(HaveField("Status", metav1.ConditionFalse), HaveField("Message", ContainSubstring("no adapter for"))))
			Expect(e.env.InstallAdapters(ctx, "deployments.apps")).To(Succeed())
		})
		By("the freeze is over")
		clock.SetTime(time.Date(2026, 3, 6, 12, 0, 0, 0, time.UTC))
		Eventually(e.enforced).Should(BeEquivalentTo(-1))
		Eventually(e.ready).Should(HaveField("Status", metav1.ConditionTrue))
	})

	It("claims nothing if nothing is ever judged", func() {
		freezing("kube-system", "repairs", everything)
		apply(`
apiVersion: flyball.dev/v1alpha1
kind: ClusterMaintenanceWindow
metadata: {name: repairs}
spec: {target: {namespaces: [kube-system, %s]}, windows: [{from: "08:00", to: "10:00"}]}
`, harness.Namespace)
		for _, f := range []client.Object{
			&v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "repairs"}},
			&v1alpha1.ClusterMaintenanceWindow{ObjectMeta: metav1.ObjectMeta{Name: "repairs"}},
		} {
			Eventually(func(g Gomega) *metav1.Condition {
				g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(f), f)).To(Succeed())
				return meta.FindStatusCondition(freeze.StatusOf(f).Conditions, v1alpha1.ConditionReady)
			}).Should(HaveValue(And(HaveField("Reason", "NotEnforced"), HaveField("Message", ContainSubstring("is ever judged")))))
		}
	})
})
