package scene

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// Dusk and dawn are the transitions of the schedules that nightly and clusterNightly create: the evening of monday and
// the next morning.
var (
	Dusk = Monday.Add(8 * time.Hour)
	Dawn = Monday.Add(20 * time.Hour)
)

// StartManagerAsleep runs a manager like startManager, but its clock stands an hour after dusk.
func StartManagerAsleep() *suite.Clock {
	GinkgoHelper()
	clock := suite.NewClock(Dusk.Add(time.Hour))
	StartManagerAt(clock)
	return clock
}

// NightlyOn creates a Schedule like nightly, for the given target.
func NightlyOn(namespace, name string, target v1alpha1.TargetSelector, change ...func(*v1alpha1.ScheduleRules)) *v1alpha1.Schedule {
	GinkgoHelper()
	s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	s.Spec.Upscale, s.Spec.Downscale, s.Spec.Target = "0 8 * * *", "0 20 * * *", target
	for _, c := range change {
		c(&s.Spec.ScheduleRules)
	}
	Expect(Env.Client.Create(Ctx, s)).To(Succeed())
	DeferCleanup(Remove, s)
	return s
}

var Schedules atomic.Int32

// ClusterNightly creates a ClusterSchedule with the nights of nightly and a unique name. The function change has to
// select at least the namespaces.
func ClusterNightly(change func(*v1alpha1.ClusterScheduleSpec)) *v1alpha1.ClusterSchedule {
	GinkgoHelper()
	s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("nights-%d", Schedules.Add(1))}}
	s.Spec.Upscale, s.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	change(&s.Spec)
	Expect(Env.Client.Create(Ctx, s)).To(Succeed())
	DeferCleanup(Remove, s)
	return s
}

// Create creates objects.
func Create(objs ...client.Object) {
	GinkgoHelper()
	for _, obj := range objs {
		Expect(Env.Client.Create(Ctx, obj)).To(Succeed())
	}
}

// Patch merge-patches an object.
func Patch(obj client.Object, body string) {
	GinkgoHelper()
	Expect(Env.Patch(Ctx, obj, body)).To(Succeed())
}

// AnnotationPatch is a merge patch that sets an annotation.
func AnnotationPatch(key, value string) string {
	return fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, key, value)
}

// LabelPatch is a merge patch that sets a label, or removes it if the value is empty.
func LabelPatch(key, value string) string {
	if value == "" {
		return fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, key)
	}
	return fmt.Sprintf(`{"metadata":{"labels":{%q:%q}}}`, key, value)
}

// Namespace returns a Namespace with a name, for patches.
func Namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

// Counts reads the replicas of all Deployments of a namespace, by name; call it from Eventually or Consistently.
func Counts(namespace string) func(Gomega) map[string]int {
	return func(g Gomega) map[string]int {
		var list appsv1.DeploymentList
		g.Expect(Env.Client.List(Ctx, &list, client.InNamespace(namespace))).To(Succeed())
		out := map[string]int{}
		for i := range list.Items {
			out[list.Items[i].Name] = int(*list.Items[i].Spec.Replicas)
		}
		return out
	}
}

// Sleepers counts the Deployments of a namespace at zero.
func Sleepers(namespace string) func(Gomega) int {
	return func(g Gomega) int {
		n := 0
		for _, replicas := range Counts(namespace)(g) {
			if replicas == 0 {
				n++
			}
		}
		return n
	}
}

// TargetsOf reads the counts in a Schedule's status.
func TargetsOf(namespace, name string) func(Gomega) v1alpha1.TargetCounts {
	return func(g Gomega) v1alpha1.TargetCounts {
		var s v1alpha1.Schedule
		g.Expect(Env.Client.Get(Ctx, client.ObjectKey{Namespace: namespace, Name: name}, &s)).To(Succeed())
		g.Expect(s.Status.Targets).NotTo(BeNil())
		return *s.Status.Targets
	}
}

// Known waits until the manager knows n targets in a namespace that is awake. It needs to wait because objects and
// policies have separate watches.
func Known(namespace string, n int) {
	GinkgoHelper()
	probe := Nightly(namespace, "probe")
	Eventually(TargetsOf(namespace, "probe")).Should(Equal(v1alpha1.TargetCounts{Total: int32(n), Awake: int32(n)}))
	Remove(probe)
}

// VersionOf reads an object's resourceVersion.
func VersionOf(obj client.Object) func(Gomega) string {
	return func(g Gomega) string { return Stored(g, obj).GetResourceVersion() }
}

// Stored reads an object as the API server has it.
func Stored(g Gomega, obj client.Object) *unstructured.Unstructured {
	gvk, err := apiutil.GVKForObject(obj, Env.Client.Scheme())
	g.Expect(err).NotTo(HaveOccurred())
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(gvk)
	g.Expect(Env.Client.Get(Ctx, client.ObjectKeyFromObject(obj), u)).To(Succeed())
	return u
}

// AsIs returns the part of an object that must be the same before it slept and after it woke.
func AsIs(obj *unstructured.Unstructured) map[string]any {
	u := obj.DeepCopy()
	for _, key := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(u.Object, "metadata", key)
	}
	return u.Object
}

// Writes has every state of one object that the API server has stored since the history began, the oldest first.
type Writes struct {
	mu     sync.Mutex
	states []*unstructured.Unstructured
}

// Follow begins the history of an object with its present state.
func Follow(obj client.Object) *Writes {
	GinkgoHelper()
	gvk, err := apiutil.GVKForObject(obj, Env.Client.Scheme())
	Expect(err).NotTo(HaveOccurred())
	watcher, err := client.NewWithWatch(Env.Config, client.Options{Scheme: Env.Client.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(gvk)
	events, err := watcher.Watch(Ctx, list, client.InNamespace(obj.GetNamespace()), client.MatchingFields{"metadata.name": obj.GetName()})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(events.Stop)
	h := &Writes{}
	go func() {
		for event := range events.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok && event.Type != watch.Deleted {
				h.mu.Lock()
				h.states = append(h.states, u)
				h.mu.Unlock()
			}
		}
	}()
	Eventually(h.len).Should(BeNumerically(">=", 1))
	return h
}

func (h *Writes) len() int { return len(h.All()) }

func (h *Writes) All() []*unstructured.Unstructured {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.states[:len(h.states):len(h.states)]
}

// values lists the successive values of a field, without repetitions. An absent value is "".
func (h *Writes) Values(fields ...string) []string {
	var out []string
	for _, u := range h.All() {
		if v := FieldOf(u, fields...); len(out) == 0 || out[len(out)-1] != v {
			out = append(out, v)
		}
	}
	return out
}

// since returns the revision at which a field first had a value. It considers only states later than the revision
// after.
func (h *Writes) Since(after int64, value string, fields ...string) int64 {
	for _, u := range h.All() {
		if r := revision(u); r > after && FieldOf(u, fields...) == value {
			return r
		}
	}
	return 0
}

func FieldOf(u *unstructured.Unstructured, fields ...string) string {
	v, found, err := unstructured.NestedFieldNoCopy(u.Object, fields...)
	if !found || err != nil {
		return ""
	}
	return fmt.Sprint(v)
}

// revision returns the resourceVersion as a number. All kinds are in one etcd here, so the number orders writes of
// different kinds too.
func revision(u *unstructured.Unstructured) int64 {
	n, err := strconv.ParseInt(u.GetResourceVersion(), 10, 64)
	if err != nil {
		return -1
	}
	return n
}
