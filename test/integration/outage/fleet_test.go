package outage

import (
	"fmt"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/customkind"
)

// presses is a kind whose count is written through /scale, so that putting a press to sleep takes two writes.
var presses = customkind.Kind{Group: "presses.example.com", Scale: true}

// fleet is many workloads of several kinds in one namespace, with a schedule over all of them.
type fleet struct {
	namespace string
	schedule  *v1alpha1.Schedule
	// originals are the objects as they were created, by kind and name.
	originals map[string]*unstructured.Unstructured
	// nights is the number of nights so far.
	nights int
}

// template makes the YAML of one workload.
type template struct {
	kind, apiVersion, spec string
}

const pod = `{metadata: {labels: {app: a}}, spec: {restartPolicy: %s, containers: [{name: main, image: "example.com/app:1"}]}}`

var templates = []template{
	{"Deployment", "apps/v1", `{replicas: %d, selector: {matchLabels: {app: a}}, template: ` + fmt.Sprintf(pod, "Always") + `}`},
	{"StatefulSet", "apps/v1", `{replicas: %d, serviceName: a, selector: {matchLabels: {app: a}}, template: ` + fmt.Sprintf(pod, "Always") +
		`}`},
	{"CronJob", "batch/v1", `{schedule: "%d 4 * * *", jobTemplate: {spec: {template: ` + fmt.Sprintf(pod, "Never") + `}}}`},
	{"Press", presses.Group + "/v1", `{replicas: %d}`},
}

// newFleet creates n workloads and a schedule that keeps all of them awake. Half of the workloads are Deployments, and
// every twentieth has zero replicas.
func newFleet(namespace string, n int) *fleet {
	GinkgoHelper()
	Expect(client.IgnoreAlreadyExists(env.Client.Create(ctx, adapter()))).To(Succeed())
	Expect(presses.Install(ctx, env)).To(Succeed())
	Expect(env.Client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})).To(Succeed())
	f := &fleet{namespace: namespace, originals: map[string]*unstructured.Unstructured{}}
	made := make([]*unstructured.Unstructured, n)
	group := errgroup.Group{}
	group.SetLimit(16)
	for i := range n {
		t := templates[0]
		if i%2 == 1 {
			t = templates[1+i/2%3]
		}
		count := 1 + i%5
		if i%20 == 0 {
			count = 0
		}
		objs, err := harness.Objects(fmt.Appendf(nil, "{apiVersion: %s, kind: %s, metadata: {namespace: %s, name: w-%03d}, spec: %s}",
			t.apiVersion, t.kind, namespace, i, fmt.Sprintf(t.spec, count)))
		Expect(err).NotTo(HaveOccurred())
		made[i] = objs[0]
		group.Go(func() error { return env.Client.Create(ctx, objs[0]) })
	}
	Expect(group.Wait()).To(Succeed())
	for _, obj := range made {
		f.originals[obj.GetKind()+"/"+obj.GetName()] = obj
	}
	f.schedule = &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "transitions"}}
	f.schedule.Spec.Awake = []v1alpha1.Window{{From: "00:00", To: "24:00"}}
	Expect(env.Client.Create(ctx, f.schedule)).To(Succeed())
	return f
}

// adapter is the adapter of presses.
func adapter() *v1alpha1.Adapter {
	a := presses.Adapter(".spec.replicas")
	a.Spec.Scale[0].Via = v1alpha1.ViaScale
	return a
}

// turn makes a transition now: all workloads are to sleep from now on, or to wake. Each night begins a second after the
// night before, and all nights begin in the past. So the schedule's status for an earlier night cannot be mistaken for
// its status for this night.
func (f *fleet) turn(asleep bool) {
	GinkgoHelper()
	body := `{"spec":{"asleep":null,"awake":[{"from":"00:00","to":"24:00"}]}}`
	if asleep {
		f.nights++
		since := f.schedule.CreationTimestamp.Add(time.Duration(f.nights)*time.Second - time.Hour).UTC().Format(time.RFC3339)
		body = fmt.Sprintf(`{"spec":{"awake":null,"asleep":[{"start":%q,"end":"2100-01-01T00:00:00Z"}]}}`, since)
	}
	Expect(env.Patch(ctx, f.schedule.DeepCopy(), body)).To(Succeed())
}

// list reads every workload.
func (f *fleet) list(g Gomega) []*unstructured.Unstructured {
	var all []*unstructured.Unstructured
	for _, t := range templates {
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(t.apiVersion)
		list.SetKind(t.kind + "List")
		g.Expect(env.Client.List(ctx, list, client.InNamespace(f.namespace))).To(Succeed())
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	g.Expect(all).To(HaveLen(len(f.originals)))
	return all
}

// marked counts the workloads that have a ledger. It reads only metadata.
func (f *fleet) marked() int {
	GinkgoHelper()
	n := 0
	for _, t := range templates {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(f.originals[anyOf(f, t.kind)].GroupVersionKind())
		list.Kind += "List"
		Expect(env.Client.List(ctx, list, client.InNamespace(f.namespace))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].Annotations[v1alpha1.AnnotationLedger] != "" {
				n++
			}
		}
	}
	return n
}

func anyOf(f *fleet, kind string) string {
	for key, obj := range f.originals {
		if obj.GetKind() == kind {
			return key
		}
	}
	return ""
}

// state returns the count of a workload. For a CronJob it returns 0 if the CronJob is suspended, and 1 otherwise.
func state(obj *unstructured.Unstructured) int64 {
	if obj.GetKind() == "CronJob" {
		if suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend"); suspended {
			return 0
		}
		return 1
	}
	return customkind.Number(obj, ".spec.replicas")
}

// restorable returns an error if a workload could not be restored in the middle of a transition. Each original must be
// in its place or in the ledger.
func (f *fleet) restorable(obj *unstructured.Unstructured) error {
	original := f.originals[obj.GetKind()+"/"+obj.GetName()]
	text := obj.GetAnnotations()[v1alpha1.AnnotationLedger]
	is, was := state(obj), state(original)
	if text == "" {
		if is != was {
			return fmt.Errorf("%s %s is at %d without a ledger, was at %d", obj.GetKind(), obj.GetName(), is, was)
		}
		return nil
	}
	ledger, on, err := workload.ParseLedger(text)
	if err != nil {
		return fmt.Errorf("%s %s: %w", obj.GetKind(), obj.GetName(), err)
	}
	if len(ledger) != 1 {
		return fmt.Errorf("%s %s has %d entries in its ledger, want 1: %s", obj.GetKind(), obj.GetName(), len(ledger), text)
	}
	if on.Of != obj.GetKind()+"/"+obj.GetName() || on.Namespace != obj.GetNamespace() || on.UID == "" {
		return fmt.Errorf("%s %s has the ledger of %+v", obj.GetKind(), obj.GetName(), on)
	}
	want := fmt.Sprint(was)
	if obj.GetKind() == "CronJob" {
		want = "false"
	}
	if ledger[0].Was != want {
		return fmt.Errorf("%s %s: the ledger says it was %s, want %s", obj.GetKind(), obj.GetName(), ledger[0].Was, want)
	}
	if is != 0 && (obj.GetKind() != "Press" || is != was) {
		return fmt.Errorf("%s %s is at %d with the ledger %s", obj.GetKind(), obj.GetName(), is, text)
	}
	return nil
}

// allRestorable checks every workload in the middle of a transition.
func (f *fleet) allRestorable(g Gomega) {
	for _, obj := range f.list(g) {
		g.Expect(f.restorable(obj)).To(Succeed())
	}
}

// allAsleep checks that all workloads sleep with their originals in the ledger, and that workloads with zero replicas
// are unchanged.
func (f *fleet) allAsleep(g Gomega) {
	for _, obj := range f.list(g) {
		g.Expect(f.restorable(obj)).To(Succeed())
		g.Expect(state(obj)).To(BeZero(), "%s %s", obj.GetKind(), obj.GetName())
	}
}

// allAwake checks that all workloads are exactly as they were created.
func (f *fleet) allAwake(g Gomega) {
	for _, obj := range f.list(g) {
		g.Expect(owned(obj)).To(Equal(owned(f.originals[obj.GetKind()+"/"+obj.GetName()])))
	}
}

// owned returns an object without the counters of the API server.
func owned(obj *unstructured.Unstructured) map[string]any {
	own := obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(own.Object, "metadata", field)
	}
	return own.Object
}

// counts reads the schedule's counts, once its status is about the present spec.
func (f *fleet) counts(g Gomega) v1alpha1.TargetCounts {
	var s v1alpha1.Schedule
	g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(f.schedule), &s)).To(Succeed())
	g.Expect(s.Status.ObservedGeneration).To(Equal(s.Generation))
	g.Expect(s.Status.Targets).NotTo(BeNil())
	return *s.Status.Targets
}

// zeros returns the number of workloads that were created with zero replicas.
func (f *fleet) zeros() int32 {
	var n int32
	for _, obj := range f.originals {
		if state(obj) == 0 {
			n++
		}
	}
	return n
}

// chance is the suite's source of random numbers; --ginkgo.seed repeats a run.
func chance() *rand.Rand { return rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0)) }
