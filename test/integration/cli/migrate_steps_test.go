package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// live has the objects of a cluster as kube-downscaler leaves it at night. The tool works in one namespace (%[1]s) and
// leaves another one alone (%[2]s).
const live = `
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: kube-downscaler}
spec:
  replicas: 1
  selector: {matchLabels: {app: a}}
  template:
    metadata: {labels: {app: a}}
    spec:
      containers:
      - name: a
        image: kubedownscaler
        args: ["--include-resources=deployments,statefulsets,daemonsets,cronjobs,poddisruptionbudgets",
          "--default-uptime=Mon-Sun 08:00-20:00 UTC", "--namespace=%[1]s,%[2]s", "--exclude-deployments=^pay"]
---
apiVersion: v1
kind: Namespace
metadata: {name: %[2]s, annotations: {downscaler/exclude: "true", downscaler/downtime: always}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {namespace: %[1]s, name: web, annotations: {downscaler/original-replicas: "2"}}
spec: {minAvailable: 0, selector: {matchLabels: {app: a}}}
`

// inhabitant is a workload of that cluster. It has the owner's manifest and the tool's change, and says whether the
// workload is asleep at night and by day.
type inhabitant struct {
	manifest string
	// asleep is the patch by which the tool has put the workload to sleep. It is empty if the tool has left the workload
	// awake.
	asleep string
	// wakes is true if the workload is taken over. In the morning it is then as its owner has set it.
	wakes bool
}

func inhabitants() map[string]inhabitant {
	originally := func(text, spec string) string {
		return `{"metadata":{"annotations":{"downscaler/original-replicas":"` + text + `"}},"spec":` + spec + `}`
	}
	elsewhere := func(manifest string) string { return strings.Replace(manifest, "%[1]s", "%[2]s", 1) }
	return map[string]inhabitant{
		"web":    {manifest: deployment("web", "", 3), asleep: originally("3", `{"replicas":0}`), wakes: true},
		"queue":  {manifest: statefulSet, asleep: originally("2", `{"replicas":0}`), wakes: true},
		"report": {manifest: cronJob("report", ", suspend: false"), asleep: originally("false", `{"suspend":true}`), wakes: true},
		"agent": {manifest: daemonSet("agent", ""),
			asleep: originally("false", `{"template":{"spec":{"nodeSelector":{"downscaler/match-none":"true"}}}}`), wakes: true},
		"late":            {manifest: deployment("late", `downscaler/uptime: "Mon-Sun 07:00-23:00 UTC"`, 2)},
		"excluded":        {manifest: deployment("excluded", `downscaler/exclude: "true"`, 2)},
		"until":           {manifest: deployment("until", `downscaler/exclude-until: "2026-03-09T00:00:00Z"`, 2)},
		"in-spans":        {manifest: deployment("in-spans", `downscaler/exclude: "Mon-Sun 21:00-24:00 UTC"`, 2)},
		"payments":        {manifest: deployment("payments", "", 2)},
		"excluded-asleep": {manifest: deployment("excluded-asleep", `downscaler/exclude: "true"`, 3), asleep: originally("3", `{"replicas":0}`)},
		"agent-excluded": {manifest: strings.Replace(daemonSet("agent-excluded", ""), "name: agent-excluded",
			`name: agent-excluded, annotations: {downscaler/exclude: "true"}`, 1),
			asleep: originally("false", `{"template":{"spec":{"nodeSelector":{"downscaler/match-none":"true"}}}}`)},
		"other":     {manifest: elsewhere(deployment("other", "", 2))},
		"other-own": {manifest: elsewhere(deployment("other-own", "downscaler/downtime: always", 2))},
	}
}

// printedSteps has the specs of the steps that migrate prints.
func printedSteps() {
	It("put nothing to sleep and wake nothing, and the next morning is as without them", func() {
		ns := suite.Namespace(ctx, env)
		alone := ns + "-alone"
		create := func(text string) *unstructured.Unstructured {
			objs, err := harness.Objects(fmt.Appendf(nil, text, ns, alone))
			Expect(err).NotTo(HaveOccurred())
			for _, obj := range objs {
				Expect(env.Client.Create(ctx, obj, client.FieldOwner("owner"))).To(Succeed())
			}
			return objs[0]
		}
		tool := create(live)
		DeferCleanup(func() { Expect(env.Client.Delete(ctx, tool)).To(Succeed()) })
		all := inhabitants()
		objects, owned := map[string]*unstructured.Unstructured{}, map[string]*unstructured.Unstructured{}
		for name, in := range all {
			objects[name] = create(in.manifest)
			owned[name] = objects[name].DeepCopy()
			if in.asleep != "" {
				Expect(env.Client.Patch(ctx, objects[name], client.RawPatch(types.MergePatchType, []byte(in.asleep)),
					client.FieldOwner("kube-downscaler"))).To(Succeed())
			}
		}
		clock.SetTime(night)
		before, written := specs(objects), objects["agent"].GetGeneration()

		By("a dry run before the marks exist names objects that would go to sleep")
		Expect(migrate("", "kube-downscaler", "-A", "--take-over", "--dry-run").Out).To(And(
			ContainSubstring("Deployment.apps/"+ns+"/excluded: replicas 2 -> 0"), Not(ContainSubstring("/until: replicas")),
			Not(ContainSubstring("/payments")), ContainSubstring("DaemonSet.apps/"+ns+"/agent: flyball.dev/asleep absent -> "),
			Not(ContainSubstring("/"+alone+"/"))))

		printed := migrate("", "kube-downscaler", "-A")
		Expect(printed.ErrOut).To(BeEmpty())
		for _, policy := range policiesOf(printed.Out) {
			DeferCleanup(func() { suite.Remove(ctx, env, policy) })
		}
		said := follow(printed.Out)
		Expect(said["--dry-run"]).To(ContainSubstring("No object changes its state."))
		Expect(said["--apply"]).To(And(ContainSubstring("excluded-asleep: left as it is"),
			ContainSubstring("to wake it: kubectl patch deployment.apps excluded-asleep")))

		By("only the field by which the taken over DaemonSet sleeps has changed, in one write")
		before["agent"] = strings.Replace(before["agent"], "downscaler/match-none", "flyball.dev/asleep", 1)
		suite.Still(func() map[string]string { return specs(objects) }).Should(Equal(before))
		Expect(current(objects["agent"]).GetGeneration()).To(Equal(written + 1))
		for name, in := range all {
			if !in.wakes {
				Expect(current(objects[name]).GetManagedFields()).NotTo(ContainElement(HaveField("Manager", "flyball")), name+" was never touched")
			}
		}
		for name, obj := range objects {
			_, marked := current(obj).GetAnnotations()["downscaler/original-replicas"]
			Expect(marked).To(Equal(all[name].asleep != "" && strings.HasSuffix(name, "excluded") || name == "excluded-asleep"), name)
		}
		Expect(minAvailable(ns)).To(BeEquivalentTo(2), "no policy sets it, so the take-over gives it back")
		for _, policy := range policiesOf(printed.Out) {
			Eventually(func() []any {
				conditions, _, _ := unstructured.NestedSlice(current(policy).Object, "status", "conditions")
				return conditions
			}).Should(ContainElements(
				And(HaveKeyWithValue("type", v1alpha1.ConditionReady), HaveKeyWithValue("status", "True")),
				And(HaveKeyWithValue("type", v1alpha1.ConditionConflicting), HaveKeyWithValue("status", "False"))))
		}

		By("the next morning")
		clock.SetTime(night.Add(11 * time.Hour))
		for name, in := range all {
			if in.wakes {
				before[name] = specOf(owned[name])
			}
		}
		Eventually(func() map[string]string { return specs(objects) }).Should(Equal(before))
	})
}

// specs are the specs of objects as they are now.
func specs(objects map[string]*unstructured.Unstructured) map[string]string {
	GinkgoHelper()
	all := map[string]string{}
	for name, obj := range objects {
		all[name] = specOf(current(obj))
	}
	return all
}

func specOf(obj *unstructured.Unstructured) string {
	GinkgoHelper()
	text, err := json.Marshal(obj.Object["spec"])
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

var step = regexp.MustCompile(`(?m)^#      (.*)$`)

// follow runs only the commands of the printed steps. It returns the outputs of the command line, by the last flag of
// each command.
func follow(printed string) map[string]string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	Expect(os.WriteFile(filepath.Join(dir, "flyball.yaml"), []byte(printed), 0o600)).To(Succeed())
	said := map[string]string{}
	for _, m := range step.FindAllStringSubmatch(printed, -1) {
		By(m[1])
		if own, ok := strings.CutPrefix(m[1], "kubectl flyball migrate "); ok {
			words := strings.Fields(own)
			got := migrate("", words...)
			Expect(got.Code).NotTo(Equal(1), got.ErrOut)
			said[words[len(words)-1]] = got.Out
			continue
		}
		cmd := exec.CommandContext(ctx, "bash", "-c", m[1])
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "KUBECONFIG="+env.Cluster.Kubeconfig, "PATH="+filepath.Dir(env.Cluster.Bin("kubectl"))+":"+
			os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		Expect(err).NotTo(HaveOccurred(), string(out))
	}
	return said
}

func minAvailable(ns string) int64 {
	GinkgoHelper()
	budget := &unstructured.Unstructured{}
	budget.SetAPIVersion("policy/v1")
	budget.SetKind("PodDisruptionBudget")
	budget.SetNamespace(ns)
	budget.SetName("web")
	n, _, _ := unstructured.NestedInt64(current(budget).Object, "spec", "minAvailable")
	return n
}

func policiesOf(printed string) []*unstructured.Unstructured {
	GinkgoHelper()
	objs, err := harness.Objects([]byte(printed))
	Expect(err).NotTo(HaveOccurred())
	Expect(len(objs)).To(BeNumerically(">", 1))
	return objs
}
