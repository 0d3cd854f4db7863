package schedules

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/scene"
	"flyball.dev/flyball/test/integration/suite"
)

// gitopsKinds are the adapters of the kinds whose objects apply other objects.
var gitopsKinds = []string{"applications.argoproj.io", "kustomizations.kustomize.toolkit.fluxcd.io", "helmreleases.helm.toolkit.fluxcd.io"}

// owner is an object of a GitOps tool.
type owner struct {
	// kind is the short name of the kind. spec is the whole object as YAML, without its status; it takes the namespace.
	// record is the status; it takes the namespace of the Deployments web and db.
	kind, spec, record string
	// status is true if the status is a subresource.
	status bool
	// held reports whether the object is suspended.
	held func(*unstructured.Unstructured) bool
}

func isSuspended(obj *unstructured.Unstructured) bool {
	suspended, _, _ := unstructured.NestedBool(obj.Object, "spec", "suspend")
	return suspended
}

const inventory = `{"status":{"inventory":{"entries":[{"id":"%[1]s_web_apps_Deployment","v":"v1"},` +
	`{"id":"%[1]s_db_apps_Deployment","v":"v1"},{"id":"%[1]s_web__Service","v":"v1"}]}}}`

var gitopsOwners = []owner{
	{kind: "Application", spec: `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: %s, name: shop},
		spec: {project: default, destination: {server: "https://kubernetes.default.svc", namespace: shop},
		source: {repoURL: "https://git.example.com/shop.git", path: deploy},
		syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [CreateNamespace=true]}}}`,
		record: `{"status":{"resources":[{"group":"apps","version":"v1","kind":"Deployment","namespace":"%[1]s","name":"web",` +
			`"status":"Synced"},{"group":"apps","version":"v1","kind":"Deployment","namespace":"%[1]s","name":"db","status":"Synced"},` +
			`{"version":"v1","kind":"Service","namespace":"%[1]s","name":"web","status":"Synced"}]}}`,
		held: func(obj *unstructured.Unstructured) bool {
			_, automated, _ := unstructured.NestedMap(obj.Object, "spec", "syncPolicy", "automated")
			return !automated
		}},
	{kind: "Kustomization", spec: `{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: %s, name: shop},
		spec: {interval: 10m, path: ./deploy, prune: true, sourceRef: {kind: GitRepository, name: shop}}}`,
		record: inventory, status: true, held: isSuspended},
	{kind: "HelmRelease", spec: `{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, metadata: {namespace: %s, name: shop},
		spec: {interval: 10m, chartRef: {kind: OCIRepository, name: shop}}}`,
		record: inventory, status: true, held: isSuspended},
}

// The kinds of the GitOps tools exist only during these specs.
var _ = Describe("Owners of sleeping targets", Ordered, func() {
	var (
		lib     *harness.Env
		clock   *suite.Clock
		manager *harness.Manager
	)
	used := append([]string{"deployments.apps"}, gitopsKinds...)
	start := func() {
		GinkgoHelper()
		manager = lib.Start(harness.Options{Clock: clock, Log: GinkgoWriter})
		Expect(lib.AwaitAdapters(scene.Ctx, used...)).To(Succeed())
	}
	BeforeAll(func() {
		lib = scene.Env
		shipped, err := adapters.All()
		Expect(err).NotTo(HaveOccurred())
		scene.InstallCustomKinds(lib, slices.DeleteFunc(shipped, func(a v1alpha1.Adapter) bool { return !slices.Contains(gitopsKinds, a.Name) }))
		Expect(lib.InstallAdapters(scene.Ctx, gitopsKinds...)).To(Succeed())
		clock = suite.NewClock(scene.Monday)
		start()
		DeferCleanup(func() {
			for _, name := range gitopsKinds { // while the manager runs, which releases the adapters
				definition := &unstructured.Unstructured{}
				definition.SetAPIVersion("apiextensions.k8s.io/v1")
				definition.SetKind("CustomResourceDefinition")
				definition.SetName(name)
				suite.Remove(scene.Ctx, lib, &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: name}})
				suite.Remove(scene.Ctx, lib, definition)
			}
			Expect(manager.Stop()).To(Succeed())
		})
	})

	// make creates an owner in its own namespace, with Deployments web and db in another, and returns the owner once the manager has
	// seen all of them. It is to know the owner of a target that sleeps at once.
	make := func(o owner, edit ...string) (obj *unstructured.Unstructured, ns string) {
		GinkgoHelper()
		ns = suite.Namespace(scene.Ctx, lib)
		for _, name := range []string{"web", "db"} {
			Expect(lib.Client.Create(scene.Ctx, scene.Deployment(ns, name, 3))).To(Succeed())
		}
		all := must(harness.Objects([]byte(fmt.Sprintf(o.spec, suite.Namespace(scene.Ctx, lib)))))
		obj = all[0]
		Expect(lib.Client.Create(scene.Ctx, obj)).To(Succeed())
		for _, patch := range edit {
			Expect(lib.Patch(scene.Ctx, obj, patch)).To(Succeed())
		}
		record := client.RawPatch("application/merge-patch+json", []byte(fmt.Sprintf(o.record, ns)))
		if o.status {
			Expect(lib.Client.Status().Patch(scene.Ctx, obj, record)).To(Succeed())
		} else {
			Expect(lib.Client.Patch(scene.Ctx, obj, record)).To(Succeed())
		}
		Expect(manager.Settle(scene.Ctx)).To(Succeed())
		return obj, ns
	}
	get := func(g Gomega, obj *unstructured.Unstructured) *unstructured.Unstructured {
		now := obj.DeepCopy()
		g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(obj), now)).To(Succeed())
		return now
	}
	// plain is an object without the parts that the API server counts.
	plain := func(obj *unstructured.Unstructured) map[string]any {
		now := obj.DeepCopy()
		now.SetResourceVersion("")
		now.SetGeneration(0)
		now.SetManagedFields(nil)
		return now.Object
	}
	web := func(g Gomega, ns, name string) *appsv1.Deployment {
		var d appsv1.Deployment
		g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKey{Namespace: ns, Name: name}, &d)).To(Succeed())
		return &d
	}
	count := func(ns, name string) func(Gomega) int32 {
		return func(g Gomega) int32 { return *web(g, ns, name).Spec.Replicas }
	}
	version := func(obj client.Object) int { return must(strconv.Atoi(obj.GetResourceVersion())) }
	nights := func(ns string, change ...func(*v1alpha1.ClusterScheduleSpec)) *v1alpha1.ClusterSchedule {
		GinkgoHelper()
		s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights-" + ns}}
		s.Spec.Upscale, s.Spec.Downscale, s.Spec.HoldOwner = "0 8 * * *", "0 20 * * *", true
		s.Spec.Target.Namespaces, s.Spec.Target.Names = []string{ns}, []string{"web"}
		for _, c := range change {
			c(&s.Spec)
		}
		Expect(lib.Client.Create(scene.Ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(scene.Ctx, lib, s) })
		return s
	}
	ownersHeld := func(s *v1alpha1.ClusterSchedule) func(Gomega) metav1.Condition {
		return func(g Gomega) metav1.Condition {
			g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionOwnersHeld)
			g.Expect(c).NotTo(BeNil())
			return *c
		}
	}
	explained := func(object, namespace string) string {
		GinkgoHelper()
		var out, errOut bytes.Buffer
		code := cli.Run(scene.Ctx, []string{"explain", object, "-n", namespace, "--kubeconfig=" + lib.Cluster.Kubeconfig, "--time-zone=UTC",
			"--cache-dir=" + GinkgoT().TempDir()}, factory.Env{Now: clock.Now,
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &errOut}})
		Expect(code).To(BeZero(), errOut.String())
		return out.String()
	}
	// turn moves the clock to the next evening or morning.
	turn := func(hour int) {
		next := clock.Now().Truncate(24 * time.Hour).Add(time.Duration(hour) * time.Hour)
		if !next.After(clock.Now()) {
			next = next.Add(24 * time.Hour)
		}
		clock.SetTime(next)
	}
	BeforeEach(func() { turn(12) })

	for _, o := range gitopsOwners {
		It("hold a "+o.kind+" for exactly the time, and name its other targets", func() {
			obj, ns := make(o)
			before := get(Default, obj)
			Expect(o.held(before)).To(BeFalse())
			s := nights(ns)
			Eventually(ownersHeld(s)).Should(And(scene.BeCondition(metav1.ConditionFalse, "NotHeld"),
				HaveField("Message", ContainSubstring("changes in Git of Deployment.apps/"+ns+"/db wait too"))))
			turn(21)
			Eventually(count(ns, "web")).Should(BeEquivalentTo(0))
			held := get(Default, obj)
			Expect(o.held(held)).To(BeTrue())
			Expect(version(held)).To(BeNumerically("<", version(web(Default, ns, "web"))), "the owner must be held before the target sleeps")
			Eventually(ownersHeld(s)).Should(And(scene.BeCondition(metav1.ConditionTrue, "Held"), HaveField("Message", ContainSubstring(o.kind))))
			Expect(count(ns, "db")(Default)).To(BeEquivalentTo(3))
			Expect(explained(strings.ToLower(o.kind)+"/shop", obj.GetNamespace())).To(And(ContainSubstring("because of ClusterSchedule/"+s.Name),
				MatchRegexp("(?m)^Next changes\n.*by ClusterSchedule/"+s.Name)))
			Expect(explained("deployment/web", ns)).To(MatchRegexp("applied by " + o.kind + ".*/" + obj.GetNamespace() + "/shop"))

			By("in the morning")
			turn(9)
			Eventually(count(ns, "web")).Should(BeEquivalentTo(3))
			Eventually(func(g Gomega) map[string]any { return plain(get(g, obj)) }).Should(Equal(plain(before)))
			Eventually(ownersHeld(s)).Should(scene.BeCondition(metav1.ConditionFalse, "NotHeld"))
		})

		It("leave a "+o.kind+" alone that was suspended before", func() {
			edit := `{"spec":{"suspend":true}}`
			if o.kind == "Application" {
				edit = `{"spec":{"syncPolicy":{"automated":null}}}`
			}
			obj, ns := make(o, edit)
			before := get(Default, obj)
			Expect(o.held(before)).To(BeTrue())
			s := nights(ns)
			turn(21)
			Eventually(count(ns, "web")).Should(BeEquivalentTo(0))
			Eventually(ownersHeld(s)).Should(And(scene.BeCondition(metav1.ConditionTrue, "Held"),
				HaveField("Message", ContainSubstring("was suspended before"))))
			turn(9)
			Eventually(count(ns, "web")).Should(BeEquivalentTo(3))
			Expect(get(Default, obj).Object).To(Equal(before.Object))
		})
	}

	It("are held before a target sleeps by a schedule that is made at night", func() {
		turn(21)
		o := gitopsOwners[1]
		obj, ns := make(o)
		nights(ns)
		Eventually(count(ns, "web")).Should(BeEquivalentTo(0))
		held := get(Default, obj)
		Expect(o.held(held)).To(BeTrue())
		Expect(version(held)).To(BeNumerically("<", version(web(Default, ns, "web"))))
	})

	It("have their target wait for the end of a reconciliation that has begun", func() {
		o := gitopsOwners[1]
		obj, ns := make(o)
		ready := func(is string) {
			GinkgoHelper()
			Expect(lib.Client.Status().Patch(scene.Ctx, obj, client.RawPatch("application/merge-patch+json", fmt.Appendf(nil,
				`{"status":{"conditions":[{"type":"Ready","status":%q,"reason":"Any","message":"","lastTransitionTime":"2037-01-05T12:00:00Z"}]}}`,
				is)))).To(Succeed())
		}
		ready("Unknown")
		s := nights(ns)
		Expect(manager.Settle(scene.Ctx)).To(Succeed())
		turn(21)
		Eventually(func(g Gomega) bool { return o.held(get(g, obj)) }).Should(BeTrue())
		suite.Still(count(ns, "web")).Should(BeEquivalentTo(3))
		Expect(explained("deployment/web", ns)).To(ContainSubstring("waiting: until the controller of Kustomization"))
		ready("True")
		Eventually(count(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(ownersHeld(s)).Should(scene.BeCondition(metav1.ConditionTrue, "Held"))
	})

	It("stay held while the manager is away in the middle of a night and of a morning", func() {
		o := gitopsOwners[0]
		obj, ns := make(o)
		before := get(Default, obj)
		batches := &v1alpha1.RateLimit{BatchSize: 1, DelayBetweenBatches: "30m"}
		s := nights(ns, func(spec *v1alpha1.ClusterScheduleSpec) {
			spec.Target.Names, spec.UpscaleRateLimit, spec.DownscaleRateLimit = []string{"web", "db"}, batches, batches
		})
		counts := func(g Gomega) (all []int32) {
			all = []int32{count(ns, "web")(g), count(ns, "db")(g)}
			slices.Sort(all)
			return all
		}
		for _, step := range []struct {
			hour        int
			first, last []int32
		}{{20, []int32{0, 3}, []int32{0, 0}}, {8, []int32{0, 3}, []int32{3, 3}}} {
			turn(step.hour)
			Eventually(counts).Should(Equal(step.first))
			Expect(manager.Stop()).To(Succeed())
			held := get(Default, obj)
			Expect(o.held(held)).To(BeTrue())
			start()
			Eventually(func(g Gomega) int64 {
				g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
				return s.Status.ObservedGeneration
			}).Should(Equal(s.Generation))
			suite.Still(func(g Gomega) string { return get(g, obj).GetResourceVersion() }).Should(Equal(held.GetResourceVersion()))
			clock.SetTime(clock.Now().Add(31 * time.Minute))
			Eventually(counts).Should(Equal(step.last))
		}
		Eventually(func(g Gomega) map[string]any { return plain(get(g, obj)) }).Should(Equal(plain(before)))
	})

	It("in another namespace are not held by a Schedule, which says so", func() {
		obj, ns := make(gitopsOwners[0])
		before := get(Default, obj)
		s := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "nights"}}
		s.Spec.Upscale, s.Spec.Downscale, s.Spec.HoldOwner = "0 8 * * *", "0 20 * * *", true
		Expect(lib.Client.Create(scene.Ctx, s)).To(Succeed())
		DeferCleanup(func() { suite.Remove(scene.Ctx, lib, s) })
		turn(21)
		Eventually(count(ns, "web")).Should(BeEquivalentTo(0))
		Eventually(func(g Gomega) metav1.Condition {
			g.Expect(lib.Client.Get(scene.Ctx, client.ObjectKeyFromObject(s), s)).To(Succeed())
			c := meta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionOwnersHeld)
			g.Expect(c).NotTo(BeNil())
			return *c
		}).Should(And(scene.BeCondition(metav1.ConditionFalse, "OtherNamespace"),
			HaveField("Message", ContainSubstring("a ClusterSchedule can hold it"))))
		Expect(get(Default, obj).Object).To(Equal(before.Object))
	})

	It("named only by a label are not held", func() {
		obj, ns := make(gitopsOwners[1])
		other := suite.Namespace(scene.Ctx, lib)
		forged := scene.Deployment(other, "web", 3, "kustomize.toolkit.fluxcd.io/name", "shop", "kustomize.toolkit.fluxcd.io/namespace",
			obj.GetNamespace())
		Expect(lib.Client.Create(scene.Ctx, forged)).To(Succeed())
		before := get(Default, obj)
		s := nights(other)
		turn(21)
		Eventually(count(other, "web")).Should(BeEquivalentTo(0))
		Eventually(ownersHeld(s)).Should(scene.BeCondition(metav1.ConditionFalse, "NoOwner"))
		Expect(get(Default, obj).Object).To(Equal(before.Object))
		Expect(count(ns, "web")(Default)).To(BeEquivalentTo(3))
	})
})
