package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// The freezes of the table are: one that selects by labels and denies only some actions, one that denies everything,
// one that only warns, and a maintenance window. There are also exceptions by time, label, user and group.
const freezes = `
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: sale, namespace: %[1]s}
spec: {target: {selector: {matchLabels: {frozen: "yes"}}}, deny: [RollOut, Delete],
  startTime: "2026-03-02T12:00:00Z", endTime: "2026-03-04T12:00:00Z", message: {reason: sale}}
---
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: audit, namespace: %[1]s}
spec: {target: {kinds: [{group: apps, kind: StatefulSet}]}, startTime: "2026-03-03T00:00:00Z", endTime: "2026-03-03T06:00:00Z"}
---
apiVersion: flyball.dev/v1alpha1
kind: ChangeFreeze
metadata: {name: hint, namespace: %[1]s}
spec: {target: {}, enforcement: Warn, startTime: "2026-03-01T00:00:00Z", endTime: "2026-03-10T00:00:00Z"}
---
apiVersion: flyball.dev/v1alpha1
kind: MaintenanceWindow
metadata: {name: afternoons, namespace: %[1]s}
spec: {target: {kinds: [{group: apps, kind: Deployment}], names: [frozen]}, deny: [Scale, Create], windows: [{from: "14:00", to: "18:00"}]}
---
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: hotfix, namespace: %[1]s}
spec: {target: {}, allow: [RollOut], activeFrom: "2026-03-02T13:00:00Z", activeTo: "2026-03-02T15:00:00Z", reason: fix,
  constraints: {allowedUsers: [alice]}}
---
apiVersion: flyball.dev/v1alpha1
kind: FreezeException
metadata: {name: oncall, namespace: %[1]s}
spec: {target: {kinds: [{group: apps, kind: StatefulSet}]}, allow: [Create, Delete, RollOut, Scale], activeFrom: "2026-03-03T02:00:00Z",
  activeTo: "2026-03-03T03:00:00Z", reason: repair, constraints: {allowedGroups: [oncall]}}
`

// kindsOfTable are kinds with a manifest of an object, and with edits as manifests for kubectl apply.
var kindsOfTable = []struct {
	name, apiVersion, kind, spec string
	edits                        map[string]string
}{
	{"deployments", "apps/v1", "Deployment",
		`{replicas: 1, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, spec: {containers: [{name: a, ` +
			`image: "a:1"}]}}}`,
		map[string]string{
			"rollout": `{template: {spec: {containers: [{name: a, image: "a:2"}]}}}`, "scale": `{replicas: 2}`, "same": `{replicas: 1}`,
			"both": `{replicas: 2, template: {spec: {containers: [{name: a, image: "a:2"}]}}}`,
		}},
	{"statefulsets", "apps/v1", "StatefulSet",
		`{replicas: 1, serviceName: a, selector: {matchLabels: {app: a}}, template: {metadata: {labels: {app: a}}, ` +
			`spec: {containers: [{name: a, image: "a:1"}]}}}`,
		map[string]string{"rollout": `{template: {spec: {containers: [{name: a, image: "a:2"}]}}}`, "scale": `{replicas: 2}`,
			"same": `{replicas: 1}`}},
	{"cronjobs", "batch/v1", "CronJob",
		`{schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: "a:1"}]}}}}}`,
		map[string]string{"rollout": `{jobTemplate: {spec: {template: {spec: {containers: [{name: a, image: "a:2"}]}}}}}`,
			"scale": `{suspend: true}`}},
	{"horizontalpodautoscalers", "autoscaling/v2", "HorizontalPodAutoscaler",
		`{scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: frozen}, minReplicas: 1, maxReplicas: 3}`,
		map[string]string{"scale": `{maxReplicas: 4}`}},
}

var _ = Describe("The command line, the evaluate API and the webhook", func() {
	It("give one verdict on more than 200 requests", func() {
		ns := suite.Namespace(ctx, env)
		for _, k := range kindsOfTable {
			for _, name := range []string{"frozen", "free"} {
				apply("%s", manifest(k.apiVersion, k.kind, ns, name, k.spec))
			}
		}
		apply(freezes, ns)
		DeferCleanup(func() {
			for _, kind := range []string{"ChangeFreeze", "MaintenanceWindow", "FreezeException"} {
				list := &unstructured.Unstructured{}
				list.SetAPIVersion("flyball.dev/v1alpha1")
				list.SetKind(kind)
				Expect(env.Client.DeleteAllOf(ctx, list, client.InNamespace(ns))).To(Succeed())
			}
		})
		clock.SetTime(noon.Add(time.Minute))
		// If the manager or the API server does not know an object yet, its verdict differs from the verdict of the command
		// line, which reads the objects directly.
		for kind, names := range map[string][]string{
			"ChangeFreeze": {"sale", "audit", "hint"}, "MaintenanceWindow": {"afternoons"}, "FreezeException": {"hotfix", "oncall"},
		} {
			for _, name := range names {
				Eventually(readiness(kind, ns, name)).Should(Equal("True"), "%s/%s", kind, name)
			}
		}
		frozen := object("apps/v1", "Deployment", ns, "frozen")
		Eventually(func() error {
			return client.NewDryRunClient(as("alice")).Delete(ctx, frozen.DeepCopy())
		}).Should(MatchError(ContainSubstring("ChangeFreeze/" + ns + "/sale denies Delete")))

		asker := pipelines.of(ns, "asker", "people", "oncall")
		asked, refused := 0, 0
		for _, at := range []time.Duration{time.Minute, 90 * time.Minute, 14*time.Hour + 30*time.Minute, 72 * time.Hour} {
			clock.SetTime(noon.Add(at))
			for _, user := range []string{"alice:people", "bob:people", "carol:oncall"} {
				for _, k := range kindsOfTable {
					for _, name := range []string{"frozen", "free"} {
						for edit, spec := range k.edits {
							text := manifest(k.apiVersion, k.kind, ns, name, spec)
							patch, err := yaml.YAMLToJSON([]byte(text))
							Expect(err).NotTo(HaveOccurred())
							obj := object(k.apiVersion, k.kind, ns, name)
							verdict := client.NewDryRunClient(as(user)).Patch(ctx, obj, client.RawPatch(types.StrategicMergePatchType, patch))
							got := run(user, text, "can-i", "-n", ns, "-o", "json", "-f", "-")
							refused += agree(verdict, got, "%s of %s/%s by %s after %s", edit, k.name, name, user, at)
							asker.agrees(verdict, got, user, "manifest: "+text, "%s of %s/%s by %s after %s", edit, k.name, name, user, at)
							asked++
						}
						obj := object(k.apiVersion, k.kind, ns, name)
						verdict := client.NewDryRunClient(as(user)).Delete(ctx, obj)
						got := run(user, "", "can-i", "delete", k.name+"/"+name, "-n", ns, "-o", "json")
						refused += agree(verdict, got, "delete of %s/%s by %s after %s", k.name, name, user, at)
						named := fmt.Sprintf("action: Delete, object: {group: %q, kind: %s, namespace: %s, name: %s}", obj.GroupVersionKind().Group, k.kind,
							ns, name)
						asker.agrees(verdict, got, user, named, "delete of %s/%s by %s after %s", k.name, name, user, at)
						asked++
					}
					text := manifest(k.apiVersion, k.kind, ns, "brand-new", k.spec)
					created, err := harness.Objects([]byte(text))
					Expect(err).NotTo(HaveOccurred())
					verdict := client.NewDryRunClient(as(user)).Create(ctx, created[0])
					got := run(user, text, "can-i", "-n", ns, "-o", "json", "-f", "-")
					refused += agree(verdict, got, "create of %s by %s after %s", k.name, user, at)
					asker.agrees(verdict, got, user, "manifest: "+text, "create of %s by %s after %s", k.name, user, at)
					asked++
				}
			}
		}
		Expect(asked).To(BeNumerically(">=", 200))
		Expect(asker.asked).To(Equal(asked), "each is put to all three")
		Expect(refused).To(BeNumerically(">", asked/10), "the table has both answers")
		Expect(refused).To(BeNumerically("<", asked*9/10))
		AddReportEntry(fmt.Sprintf("%d requests, %d refused", asked, refused))
	})
})

// agree compares the answers of the API server and of the command line, including the texts. It returns 1 if both
// refuse.
func agree(verdict error, got outcome, format string, args ...any) int {
	GinkgoHelper()
	what := fmt.Sprintf(format, args...)
	var answers struct {
		Allowed bool
		Answers []struct{ Message string }
	}
	Expect(got.Code).To(BeElementOf(0, 1), "%s: %s", what, got.ErrOut)
	Expect(json.Unmarshal([]byte(got.Out), &answers)).To(Succeed(), what)
	Expect(answers.Answers).To(HaveLen(1), what)
	if verdict == nil {
		Expect(answers.Allowed).To(BeTrue(), "%s: the API server lets it through, the command line says %s", what, got.Out)
		Expect(got.Code).To(Equal(0), what)
		return 0
	}
	Expect(apierrors.IsForbidden(verdict)).To(BeTrue(), "%s: %v", what, verdict)
	_, message, found := strings.Cut(verdict.Error(), "denied the request: ")
	Expect(found).To(BeTrue(), "%s: %v", what, verdict)
	Expect(answers.Answers[0].Message).To(Equal(message), what)
	Expect(got.Code).To(Equal(1), what)
	return 1
}

// readiness returns a function that reads the status of a policy's condition Ready. It is empty until the manager has
// decided all targets of the policy.
func readiness(kind, ns, name string) func(Gomega) string {
	return func(g Gomega) string {
		obj := object("flyball.dev/v1alpha1", kind, ns, name)
		g.Expect(env.Client.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		var status v1alpha1.PolicyStatus
		found, _, err := unstructured.NestedMap(obj.Object, "status")
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(found, &status)).To(Succeed())
		ready := meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionReady)
		if ready == nil || ready.ObservedGeneration != obj.GetGeneration() || ready.Reason == "Progressing" {
			return ""
		}
		return string(ready.Status)
	}
}

func manifest(apiVersion, kind, ns, name, spec string) string {
	labels := "{}"
	if name != "free" {
		labels = `{frozen: "yes"}`
	}
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {namespace: %s, name: %s, labels: %s}, spec: %s}", apiVersion, kind, ns, name,
		labels, spec)
}

func object(apiVersion, kind, ns, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{}
	obj.SetAPIVersion(apiVersion)
	obj.SetKind(kind)
	obj.SetNamespace(ns)
	obj.SetName(name)
	return obj
}

// as returns the client of a user who may edit workloads. The parameter user is a name, or a name and a group.
func as(user string) client.Client {
	GinkgoHelper()
	name, group, _ := strings.Cut(user, ":")
	groups := []string{"people", "system:authenticated"}
	if group != "" && group != "people" {
		groups = append(groups, group)
	}
	c, err := client.New(env.Cluster.Impersonate(name, groups...), client.Options{Scheme: app.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	return c
}
