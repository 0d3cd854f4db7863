package cli

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/integration/suite"
)

const shop = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: %[1]s, labels: {tier: app}}
spec: {replicas: 3, selector: {matchLabels: {app: web}}, template: {metadata: {labels: {app: web}}, spec: {containers: [{name: main, image: nginx}]}}}
---
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, namespace: %[1]s, labels: {tier: app}}
spec: {schedule: "0 * * * *", jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [{name: main, image: nginx}]}}}}}
---
apiVersion: flyball.dev/v1alpha1
kind: Schedule
metadata: {name: nights, namespace: %[1]s}
spec: {target: {selector: {matchLabels: {tier: app}}}, upscale: "0 8 * * *", downscale: "0 20 * * *"}
`

// change is one line of a plan.
type change struct {
	At                      time.Time
	Target, Field, From, To string
}

var _ = Describe("Verbs that read", func() {
	var ns string
	reading := func() [][]string {
		return [][]string{
			{"status", "-n", ns}, {"explain", "deployment/web", "-n", ns}, {"explain", "cj/report", "-n", ns, "-o", "json"},
			{"plan", "-n", ns, "--for", "1d"}, {"can-i", "rollout", "deploy/web", "-n", ns}, {"freezes", "-n", ns},
			{"freezes", "deploy/web", "-n", ns},
			{"doctor", "-n", ns},
		}
	}
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 awake"))
	})

	It("need no more than the rights to read", func() {
		for _, args := range reading() {
			got := run("viewer", "", args...)
			Expect(got.Code).To(BeElementOf(0, 2), "%v: %s", args, got.ErrOut)
			Expect(got.ErrOut).To(BeEmpty(), "%v", args)
			if args[0] != "explain" && args[0] != "can-i" && args[0] != "doctor" { // these name users or rights
				Expect(got).To(Equal(run("", "", args...)), "%v: what the administrator sees", args)
			}
		}
	})

	It("count the objects that a freeze judges, as far as they may be listed", func() {
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: ChangeFreeze, metadata: {name: later, namespace: %s}, spec: {startTime: "2037-01-01T00:00:00Z", endTime: "2037-01-02T00:00:00Z", target: {kinds: [{group: apps, kind: Deployment}, {group: batch, kind: CronJob}], names: [web, report, absent]}}}`, ns)
		row := func(targets string) OmegaMatcher {
			return MatchRegexp("ChangeFreeze/" + ns + "/later +Scheduled .* 2037-01-01 .* " + targets + "( |\n|$)")
		}
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(row("2"))
		Expect(run("viewer", "", "status", "-n", ns).Out).To(row("2"))
		apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: policies, namespace: %[1]s}
rules: [{apiGroups: [flyball.dev], resources: ["*"], verbs: [list]}, {apiGroups: [""], resources: [namespaces], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: policies, namespace: %[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: policies}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: policies-%[1]s}]
`, ns)
		Eventually(func() string { return run("policies-"+ns, "", "status", "-n", ns).Out }).Should(row("-"))
	})

	It("name the missing rights and show nothing", func() {
		for _, args := range reading() {
			got := run("nobody", "", args...)
			want := 1
			if args[0] == "can-i" {
				want = 2 // exit code for undecided
			}
			Expect(got.Code).To(Equal(want), "%v", args)
			Expect(got.Out).To(BeEmpty(), "%v", args)
			Expect(got.ErrOut).To(ContainSubstring("list schedules.flyball.dev in namespace "+ns), "%v", args)
			Expect(got.ErrOut).To(ContainSubstring("list adapters.flyball.dev in all namespaces"), "%v", args)
			Expect(got.ErrOut).To(ContainSubstring(`- {apiGroups: ["flyball.dev"], resources: [`), "%v", args)
		}
	})

	It("describe errors in their arguments", func() {
		Expect(run("", "", "explain", "deploymint/web", "-n", ns).ErrOut).To(ContainSubstring("did you mean deployment?"))
		Expect(run("", "", "explain", "deployment/wbe", "-n", ns).ErrOut).To(ContainSubstring("there is no Deployment.apps/" + ns + "/wbe"))
		Expect(run("", "", "status", "-n", "nowhere").ErrOut).To(ContainSubstring("there is no namespace nowhere"))
		Expect(run("", "", "can-i", "rollout", "deployment/wbe", "-n", ns).Code).To(Equal(2))
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: Adapter, metadata: {name: robots.example.com}, spec: {target: {group: example.com, kind: Robot, versions: [v1]}, scale: [{name: main, replicas: .spec.replicas, default: 1}]}}`)
		DeferCleanup(func() { suite.Remove(ctx, env, &v1alpha1.Adapter{ObjectMeta: objectMeta("", "robots.example.com")}) })
		got := run("", `{"apiVersion":"example.com/v1","kind":"Robot","metadata":{"name":"a"}}`, "can-i", "-f", "-", "-n", ns)
		Expect(got).To(refused(2, "the kind Robot.example.com has an adapter, but the API server does not serve it"))
		annex := `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"namespace":"annex","name":"web"},"spec":{"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"web","image":"example.com/web:1"}]}}}}`
		Expect(run("", annex, "can-i", "-f", "-", "-n", ns)).To(refused(2, "there is no namespace annex"))
		brought := run("", `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"annex"}}`+"\n---\n"+annex, "can-i", "-f", "-", "-n", ns)
		Expect(brought).To(answered(0, "yes: Create Deployment.apps/annex/web",
			"there is no namespace annex yet: it is taken to be as its manifest has it"))
		Expect(run("", "", "version").Out).To(ContainSubstring("API flyball.dev/v1alpha1"))
	})

	It("plan the manager's later writes, change by change and to the second", func() {
		got := run("viewer", "", "plan", "-n", ns, "--for", "2d", "-o", "json")
		Expect(got.Code).To(Equal(2), got.ErrOut)
		var planned struct{ Changes []change }
		Expect(json.Unmarshal([]byte(got.Out), &planned)).To(Succeed())
		Expect(planned.Changes).To(HaveLen(8)) // two objects, two nights
		for _, c := range planned.Changes {
			if clock.Now().Before(c.At) { // otherwise this change came together with the change before
				clock.SetTime(c.At.Add(-time.Second))
				suite.Still(func() string { return value(ns, c) }).Should(Equal(c.From), "before %+v", c)
				clock.SetTime(c.At)
			}
			Eventually(func() string { return value(ns, c) }).Should(Equal(c.To), "%+v", c)
		}
	})

	It("plan with a changed policy, which keeps omitted values, beside a Notification", func() {
		Expect(run("alice:people", "", "wake", "schedule/nights", "-n", ns, "--until", "2026-03-02T22:00:00Z").Code).To(Equal(0))
		later := strings.Replace(fmt.Sprintf(shop[strings.LastIndex(shop, "---"):], ns), "0 8 * * *", "0 9 * * *", 1)
		later += "\n---\n" + `{"apiVersion":"flyball.dev/v1alpha1","kind":"Notification","metadata":{"name":"team"},` +
			`"spec":{"events":["Failed"],"to":{"service":{"type":"Slack","urlFrom":{"secretKeyRef":{"name":"a","key":"b"}}}}}}`
		got := run("viewer", later, "plan", "deployment/web", "-n", ns, "--for", "1d", "-f", "-", "-o", "json")
		Expect(got.Code).To(Equal(2), got.ErrOut)
		var planned struct {
			Changes []struct {
				Diff string
				At   time.Time
			}
		}
		Expect(json.Unmarshal([]byte(got.Out), &planned)).To(Succeed())
		Expect(planned.Changes).To(HaveLen(2), "it wakes later, and sleeps when it did: %s", got.Out)
	})

	It("check the installation, and adapters", func() {
		got := run("", "", "doctor", "-n", ns)
		Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
		Expect(got.Out).To(And(ContainSubstring("webhook: ok\n  it answers, and refuses what is wrong"), ContainSubstring("adapters: ok")))
		Expect(run("viewer", "", "doctor", "-n",
			ns).Out).To(ContainSubstring("webhook: not checked\n  to see whether it answers takes the right to create schedules in namespace " + ns))

		file := filepath.Join(env.Root, "adapters/apps/Deployment/adapter.yaml")
		got = run("", "", "adapter", "check", file)
		Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
		Expect(got.Out).To(And(ContainSubstring("apps/v1 serves Deployment as deployments, with /scale"),
			ContainSubstring("every path is in the schema")))
		got = run("viewer", "", "adapter", "check", file)
		Expect(got.Code).To(Equal(1))
		Expect(got.Out).To(ContainSubstring("problem: you may not patch deployments.apps in all namespaces"))
		for _, name := range []string{"deployment/web", "deploy/web"} {
			got = run("viewer", "", "adapter", "try", file, name, "-n", ns)
			Expect(got.Code).To(Equal(0), got.Out+got.ErrOut)
			Expect(got.Out).To(ContainSubstring("waking restores the object exactly"))
		}
		Expect(run("viewer", "", "adapter", "try", file, "sts/web", "-n", ns).ErrOut).To(ContainSubstring("give deployment/NAME"))
		got = run("", "", "adapter", "new", "adapters.flyball.dev")
		Expect(got.Code).To(Equal(1))
		Expect(got.ErrOut).To(ContainSubstring("none of its numbers and switches has a name"))
		Expect(run("viewer", "", "adapter", "new",
			"adapters.flyball.dev").ErrOut).To(ContainSubstring("list customresourcedefinitions.apiextensions.k8s.io in all namespaces"))
	})

	It("name the targets on which a GitOps tool applies a field that is going to change", func() {
		tracked := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"api","namespace":%[1]q,"labels":{"tier":"app"},
			"annotations":{"argocd.argoproj.io/tracking-id":"shop:apps/Deployment:%[1]s/api"}},"spec":{"replicas":2,
			"selector":{"matchLabels":{"app":"api"}},"template":{"metadata":{"labels":{"app":"api"}},
			"spec":{"containers":[{"name":"main","image":"nginx"}]}}}}`, ns)
		api := &unstructured.Unstructured{}
		Expect(json.Unmarshal([]byte(tracked), api)).To(Succeed())
		Expect(env.Client.Patch(ctx, api, client.RawPatch(types.ApplyPatchType, []byte(tracked)), client.FieldOwner("argocd-controller"),
			client.ForceOwnership)).To(Succeed())
		got := run("", "", "doctor", "-n", ns)
		Expect(got.Out).To(ContainSubstring("gitops: not checked\n  Application shop applies /spec/replicas of Deployment.apps/" + ns + "/api; "))
		Expect(got.Out).To(ContainSubstring("managedFieldsManagers: [flyball]"))
	})

	It("do not claim that no policy selects an object while a policy cannot be read", func() {
		apply(
			`{apiVersion: apps/v1, kind: Deployment, metadata: {name: lonely, namespace: %[1]s}, spec: {selector: {matchLabels: {app: l}}, template: {metadata: {labels: {app: l}}, spec: {containers: [{name: main, image: nginx}]}}}}`, ns)
		Expect(run("", "", "plan", "deployment/lonely", "-n", ns).Out).To(ContainSubstring("note: no policy selects Deployment.apps/" + ns +
			"/lonely"))
		apply(
			`{apiVersion: flyball.dev/v1alpha1, kind: Schedule, metadata: {name: holidays, namespace: %[1]s}, spec: {upscale: "0 8 * * *", downscale: "0 20 * * *", calendars: [{name: nowhere, effect: Asleep}]}}`, ns)
		DeferCleanup(func() { suite.Remove(ctx, env, &v1alpha1.Schedule{ObjectMeta: objectMeta(ns, "holidays")}) })
		Expect(run("", "", "plan", "deployment/lonely", "-n",
			ns).Out).To(ContainSubstring("note: no policy that can be read selects Deployment.apps/" + ns + "/lonely"))
		Expect(run("", "", "explain", "deployment/lonely", "-n", ns).Out).To(ContainSubstring("no policy that can be read selects it"))
	})

	It("explain sleeping objects", func() {
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(func() string { return run("viewer", "", "explain", "deployment/web", "-n", ns).Out }).Should(And(
			ContainSubstring("asleep, because of Schedule/"+ns+"/nights"),
			ContainSubstring("replicas: 3; Schedule/"+ns+"/nights puts it to 0 since the object was made at "),
			ContainSubstring("(its transition was before that, at Mon 2026-03-02 20:00 UTC)"),
			ContainSubstring("Tue 2026-03-03 08:00 UTC   replicas 0 -> 3"),
		))
	})
})

// removeNights removes the schedule of shop.
func removeNights(ns string) {
	GinkgoHelper()
	suite.Remove(ctx, env, &v1alpha1.Schedule{ObjectMeta: objectMeta(ns, "nights")})
}

// value returns the present JSON text of the field that a change is about.
func value(ns string, c change) string {
	GinkgoHelper()
	obj := &unstructured.Unstructured{}
	kinds := map[string]schema.GroupVersionKind{
		"Deployment.apps": {Group: "apps", Version: "v1", Kind: "Deployment"}, "CronJob.batch": {Group: "batch", Version: "v1", Kind: "CronJob"},
	}
	parts := strings.Split(c.Target, "/")
	obj.SetGroupVersionKind(kinds[parts[0]])
	Expect(env.Client.Get(ctx, client.ObjectKey{Namespace: ns, Name: parts[len(parts)-1]}, obj)).To(Succeed())
	found, there, err := unstructured.NestedFieldNoCopy(obj.Object, strings.Split(strings.TrimPrefix(c.Field, "/"), "/")...)
	Expect(err).NotTo(HaveOccurred())
	if !there {
		return ""
	}
	return fmt.Sprint(found)
}
