package cli

import (
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/integration/suite"
)

// developers creates service accounts with rights in only one namespace. They have the rights of the cluster roles
// view, edit and admin on workloads, and the rights that the chart adds to these roles. The rights are written out,
// because no controller aggregates roles here. Two other accounts may create Overrides, and one of them may patch Deployments.
func developers(ns string) {
	GinkgoHelper()
	read := `{apiGroups: [""], resources: [namespaces, pods], verbs: [get, list, watch]}, {apiGroups: [apps, batch, autoscaling], resources: ["*"], verbs: [get, list, watch]}, ` +
		`{apiGroups: [flyball.dev], resources: ["*"], verbs: [get, list, watch]}`
	write := read + `, {apiGroups: [apps, batch, autoscaling], resources: ["*"], verbs: [create, update, patch, delete]}, ` +
		`{apiGroups: [flyball.dev], resources: [overrides, schedules, triggers, tortoises, deletioncosts], ` +
		`verbs: [create, update, patch, delete]}`
	for account, rules := range map[string]string{
		"view": read, "edit": write, "orderer": `{apiGroups: [flyball.dev], resources: [overrides], verbs: [create, delete]}`,
		"deployer": read + `, {apiGroups: [flyball.dev], resources: [overrides], verbs: [create]}, ` +
			`{apiGroups: [apps], resources: [deployments], verbs: [patch]}`,
		"admin": write +
			`, {apiGroups: [flyball.dev], resources: [changefreezes, freezeexceptions, maintenancewindows], verbs: [create, update, patch, delete]}`,
	} {
		apply(`
{apiVersion: v1, kind: ServiceAccount, metadata: {name: %[2]s, namespace: %[1]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: %[2]s, namespace: %[1]s}, rules: [%[3]s]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: %[2]s, namespace: %[1]s},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s}, subjects: [{kind: ServiceAccount, name: %[2]s, namespace: %[1]s}]}`, ns, account, rules)
		right := authorizationv1.ResourceAttributes{Verb: "create", Group: "flyball.dev", Resource: "overrides", Namespace: ns}
		if account == "view" {
			right.Verb = "list"
		}
		awaitRights(ns, account, right)
	}
}

// readableByAll gives all users the rights on cluster-scoped objects that an installation of Flyball gives them.
func readableByAll() {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(env.Root, "deploy/kustomize/base/flyball.yaml"))
	Expect(err).NotTo(HaveOccurred())
	all, err := harness.Objects(text)
	Expect(err).NotTo(HaveOccurred())
	granted := func(is bool) { suite.AwaitRight(ctx, env, "somebody", "list", "flyball.dev", "adapters", is) }
	DeferCleanup(granted, false)
	applied := 0
	for _, obj := range all {
		if obj.GetName() == source.ClusterReader {
			Expect(env.Client.Create(ctx, obj)).To(Succeed())
			DeferCleanup(func() { Expect(client.IgnoreNotFound(env.Client.Delete(ctx, obj))).To(Succeed()) })
			applied++
		}
	}
	Expect(applied).To(Equal(2), "a role and its binding")
	granted(true)
}

var _ = Describe("People with a role in one namespace", func() {
	var ns, other string
	everyone := []string{"view", "edit", "admin"}
	reads := func() [][]string {
		return [][]string{
			{"status"}, {"status", "--targets"}, {"status", "--targets", "schedule/nights"}, {"explain", "deployment/web"}, {"plan", "--for", "1d"},
			{"can-i", "rollout", "deployment/web"},
			{"freezes"}, {"wake", "deployment/web", "--for", "1h", "--dry-run"}, {"sleep", "deployment/web", "--for", "1h", "--dry-run"},
			{"doctor"}, {"version"},
			{"migrate", "kube-downscaler"},
		}
	}
	BeforeEach(func() {
		ns, other = suite.Namespace(ctx, env), suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		developers(ns)
		for name, reached := range map[string]string{"here-": ns, "there-": other} {
			apply(
				`{apiVersion: flyball.dev/v1alpha1, kind: ClusterSchedule, metadata: {name: %[1]s%[2]s}, spec: {target: {names: [report], namespaceSelector: {matchLabels:
  {kubernetes.io/metadata.name: %[3]s}}}, upscale: "0 8 * * *", downscale: "0 20 * * *"}}`, name, ns, reached)
			DeferCleanup(func() { suite.Remove(ctx, env, &v1alpha1.ClusterSchedule{ObjectMeta: objectMeta("", name+ns)}) })
		}
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 awake"))
	})

	It("use every verb, and see the Cluster policies that reach the namespace", func() {
		readableByAll()
		for _, who := range everyone {
			// The API server sees a binding a moment after it was created.
			Eventually(func() string { return run(ns+"/"+who, "", "status", "-n", ns).ErrOut }).Should(BeEmpty(), who)
			for _, args := range reads() {
				got := run(ns+"/"+who, "", append(args, "-n", ns)...)
				Expect(got.Code).To(BeElementOf(0, 2), "%s: %v: %s", who, args, got.ErrOut)
				Expect(got.ErrOut).To(BeEmpty(), "%s: %v", who, args)
				if args[0] == "can-i" {
					Expect(got.Code).To(Equal(0), got.Out)
				}
			}
			status := run(ns+"/"+who, "", "status", "-n", ns).Out
			Expect(status).To(And(ContainSubstring("Schedule/"+ns+"/nights"), ContainSubstring("ClusterSchedule/here-"+ns),
				Not(ContainSubstring("there-"+ns))), who)
			Expect(run(ns+"/"+who, "", "explain", "clusterschedule/here-"+ns, "-n", ns)).To(answered(0, "CronJob.batch/"+ns+"/report",
				"only the targets in namespace "+ns+" are listed, because you may not read all namespaces"), who)
		}
	})

	It("get answers by their namespace without rights on the cluster, and one line that names the omitted part", func() {
		for _, who := range everyone {
			for _, args := range reads() {
				got := run(ns+"/"+who, "", append(args, "-n", ns)...)
				Expect(got.Code).To(BeElementOf(0, 2), "%s: %v: %s", who, args, got.ErrOut)
				if args[0] == "version" || args[0] == "migrate" {
					continue
				}
				said := got.ErrOut
				if args[0] == "doctor" {
					said = got.Out
				}
				Expect(said).To(And(ContainSubstring("left out, because you may not read: adapters.flyball.dev, "),
					ContainSubstring("clusterschedules.flyball.dev"),
					ContainSubstring("the ClusterRole "+source.ClusterReader+" gives the rights")), "%s: %v", who, args)
				if args[0] != "doctor" {
					Expect(strings.Count(said, "\n")).To(Equal(1), "%s: %v: %s", who, args, said)
				}
			}
			Expect(run(ns+"/"+who, "", "explain", "deployment/web", "-n", ns).Out).To(ContainSubstring("nights asks: awake"))
			Expect(run(ns+"/"+who, "", "can-i", "rollout", "deployment/web", "-n", ns)).To(answered(2, "yes: RollOut"),
				"what is left out could deny it")
		}
	})

	It("wake, sleep and pause the objects, and end it, that their role lets them patch", func() {
		for _, args := range [][]string{
			{"wake", "deployment/web", "--until", "22:00"}, {"wake", "-l", "tier=app", "--until", "22:00"},
			{"wake", "schedule/nights", "--until", "22:00"}, {"pause", "schedule/nights"}, {"pause", "schedule/nights", "--end"},
		} {
			Expect(run(ns+"/edit", "", append(args, "-n", ns)...)).To(answered(0), "%v", args)
			got := run(ns+"/view", "", append(args, "-n", ns)...)
			Expect(got).To(answered(1, "right is needed: "), "%v", args)
			if args[0] == "pause" && len(args) == 2 {
				Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(MatchRegexp("Schedule/" + ns + "/nights +Suspended"))
			}
		}
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(MatchRegexp("Schedule/" + ns + "/nights +Awake"))
	})

	It("wake with only the right to create Overrides", func() {
		got := run(ns+"/orderer", "", "wake", "deploy/web", "--until", "22:00", "-n", ns)
		Expect(got).To(answered(0, "deployment/web: awake until Mon 2026-03-02 22:00 UTC", "The effect is not shown", "schedules.flyball.dev"))
		Expect(strings.Count(got.ErrOut, "\n")).To(Equal(1), got.ErrOut)
		Expect(overridesOf(ns)).To(ConsistOf(HaveField("Spec.Until", "2026-03-02T22:00:00Z")))
		Expect(run(ns+"/orderer", "", "sleep", "deploy/web", "--until", "22:00", "-n", ns)).To(answered(1, "patch"))
	})

	It("read which Overrides are created already, if a further one is refused", func() {
		got := run(ns+"/deployer", "", "sleep", "deploy/web", "cj/report", "--until", "22:00", "-n", ns)
		Expect(got).To(answered(1, "patch", "created already: override.flyball.dev/sleep-web-"))
		Expect(overridesOf(ns)).To(ConsistOf(HaveField("Spec.Target.Names", ConsistOf("web"))))
	})

	It("are asked about by others, who read with their own rights", func() {
		got := run("", "", "can-i", "rollout", "deployment/web", "-n", ns, "--as=somebody")
		Expect(got).To(answered(0, "yes: RollOut Deployment.apps/"+ns+"/web by somebody"))
		Expect(got.ErrOut).To(BeEmpty())
		Expect(run(ns+"/edit", "", "can-i", "rollout", "deployment/web", "-n", ns, "--as=somebody")).To(answered(2, "cannot impersonate"))
	})
})
