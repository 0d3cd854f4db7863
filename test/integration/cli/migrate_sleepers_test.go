package cli

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// sleeper is a workload with its owner's manifest, and the merge patch by which a tool puts it to sleep.
type sleeper struct{ manifest, sleep string }

// coming is a migration from one tool, in a namespace (%[1]s).
type coming struct {
	tool string
	// objects are the tool's own objects. after has the objects that the tool creates after the workloads sleep.
	objects, after string
	sleepers       []sleeper
	// awake is the instant at which the policies have woken everything.
	awake time.Time
}

const podSpec = `selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]%s}}`

func deployment(name, annotations string, replicas int) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: %%[1]s, name: %s, labels: {team: a}, annotations: "+
		"{%s}}, spec: {replicas: %d, %s}}",
		name, annotations, replicas, fmt.Sprintf(podSpec, ""))
}

func daemonSet(name, more string) string {
	return fmt.Sprintf("{apiVersion: apps/v1, kind: DaemonSet, metadata: {namespace: %%[1]s, name: %s}, spec: {%s}}", name,
		fmt.Sprintf(podSpec, more))
}

func cronJob(name string, suspend string) string {
	return fmt.Sprintf(`{apiVersion: batch/v1, kind: CronJob, metadata: {namespace: %%[1]s, name: %s}, spec: {schedule: "0 * * * *"%s, `+
		`jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}}}}`, name, suspend)
}

const statefulSet = `{apiVersion: apps/v1, kind: StatefulSet, metadata: {namespace: %[1]s, name: queue}, ` +
	`spec: {replicas: 2, serviceName: queue, selector: {matchLabels: {app: a}}, ` +
	`template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: a}]}}}}`

func fromLightsOut() coming {
	return coming{
		tool: "lightsout",
		objects: `{apiVersion: lightsout.techsupport.mk/v1alpha1, kind: LightsOutSchedule, metadata: {name: "%[1]s"}, ` +
			`spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", namespaces: ["%[1]s"]}}`,
		sleepers: []sleeper{
			{deployment("web", "owner: team-a", 3),
				`{"metadata":{"labels":{"lightsout.techsupport.mk/managed-by":"dev"},` +
					`"annotations":{"lightsout.techsupport.mk/original-replicas":"3","lightsout.techsupport.mk/managed-by":"dev"}},` +
					`"spec":{"replicas":0}}`},
			{statefulSet, `{"metadata":{"annotations":{"lightsout.techsupport.mk/original-replicas":"2"}},"spec":{"replicas":0}}`},
			{cronJob("report", ", suspend: false"),
				`{"metadata":{"annotations":{"lightsout.techsupport.mk/original-suspend":"lightsout"}},"spec":{"suspend":true}}`},
			{cronJob("retired", ", suspend: true"), `{"metadata":{"annotations":{"lightsout.techsupport.mk/original-suspend":"user"}}}`},
		},
		awake: noon.Add(45 * time.Hour),
	}
}

func fromDownscaler() coming {
	original := func(text string) string {
		return `"metadata":{"annotations":{"downscaler/original-replicas":"` + text + `"}}`
	}
	return coming{
		tool: "kube-downscaler",
		objects: `{apiVersion: apps/v1, kind: Deployment, metadata: {namespace: "%[1]s", name: downscaler, ` +
			`annotations: {downscaler/exclude: "false"}}, spec: {replicas: 1, selector: {matchLabels: {app: a}}, ` +
			`template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, image: kubedownscaler, ` +
			`args: ["--include-resources=deployments,statefulsets,daemonsets,cronjobs,horizontalpodautoscalers,scaledobjects", ` +
			`"--default-uptime=Mon-Sun 08:00-20:00 UTC", "--namespace=%[1]s", "--downtime-replicas=1"]}]}}}}`,
		sleepers: []sleeper{
			{deployment("web", "", 3), `{` + original("3") + `,"spec":{"replicas":1}}`},
			{statefulSet, `{` + original("2") + `,"spec":{"replicas":1}}`},
			{daemonSet("agent", ""), `{` + original("false") + `,"spec":{"template":{"spec":{"nodeSelector":{"downscaler/match-none":"true"}}}}}`},
			{daemonSet("agent-py", ", nodeSelector: {disk: ssd}"), `{` + original("1") +
				`,"spec":{"template":{"spec":{"nodeSelector":{"kube-downscaler-non-existent":"true"}}}}}`},
			{cronJob("report", ", suspend: false"), `{` + original("false") + `,"spec":{"suspend":true}}`},
			{`{apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {namespace: %[1]s, name: other}, ` +
				`spec: {minReplicas: 4, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: elsewhere}}}`,
				`{` + original("4") + `,"spec":{"minReplicas":1}}`},
			{`{apiVersion: keda.sh/v1alpha1, kind: ScaledObject, metadata: {namespace: %[1]s, name: events, labels: {a: b}}, ` +
				`spec: {scaleTargetRef: {name: elsewhere-too}, triggers: []}}`,
				`{"metadata":{"annotations":{"downscaler/original-replicas":"-1","autoscaling.keda.sh/paused-replicas":"1"}}}`},
		},
		awake: noon.Add(45 * time.Hour),
	}
}

func fromKubeGreen() coming {
	encoded := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	return coming{
		tool: "kube-green",
		objects: `{apiVersion: kube-green.com/v1alpha1, kind: SleepInfo, metadata: {namespace: "%[1]s", name: nights}, ` +
			`spec: {weekdays: "*", sleepAt: "20:00", wakeUpAt: "08:00", suspendCronJobs: true}}`,
		sleepers: []sleeper{
			{deployment("web", "", 3), `{"spec":{"replicas":0}}`},
			{statefulSet, `{"spec":{"replicas":0}}`},
			{cronJob("report", ", suspend: false"), `{"spec":{"suspend":true}}`},
			{deployment("own-zero", "", 0), `{}`},
		},
		after: `{apiVersion: v1, kind: Secret, metadata: {namespace: "%[1]s", name: sleepinfo-nights}, data: {operation-type: ` +
			encoded("SLEEP") + `, original-resource-info: ` +
			encoded(
				`{"Deployment.apps":{"web":"{\"spec\":{\"replicas\":3}}"},"StatefulSet.apps":{"queue":"{\"spec\":{\"replicas\":2}}"},`+
					`"CronJob.batch":{"report":"{\"spec\":{\"suspend\":false}}"}}`) + `}}`,
		awake: noon.Add(45 * time.Hour),
	}
}

func fromKubeFreeze() coming {
	const marks = `"freeze-operator.io/managed":"true","freeze-operator.io/managed-by-policy":"may"`
	return coming{
		tool: "kube-freeze",
		objects: `{apiVersion: freeze-operator.io/v1alpha1, kind: ChangeFreeze, metadata: {name: "%[1]s"}, ` +
			`spec: {startTime: "2026-03-02T13:00:00Z", endTime: "2026-03-04T08:00:00Z", ` +
			`target: {kinds: [CronJob], namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[1]s"}}}, ` +
			`rules: {deny: [DELETE]}, behavior: {suspendCronJobs: true, gitops: {enabled: true, providers: [argocd, flux], ` +
			`argocd: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[1]s"}}}, ` +
			`flux: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: "%[1]s"}}}}}}}`,
		sleepers: []sleeper{
			{cronJob("report", ", suspend: false"),
				`{"metadata":{"annotations":{"freeze-operator.io/original-suspend":"false","freeze-operator.io/managed-by":"may"}},` +
					`"spec":{"suspend":true}}`},
			{`{apiVersion: kustomize.toolkit.fluxcd.io/v1, kind: Kustomization, metadata: {namespace: %[1]s, name: apps, ` +
				`labels: {a: b}}, spec: {interval: 5m, suspend: false}}`,
				`{"metadata":{"annotations":{"freeze-operator.io/original-suspend":"false",` + marks + `}},"spec":{"suspend":true}}`},
			{`{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {namespace: %[1]s, name: web, labels: {a: b}}, ` +
				`spec: {project: default, syncPolicy: {automated: {prune: true, selfHeal: true}, syncOptions: [Validate=true]}}}`,
				`{"metadata":{"annotations":{"freeze-operator.io/original-autosync":"{\"prune\":true,\"selfHeal\":true}",` + marks +
					`}},"spec":{"syncPolicy":{"automated":null}}}`},
		},
		awake: noon.Add(45 * time.Hour),
	}
}

// sleepersOfTools has the specs of workloads that tools have put to sleep.
func sleepersOfTools() {
	var ns string
	BeforeEach(func() { ns = suite.Namespace(ctx, env) })

	for _, from := range []func() coming{fromLightsOut, fromDownscaler, fromKubeGreen, fromKubeFreeze} {
		c := from()
		It("are taken over from "+c.tool+" and wake exactly as they were", func() {
			apply(c.objects, ns)
			DeferCleanup(func() {
				objs, err := harness.Objects(fmt.Appendf(nil, c.objects, ns))
				Expect(err).NotTo(HaveOccurred())
				Expect(env.Client.Delete(ctx, objs[0])).To(Succeed())
			})
			owned := fallAsleep(c, ns)
			if c.after != "" {
				apply(c.after, ns)
			}
			clock.SetTime(night)

			comeOver(c.tool, ns)

			before := versions(owned)
			dry := migrate("", c.tool, "-n", ns, "--take-over")
			Expect(dry.Code).To(Equal(0), dry.Out+dry.ErrOut)
			Expect(dry.Out).To(And(ContainSubstring("taken over for "), ContainSubstring("This was a dry run"),
				Not(ContainSubstring("not applied yet"))))
			Expect(versions(owned)).To(Equal(before), "a dry run writes nothing")

			done := migrate("", c.tool, "-n", ns, "--take-over", "--apply")
			Expect(done.Code).To(Equal(0), done.Out+done.ErrOut)
			again := migrate("", c.tool, "-n", ns, "--take-over", "--apply")
			Expect(again.Code).To(Equal(0), again.Out+again.ErrOut)
			Expect(again.Out).NotTo(ContainSubstring("taken over"), "a second run changes nothing")

			// The clock moves to the next night without a morning in between. The policies' transition is then a later one, so
			// the ledgers are written again.
			clock.SetTime(noon.Add(33 * time.Hour))
			Eventually(func() []string { return notLaterThan(night, ns) }).Should(BeEmpty())
			clock.SetTime(c.awake)
			for _, obj := range owned {
				Eventually(func() map[string]any { return plain(current(obj)) }).Should(Equal(plain(obj)), "%s %s", obj.GetKind(), obj.GetName())
			}
		})
	}
}

// fallAsleep creates the workloads of a tool as their owners would, and puts them to sleep as the tool would. It
// returns the workloads as they were before.
func fallAsleep(c coming, ns string) []*unstructured.Unstructured {
	GinkgoHelper()
	var owned []*unstructured.Unstructured
	for _, s := range c.sleepers {
		objs, err := harness.Objects(fmt.Appendf(nil, s.manifest, ns))
		Expect(err).NotTo(HaveOccurred())
		obj := objs[0]
		Expect(env.Client.Create(ctx, obj, client.FieldOwner("owner"))).To(Succeed())
		owned = append(owned, obj.DeepCopy())
		Expect(env.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(s.sleep)), client.FieldOwner(c.tool))).To(Succeed())
	}
	return owned
}

// comeOver applies the output of migrate, and waits until the policies are Ready.
func comeOver(tool, ns string) {
	GinkgoHelper()
	got := migrate("", tool, "-n", ns)
	Expect(got.ErrOut).To(BeEmpty())
	objs, err := harness.Objects([]byte(got.Out))
	Expect(err).NotTo(HaveOccurred())
	Expect(objs).NotTo(BeEmpty(), got.Out)
	Expect(env.Apply(ctx, []byte(got.Out))).To(Succeed())
	for _, obj := range objs {
		kind, ok := kinds.Find(obj.GetKind())
		Expect(ok).To(BeTrue())
		p := kind.New()
		p.SetNamespace(obj.GetNamespace())
		p.SetName(obj.GetName())
		DeferCleanup(func() { suite.Remove(ctx, env, p) })
		Eventually(readiness(obj.GetKind(), obj.GetNamespace(), obj.GetName())).Should(Equal("True"), "%s %s", obj.GetKind(), obj.GetName())
	}
}

// current is an object as it is now.
func current(obj *unstructured.Unstructured) *unstructured.Unstructured {
	GinkgoHelper()
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(obj.GroupVersionKind())
	Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), now)).To(Succeed())
	return now
}

func versions(all []*unstructured.Unstructured) []string {
	GinkgoHelper()
	var versions []string
	for _, obj := range all {
		versions = append(versions, current(obj).GetResourceVersion())
	}
	return versions
}

// notLaterThan lists the objects of a namespace that have a ledger entry whose transition is not later than an instant.
func notLaterThan(at time.Time, ns string) []string {
	GinkgoHelper()
	var earlier []string
	for _, gvk := range []string{"apps/v1/Deployment", "apps/v1/StatefulSet", "apps/v1/DaemonSet", "batch/v1/CronJob"} {
		parts := strings.Split(gvk, "/")
		list := &unstructured.UnstructuredList{}
		list.SetAPIVersion(parts[0] + "/" + parts[1])
		list.SetKind(parts[2] + "List")
		Expect(env.Client.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		for i := range list.Items {
			var ledger map[string]json.RawMessage
			text := list.Items[i].GetAnnotations()[v1alpha1.AnnotationLedger]
			if text == "" {
				continue
			}
			Expect(json.Unmarshal([]byte(text), &ledger)).To(Succeed())
			for pointer, raw := range ledger {
				var entry struct {
					By    string
					Since time.Time
				}
				if strings.HasPrefix(pointer, "/") && json.Unmarshal(raw, &entry) == nil && !entry.Since.After(at) &&
					strings.Contains(entry.By, "Schedule") {
					earlier = append(earlier, parts[2]+"/"+list.Items[i].GetName())
				}
			}
		}
	}
	return earlier
}

// plain is an object without what the API server counts.
func plain(obj *unstructured.Unstructured) map[string]any {
	obj = obj.DeepCopy()
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(obj.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(obj.Object, "status")
	annotations := obj.GetAnnotations()
	delete(annotations, "deprecated.daemonset.template.generation")
	if len(annotations) == 0 {
		annotations = nil
	}
	obj.SetAnnotations(annotations)
	return obj.Object
}

// takeOver has the specs of the limits of a take-over.
func takeOver() {
	const policies = `{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {namespace: %[1]s, name: nights}, ` +
		`spec: {upscale: "0 8 * * *", downscale: "0 20 * * *"}}`
	var ns string
	var owned []*unstructured.Unstructured
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		owned = fallAsleep(coming{tool: "lightsout", sleepers: []sleeper{
			{deployment("web", "", 3), `{"metadata":{"annotations":{"lightsout.techsupport.mk/original-replicas":"3"}},"spec":{"replicas":0}}`}}},
			ns)
		clock.SetTime(night)
	})

	It("leaves objects alone that no policy of the cluster puts to sleep", func() {
		before := versions(owned)
		got := migrate("", "lightsout", "-n", ns, "--take-over", "--apply")
		Expect(got.Code).To(Equal(2), got.ErrOut)
		Expect(got.Out).To(And(ContainSubstring("Deployment.apps/"+ns+
			"/web: left as it is: no policy puts it to sleep by /spec/replicas: none selects it"),
			ContainSubstring("to wake it: kubectl patch deployment.apps web -n "+ns)))

		By("the policy for it is printed, and not applied")
		tool := fromLightsOut().objects
		apply(tool, ns)
		DeferCleanup(func() {
			objs, err := harness.Objects(fmt.Appendf(nil, tool, ns))
			Expect(err).NotTo(HaveOccurred())
			Expect(env.Client.Delete(ctx, objs[0])).To(Succeed())
		})
		got = migrate("", "lightsout", "-n", ns, "--take-over", "--apply")
		Expect(got.Code).To(Equal(2), got.ErrOut)
		Expect(got.Out).To(And(ContainSubstring("/web: left as it is: apply ClusterSchedule/"+ns+" first"), Not(ContainSubstring("to wake it"))))
		Expect(versions(owned)).To(Equal(before))
	})

	It("names the missing rights, to read and to write, and writes nothing", func() {
		apply(policies, ns)
		DeferCleanup(removeNights, ns)
		Eventually(readiness("Schedule", ns, "nights")).Should(Equal("True"))
		before := versions(owned)
		got := migrate("reader", "lightsout", "-n", ns, "--take-over", "--apply")
		Expect(got.Code).To(Equal(1), got.Out)
		Expect(got.ErrOut).To(And(ContainSubstring("patch deployments.apps in namespace "+ns),
			ContainSubstring(`{apiGroups: ["apps"], resources: [deployments], verbs: [patch]}`)))
		Expect(got.Out).To(BeEmpty())
		Expect(migrate("reader", "lightsout", "-n", ns, "--take-over").Code).To(Equal(0))
		got = migrate("nobody", "lightsout", "-n", ns)
		Expect(got.Code).To(Equal(1))
		Expect(got.ErrOut).To(ContainSubstring("list lightsoutschedules.lightsout.techsupport.mk in all namespaces"))
		got = migrate("nobody", "kube-green", "-n", ns)
		Expect(got.ErrOut).To(ContainSubstring("list sleepinfos.kube-green.com in namespace " + ns))
		Expect(got.Out).To(BeEmpty())
		Expect(versions(owned)).To(Equal(before))
	})

	It("is refused if the object has changed since it was read", func() {
		apply(policies, ns)
		DeferCleanup(removeNights, ns)
		Eventually(readiness("Schedule", ns, "nights")).Should(Equal("True"))
		got := migrate("", "lightsout", "-n", ns, "--take-over", "-o", "json")
		Expect(got.Code).To(Equal(0), got.ErrOut)
		var found struct {
			Items []struct{ Patch json.RawMessage }
		}
		Expect(json.Unmarshal([]byte(got.Out), &found)).To(Succeed())
		Expect(found.Items).To(HaveLen(1))
		Expect(env.Patch(ctx, current(owned[0]), `{"metadata":{"labels":{"team":"b"}}}`)).To(Succeed())
		err := env.Client.Patch(ctx, current(owned[0]), client.RawPatch(types.MergePatchType, found.Items[0].Patch))
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "%v", err)
		Expect(current(owned[0]).GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationLedger))
	})

	It("is refused by a freeze in force, until an exception lets it through", func() {
		apply(policies, ns)
		DeferCleanup(removeNights, ns)
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {namespace: %[1]s, name: sale}, spec: {target: {}, `+
				`startTime: "2026-03-02T00:00:00Z", endTime: "2026-03-04T00:00:00Z"}}`, ns)
		DeferCleanup(func() {
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.FreezeException{}, client.InNamespace(ns))).To(Succeed())
			Expect(env.Client.DeleteAllOf(ctx, &v1alpha1.ChangeFreeze{}, client.InNamespace(ns))).To(Succeed())
		})
		Eventually(readiness("Schedule", ns, "nights")).Should(Equal("True"))
		Eventually(func() error {
			return client.NewDryRunClient(env.Client).Delete(ctx,
				owned[0].DeepCopy())
		}).Should(MatchError(ContainSubstring("sale denies")))
		got := migrate("deployer", "lightsout", "-n", ns, "--take-over", "--apply")
		Expect(got.Code).To(Equal(2), got.Out)
		Expect(got.Out).To(And(ContainSubstring("not written: "), ContainSubstring("ChangeFreeze/"+ns+"/sale denies")))
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: FreezeException, metadata: {namespace: %[1]s, name: migration}, spec: {target: {}, `+
				`allow: [RollOut, Scale], activeFrom: "2026-03-02T00:00:00Z", activeTo: "2026-03-04T00:00:00Z", reason: migration}}`, ns)
		Eventually(func() int { return migrate("deployer", "lightsout", "-n", ns, "--take-over", "--apply").Code }).Should(Equal(0))
		Expect(current(owned[0]).GetAnnotations()).To(HaveKey(v1alpha1.AnnotationLedger))
	})
}
