package library

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/adapters/cases"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
	"flyball.dev/flyball/test/local"
)

// The specs have an API server of their own, which serves the custom kinds too.
var _ = Describe("The shipped adapters", Ordered, func() {
	var (
		lib     *harness.Env
		clock   *suite.Clock
		shipped []v1alpha1.Adapter
		manager *harness.Manager
	)
	BeforeAll(func() {
		var err error
		shipped, err = adapters.All()
		Expect(err).NotTo(HaveOccurred())
		lib, err = harness.Up(scene.Ctx, local.Options{Level: local.LevelAPI, Log: GinkgoWriter})
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(func() { Expect(lib.Cluster.Stop()).To(Succeed()) })
		scene.InstallCustomKinds(lib, shipped)
		Expect(lib.InstallAdapters(scene.Ctx)).To(Succeed())
		clock = suite.NewClock(scene.Dusk)
		manager = lib.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		DeferCleanup(func() {
			if manager != nil {
				Expect(manager.Stop()).To(Succeed())
			}
		})
	})

	It("match the live schema of their kinds and are ready", func() {
		for i := range shipped {
			Eventually(func(g Gomega) {
				var a v1alpha1.Adapter
				g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(&shipped[i]), &a)).To(Succeed())
				for _, kind := range []string{v1alpha1.ConditionSchemaMatched, v1alpha1.ConditionReady} {
					g.Expect(meta.FindStatusCondition(a.Status.Conditions, kind)).To(
						HaveValue(HaveField("Status", metav1.ConditionTrue)), "%s of %s", kind, a.Name)
				}
			}).Should(Succeed())
		}
	})

	folders, err := filepath.Glob(filepath.Join("..", "..", "..", "adapters", "*", "*", "testdata"))
	if err != nil || len(folders) == 0 {
		panic("no test data of adapters")
	}
	for _, folder := range folders {
		kind := filepath.Base(filepath.Dir(folder))
		It("put every "+kind+" of the test data to sleep and wake it exactly", func() {
			clock.SetTime(clock.Now().Add(24 * time.Hour))                                // dusk
			cases := slices.DeleteFunc(libraryCases(folder), (*libraryCase).asksDirectly) // see amounts_test.go
			for _, c := range cases {
				c.begin(lib)
			}
			for _, c := range cases {
				c.checkAsleep()
			}
			clock.SetTime(clock.Now().Add(12 * time.Hour)) // dawn
			DeferCleanup(func() { clock.SetTime(clock.Now().Add(12 * time.Hour)) })
			for _, c := range cases {
				c.checkAwake()
				c.end()
			}
		})
	}

	It("leave a StatefulSet, and its ScaledObject, to the queue that the StatefulSet follows, until it follows none", func() {
		const ns = "queued"
		clock.SetTime(clock.Now().Add(24 * time.Hour)) // dusk
		Expect(lib.Apply(scene.Ctx, []byte(`{apiVersion: v1, kind: Namespace, metadata: {name: queued}}
---
{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, metadata: {namespace: queued, name: team}, spec: {clusterQueue: all}}
---
{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: queued, name: db, labels: {kueue.x-k8s.io/queue-name: team}},
  spec: {replicas: 3, serviceName: db, selector: {matchLabels: {app: db}},
  template: {metadata: {labels: {app: db}}, spec: {containers: [{name: db, image: "example.com/db:1"}]}}}}
---
{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: queued, name: db},
  spec: {minReplicaCount: 2, scaleTargetRef: {name: db, kind: StatefulSet},
  triggers: [{type: cpu, metricType: Utilization, metadata: {value: "50"}}]}}`))).To(Succeed())
		Expect(manager.Settle(scene.Ctx)).To(Succeed()) // the queue is known before anything sleeps
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}, Spec: v1alpha1.ScheduleSpec{
			ScheduleRules: v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *"}}}
		Expect(lib.Client.Create(scene.Ctx, s)).To(Succeed())
		field := func(apiVersion, kind, name string, fields ...string) func(Gomega) string {
			return func(g Gomega) string {
				obj := &unstructured.Unstructured{}
				obj.SetAPIVersion(apiVersion)
				obj.SetKind(kind)
				g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKey{Namespace: ns, Name: name}, obj)).To(Succeed())
				value, _, err := unstructured.NestedFieldNoCopy(obj.Object, fields...)
				g.Expect(err).NotTo(HaveOccurred())
				return fmt.Sprint(value)
			}
		}
		queue := field("kueue.x-k8s.io/v1beta2", "LocalQueue", "team", "spec", "stopPolicy")
		count := field("apps/v1", "StatefulSet", "db", "spec", "replicas")
		annotations := field("keda.sh/v1alpha1", "ScaledObject", "db", "metadata", "annotations")
		Eventually(queue).Should(Equal("HoldAndDrain"))
		Eventually(func(g Gomega) {
			g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			g.Expect(s.Status.Targets).To(HaveValue(Equal(v1alpha1.TargetCounts{Total: 1, Asleep: 1})))
		}).Should(Succeed())
		Expect(count(Default)).To(Equal("3"))
		Expect(annotations(Default)).To(Equal("<nil>"))

		set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "db"}}
		Expect(lib.Patch(scene.Ctx, set, `{"metadata":{"labels":{"kueue.x-k8s.io/queue-name":null}}}`)).To(Succeed())
		Eventually(count).Should(Equal("0"))
		Eventually(annotations).Should(ContainSubstring("autoscaling.keda.sh/paused:true"))

		clock.SetTime(clock.Now().Add(12 * time.Hour)) // dawn
		DeferCleanup(func() { clock.SetTime(clock.Now().Add(12 * time.Hour)) })
		Eventually(queue).Should(Equal("<nil>"))
		Eventually(count).Should(Equal("3"))
		Eventually(annotations).Should(Equal("<nil>"))
	})

	// No policy asks for these numbers, so a manager would restore the originals at once.
	It("set every request, utilisation and bound of the test data and restore them exactly", func() {
		Expect(manager.Stop()).To(Succeed())
		manager = nil
		for _, folder := range folders {
			for _, c := range libraryCases(folder) {
				if c.asksDirectly() {
					c.begin(lib)
					c.allocate(shipped)
				}
			}
		}
	})
})

// libraryCase is one case of an adapter's test data. It runs in a namespace of its own.
type libraryCase struct {
	name string
	ask  struct {
		Sleep             bool `json:"sleep"`
		v1alpha1.AsleepAs `json:",inline"`
		cases.Amounts     `json:",inline"`
	}
	// own has the bounds that the owner has set.
	own workload.Bounds
	// given is the file with the awake object, and asleep is the file with the sleeping object. asleep is nil if the
	// object is not changed.
	given, asleep []byte

	lib       *harness.Env
	before    *unstructured.Unstructured
	schedules []libraryPolicy
}

// libraryPolicy is a Schedule, or a ClusterSchedule if the kind is cluster-scoped.
type libraryPolicy struct {
	client.Object
	status *v1alpha1.PolicyStatus
}

func libraryCases(folder string) []*libraryCase {
	GinkgoHelper()
	dirs, err := filepath.Glob(filepath.Join(folder, "*"))
	Expect(err).NotTo(HaveOccurred())
	Expect(dirs).NotTo(BeEmpty())
	var cases []*libraryCase
	for _, dir := range dirs {
		c := &libraryCase{name: dir, given: readYAML(filepath.Join(dir, "object.yaml"))}
		var file struct {
			Ask json.RawMessage `json:"ask"`
		}
		Expect(json.Unmarshal(readYAML(filepath.Join(dir, "case.yaml")), &file)).To(Succeed())
		Expect(json.Unmarshal(file.Ask, &c.ask)).To(Succeed())
		var seen struct {
			Observed struct{ Bounds workload.Bounds }
		}
		Expect(json.Unmarshal(readYAML(filepath.Join(dir, "projection.yaml")), &seen)).To(Succeed())
		c.own = seen.Observed.Bounds
		if _, err := os.Stat(filepath.Join(dir, "asleep.yaml")); err == nil {
			c.asleep = readYAML(filepath.Join(dir, "asleep.yaml"))
		}
		cases = append(cases, c)
	}
	return cases
}

// readYAML reads a file as JSON.
func readYAML(file string) []byte {
	GinkgoHelper()
	text, err := os.ReadFile(file)
	Expect(err).NotTo(HaveOccurred())
	raw, err := yaml.YAMLToJSON(text)
	Expect(err).NotTo(HaveOccurred())
	return raw
}

// begin creates the object and then schedules with the claims of the case.
func (c *libraryCase) begin(lib *harness.Env) {
	GinkgoHelper()
	c.lib = lib
	ns := scene.Namespace("")
	ns.GenerateName = "case-"
	Expect(lib.Client.Create(scene.Ctx, ns)).To(Succeed(), c.name)
	obj := &unstructured.Unstructured{}
	Expect(obj.UnmarshalJSON(c.given)).To(Succeed(), c.name)
	obj.SetNamespace(ns.Name)
	namespaced, err := lib.Client.IsObjectNamespaced(obj)
	Expect(err).NotTo(HaveOccurred(), c.name)
	if !namespaced {
		obj.SetNamespace("")
	}
	stripServed(obj)
	status, hasStatus := obj.Object["status"]
	Expect(lib.Client.Create(scene.Ctx, obj)).To(Succeed(), c.name)
	if _, kept := obj.Object["status"]; hasStatus {
		obj.Object["status"] = status
		if err := lib.Client.Status().Update(scene.Ctx, obj); !kept || !apierrors.IsNotFound(err) {
			Expect(err).NotTo(HaveOccurred(), c.name)
		}
	}
	c.before = obj
	for i, level := range c.levels() {
		gvk := obj.GroupVersionKind()
		target := v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{{Group: gvk.Group, Kind: gvk.Kind}}, Names: []string{obj.GetName()}}
		rules := v1alpha1.ScheduleRules{Upscale: "0 8 * * *", Downscale: "0 20 * * *", AsleepAs: level}
		meta := metav1.ObjectMeta{Namespace: ns.Name, Name: []string{"nights", "notes"}[i]}
		var made libraryPolicy
		if namespaced {
			s := &v1alpha1.Schedule{ObjectMeta: meta, Spec: v1alpha1.ScheduleSpec{Target: target, ScheduleRules: rules}}
			made = libraryPolicy{s, &s.Status.PolicyStatus}
		} else {
			meta.Namespace, meta.Name = "", ns.Name+"-"+meta.Name
			s := &v1alpha1.ClusterSchedule{ObjectMeta: meta}
			s.Spec = v1alpha1.ClusterScheduleSpec{Target: v1alpha1.ClusterTargetSelector{TargetSelector: target}, ScheduleRules: rules}
			made = libraryPolicy{s, &s.Status.PolicyStatus}
		}
		Expect(lib.Client.Create(scene.Ctx, made.Object)).To(Succeed(), c.name)
		c.schedules = append(c.schedules, made)
	}
}

// stripServed removes the fields that only the API server sets, so that the object can be created.
func stripServed(obj *unstructured.Unstructured) {
	for _, key := range []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", key)
	}
	if obj.GetKind() != "Job" {
		return
	}
	// The selector of a Job contains the Job's UID.
	unstructured.RemoveNestedField(obj.Object, "spec", "selector")
	for _, key := range []string{"controller-uid", "batch.kubernetes.io/controller-uid"} {
		unstructured.RemoveNestedField(obj.Object, "spec", "template", "metadata", "labels", key)
	}
}

// levels returns the values of asleepAs for schedules that together make the claims of the case. The value nil means
// the default.
func (c *libraryCase) levels() []*v1alpha1.AsleepAs {
	if c.asksDirectly() {
		return nil // no Schedule asks for it
	}
	var levels []*v1alpha1.AsleepAs
	as := c.ask.AsleepAs
	as.Annotations = nil
	if c.ask.Sleep {
		levels = append(levels, nil)
	} else if as.Replicas != nil || as.Percent != nil || as.Bounds != nil || as.Hold != nil {
		levels = append(levels, &as)
	}
	if len(c.ask.Annotations) > 0 {
		levels = append(levels, &v1alpha1.AsleepAs{Annotations: c.ask.Annotations})
	}
	return levels
}

func (c *libraryCase) now(g Gomega) *unstructured.Unstructured {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(c.before.GroupVersionKind())
	g.Expect(c.lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(c.before), u)).To(Succeed(), c.name)
	return u
}

// checkAsleep waits until the schedules have acted, and compares the object with the test data.
func (c *libraryCase) checkAsleep() {
	GinkgoHelper()
	for _, s := range c.schedules {
		Eventually(func(g Gomega) {
			g.Expect(c.lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(s), s.Object)).To(Succeed())
			g.Expect(s.status.Targets).NotTo(BeNil())
			g.Expect(s.status.Targets.Pending + s.status.Targets.Failed).To(BeZero())
		}).Should(Succeed(), c.name)
	}
	if c.asleep == nil {
		Expect(c.now(Default).GetResourceVersion()).To(Equal(c.before.GetResourceVersion()), "%s was written", c.name)
		return
	}
	change, err := jsonpatch.CreateMergePatch(c.given, c.asleep)
	Expect(err).NotTo(HaveOccurred(), c.name)
	Eventually(func(g Gomega) {
		now := c.now(g)
		g.Expect(apartFromLedger(changed(g, now, change))).To(Equal(apartFromLedger(now)), "the changes of the test data")
		want := changed(g, c.before, change)
		want.SetResourceVersion(now.GetResourceVersion())
		g.Expect(c.lib.Client.Update(scene.Ctx, want, client.DryRunAll)).To(Succeed()) // the API server completes what was written
		g.Expect(apartFromLedger(now)).To(Equal(apartFromLedger(want)), "nothing else has changed")
	}).Should(Succeed(), c.name)
}

// changed returns an object after a merge patch.
func changed(g Gomega, obj *unstructured.Unstructured, patch []byte) *unstructured.Unstructured {
	text, err := obj.MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	text, err = jsonpatch.MergePatch(text, patch)
	g.Expect(err).NotTo(HaveOccurred())
	after := &unstructured.Unstructured{}
	g.Expect(after.UnmarshalJSON(text)).To(Succeed())
	return after
}

// checkAwake waits until the object is exactly as before.
func (c *libraryCase) checkAwake() {
	GinkgoHelper()
	want := c.before
	if c.asleep != nil {
		want = c.withAwakeValues()
	}
	Eventually(func(g Gomega) map[string]any { return apartFromGeneration(c.now(g)) }).Should(Equal(apartFromGeneration(want)), c.name)
	if c.asleep == nil {
		Expect(c.now(Default).GetResourceVersion()).To(Equal(c.before.GetResourceVersion()), "%s was written", c.name)
	}
}

// withAwakeValues returns the awake object with the values that the adapter writes where a field was absent.
func (c *libraryCase) withAwakeValues() *unstructured.Unstructured {
	GinkgoHelper()
	var asleep unstructured.Unstructured
	Expect(json.Unmarshal(c.asleep, &asleep.Object)).To(Succeed())
	ledger, _, err := workload.ParseLedger(asleep.GetAnnotations()[v1alpha1.AnnotationLedger])
	Expect(err).NotTo(HaveOccurred(), c.name)
	want := c.before.DeepCopy()
	for _, e := range ledger {
		if e.Awake == "" {
			continue
		}
		var value any
		Expect(json.Unmarshal([]byte(e.Awake), &value)).To(Succeed())
		Expect(unstructured.SetNestedField(want.Object, value, path.Pointer(e.Pointer).Tokens()...)).To(Succeed())
	}
	return want
}

// end deletes the schedules, so that they do not act in the nights of later cases.
func (c *libraryCase) end() {
	GinkgoHelper()
	for _, s := range c.schedules {
		Expect(c.lib.Client.Delete(scene.Ctx, s.Object)).To(Succeed(), c.name)
	}
}

func apartFromLedger(obj *unstructured.Unstructured) map[string]any {
	u := apartFromGeneration(obj)
	unstructured.RemoveNestedField(u, "metadata", "annotations", v1alpha1.AnnotationLedger)
	return u
}

// apartFromGeneration returns the result of asIs without a second generation, which the API server keeps for the
// template of a DaemonSet.
func apartFromGeneration(obj *unstructured.Unstructured) map[string]any {
	u := scene.AsIs(obj)
	unstructured.RemoveNestedField(u, "metadata", "annotations", appsv1.DeprecatedTemplateGeneration)
	return u
}
