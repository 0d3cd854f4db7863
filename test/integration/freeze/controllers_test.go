package freeze

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

// cronJobController is a client of the controller of CronJobs.
func cronJobController() client.Client {
	return as("system:serviceaccount:kube-system:cronjob-controller")
}

// lastRunLongAgo sets the status of a CronJob so that its last run was more than a year ago. kube-controller-manager
// then runs it at once.
func lastRunLongAgo(by client.Client, cron *unstructured.Unstructured) error {
	last := fmt.Appendf(nil, `{"status":{"lastScheduleTime":%q}}`, time.Now().AddDate(-1, -1, 0).UTC().Format(time.RFC3339))
	return by.Status().Patch(ctx, cron.DeepCopy(), client.RawPatch(types.MergePatchType, last))
}

func jobsIn(namespace string) func(Gomega) []batchv1.Job {
	return func(g Gomega) []batchv1.Job {
		var jobs batchv1.JobList
		g.Expect(env.Client.List(ctx, &jobs, client.InNamespace(namespace))).To(Succeed())
		return jobs.Items
	}
}

var _ = Describe("In a freeze, an action caused through a controller", func() {
	var (
		ns    string
		web   *unstructured.Unstructured
		alice client.Client
	)
	// begin freezes everything in the namespace after the spec has created its objects.
	begin := func() {
		GinkgoHelper()
		freezing(ns, "inventory", everything)
		eventuallyRefused(func() error { return patch(alice, web, toTwo, client.DryRunAll) })
	}
	BeforeEach(func() {
		ns, alice = newNamespace(), as("alice")
		web = deployment(ns, "web")
		web.SetFinalizers([]string{"example.com/hold"})
		Expect(env.Client.Create(ctx, web)).To(Succeed())
		DeferCleanup(func() {
			Expect(client.IgnoreNotFound(patch(env.Client, web, `{"metadata":{"finalizers":null}}`))).To(Succeed())
		})
	})

	It("reads the reference of an autoscaler as its controller does", func() {
		Expect(env.Client.Create(ctx, deployment(ns, "api"))).To(Succeed())
		scaler := func(name, kind, target string) *unstructured.Unstructured {
			return object(
				`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: %s, name: %s}, spec: {minReplicas: 2, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: %s, name: %s}}}`, ns, name, kind, target)
		}
		lower, capitals := scaler("lower", "deployment", "web"), scaler("capitals", "DEPLOYMENT", "api")
		for _, hpa := range []client.Object{lower, capitals} {
			Expect(env.Client.Create(ctx, hpa)).To(Succeed())
		}
		replicas := func(g Gomega) int64 {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
			n, _, _ := unstructured.NestedInt64(web.Object, "spec", "replicas")
			return n
		}
		Eventually(replicas).Should(BeEquivalentTo(2), "kube-controller-manager finds the kind in lower case")
		Eventually(func(g Gomega) []any {
			g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(capitals), capitals)).To(Succeed())
			conditions, _, _ := unstructured.NestedSlice(capitals.Object, "status", "conditions")
			return conditions
		}).Should(ContainElement(And(HaveKeyWithValue("type", "AbleToScale"), HaveKeyWithValue("status", "False"))), "and not in capitals")
		freezing(ns, "sizes", "Scale", "  target: {kinds: [{group: apps, kind: Deployment}]}")
		eventuallyRefused(func() error { return patch(alice, web, `{"spec":{"replicas":5}}`, client.DryRunAll) })
		Expect(patch(alice, lower, `{"spec":{"minReplicas":3}}`)).To(BeRefused("Deployment.apps/"+ns+"/web", "denies Scale"))
		Expect(patch(alice, capitals, `{"spec":{"minReplicas":3}}`)).To(Succeed())
	})

	It("lets a frozen CronJob make its Jobs, and no person", func() {
		cron := object(
			`{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %s, name: yearly}, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}`, ns)
		Expect(env.Client.Create(ctx, cron)).To(Succeed())
		begin()
		out, err := kubectl("alice", ns, "", "create", "job", "--from=cronjob/yearly", "now")
		Expect(err).To(HaveOccurred())
		Expect(out).To(ContainSubstring("denies Create"))
		Expect(lastRunLongAgo(as("alice"), cron)).To(BeRefused("CronJob.batch/"+ns+"/yearly", "denies Create"),
			"it would have a Job made at once")
		Expect(lastRunLongAgo(cronJobController(), cron)).To(Succeed())
		Eventually(jobsIn(ns)).Should(ConsistOf(HaveField("Name", HavePrefix("yearly-"))))
	})

	It("carries out no ledger that a controller has copied from a template", func() {
		const ledger = `{"/spec/parallelism":{"was":40,"set":1,"by":"Schedule/x/y"}}`
		cron := object(
			`{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %s, name: yearly}, spec: {schedule: "0 0 1 1 *", jobTemplate: {spec: {parallelism: 1, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}`, ns)
		Expect(env.Client.Create(ctx, cron)).To(Succeed())
		begin()
		forged := fmt.Sprintf(`{"spec":{"jobTemplate":{"metadata":{"annotations":{"flyball.dev/ledger":%q}}}}}`, ledger)
		Expect(patch(alice, cron, forged)).To(Succeed(), "the metadata of Jobs to come are nothing")
		Expect(lastRunLongAgo(cronJobController(), cron)).To(Succeed())
		bearing := HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationLedger, ledger))
		asMade := And(bearing, HaveField("Spec.Parallelism", HaveValue(BeEquivalentTo(1))))
		Eventually(jobsIn(ns)).Should(ConsistOf(asMade))
		// An object without a controller may have been restored from a backup. Its ledger is carried out once no freeze
		// denies it.
		restored := object(
			`{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: restored}, spec: {parallelism: 1, suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`, ns)
		restored.SetAnnotations(map[string]string{v1alpha1.AnnotationLedger: ledger})
		thaw()
		Eventually(func() error { return env.Client.Create(ctx, restored) }).Should(Succeed())
		Eventually(jobsIn(ns)).Should(ConsistOf(asMade, And(HaveField("Name", "restored"),
			HaveField("Spec.Parallelism", HaveValue(BeEquivalentTo(40))))))
	})

	It("carries out no ledger that a Deployment's controller has copied to its ReplicaSet", func() {
		var set appsv1.ReplicaSet
		current := func(g Gomega) appsv1.ReplicaSet {
			var sets appsv1.ReplicaSetList
			g.Expect(env.Client.List(ctx, &sets, client.InNamespace(ns))).To(Succeed())
			g.Expect(sets.Items).To(HaveLen(1))
			set = sets.Items[0]
			return set
		}
		Eventually(current).Should(HaveField("Status.ObservedGeneration", BeNumerically(">", 0)))
		begin()
		// Every user can read the UID, and may have written the ledger to the Deployment long before the freeze.
		ledger := fmt.Sprintf(`{"/spec/replicas":{"was":40,"set":%d,"by":"Schedule/x/y"},"of":"ReplicaSet/%s","namespace":%q,"uid":%q}`,
			*set.Spec.Replicas, set.Name, ns, set.UID)
		controller := as("system:serviceaccount:kube-system:deployment-controller")
		Expect(patch(controller, &set, fmt.Sprintf(`{"metadata":{"annotations":{"flyball.dev/ledger":%q}}}`, ledger))).To(Succeed())
		suite.Still(current).Should(And(HaveField("Generation", set.Generation),
			HaveField("Annotations", HaveKeyWithValue(v1alpha1.AnnotationLedger, ledger))))
	})

	It("delays a ledger that was begun on another object", func() {
		freezing(ns, "sizes", "Scale")
		eventuallyRefused(func() error { return patch(alice, web, toTwo, client.DryRunAll) })
		restored := object(
			`{apiVersion: batch/v1, kind: Job, metadata: {namespace: %s, name: restored}, spec: {parallelism: 1, suspend: true, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}`, ns)
		restored.SetAnnotations(map[string]string{v1alpha1.AnnotationLedger: `{"/spec/parallelism":{"was":40,"set":1,"by":"Schedule/x/y"}}`})
		Expect(alice.Create(ctx, restored)).To(Succeed())
		suite.Still(jobsIn(ns)).Should(ConsistOf(HaveField("Spec.Parallelism", HaveValue(BeEquivalentTo(1)))))
		thaw()
		Eventually(jobsIn(ns)).Should(ConsistOf(HaveField("Spec.Parallelism", HaveValue(BeEquivalentTo(40)))))
	})
})
