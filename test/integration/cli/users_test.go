package cli

import (
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/integration/suite"
)

// asked is a command line that two users run. One of them may view everything, and the other has no rights.
type asked struct {
	args           []string
	viewer, nobody types.GomegaMatcher
}

// answered matches a command line that has ended with an exit code and has printed some texts. If the code means an
// error, it has printed nothing else.
func answered(code int, said ...string) types.GomegaMatcher {
	all := []types.GomegaMatcher{HaveField("Code", code)}
	for _, text := range said {
		all = append(all, WithTransform(func(o outcome) string { return o.Out + o.ErrOut }, ContainSubstring(text)))
	}
	return And(all...)
}

// refused matches a command line that has named a missing right and has printed nothing else.
func refused(code int, right string) types.GomegaMatcher {
	return And(answered(code, right), HaveField("Out", BeEmpty()), HaveField("ErrOut", HavePrefix("error: ")))
}

// everyVerb has a command line for every verb, with the outcomes for the two users.
func everyVerb(ns string) []asked {
	file := filepath.Join(env.Root, "adapters/apps/Deployment/adapter.yaml")
	cases := filepath.Join(env.Root, "cmd/kubectl-flyball/cli/testdata/oven")
	lists := "list schedules.flyball.dev in namespace " + ns
	return []asked{
		{[]string{"status"}, answered(0, "Schedule/"+ns+"/nights"), refused(1, lists)},
		{[]string{"status", "--targets"}, answered(0, "Deployment.apps/"+ns+"/web"), refused(1, lists)},
		{[]string{"pause", "schedule/nights", "--dry-run"}, refused(1, "patch schedules.flyball.dev in namespace "+ns),
			refused(1, "patch schedules.flyball.dev in namespace "+ns)},
		{[]string{"pause", "schedule/nights", "--end", "--dry-run"}, refused(1, "patch schedules.flyball.dev in namespace "+ns),
			refused(1, "patch schedules.flyball.dev in namespace "+ns)},
		{[]string{"explain", "deployment/web"}, answered(0, "nights asks: awake"), refused(1, lists)},
		{[]string{"plan", "--for", "1d"}, answered(2, ".spec.replicas"), refused(1, lists)},
		{[]string{"can-i", "rollout", "deployment/web"}, answered(0, "yes: RollOut"), refused(2, lists)},
		{[]string{"report"}, answered(0, "Schedule/"+ns+"/nights"), refused(1, lists)},
		{[]string{"freezes"}, answered(0, "No freeze and no maintenance window is in force."), refused(1, lists)},
		{[]string{"wake", "deployment/web", "--for", "1h", "--dry-run"}, answered(0, "dry run"), refused(1, lists)},
		{[]string{"hold", "deployment/web", "--for", "1h", "--dry-run"}, answered(0, "dry run"), refused(1, lists)},
		{[]string{"sleep", "deployment/web", "--for", "1h", "--dry-run"}, answered(0, "dry run"), refused(1, lists)},
		{[]string{"except", "deployment/web", "--allow", "rollout", "--for", "1h", "--reason", "fix", "--dry-run"},
			refused(1, "the exception would lift nothing, so it is not made: no freeze denies this"), refused(1, lists)},
		{[]string{"adapter", "new", "adapters.flyball.dev"}, refused(1, "list customresourcedefinitions.apiextensions.k8s.io in all namespaces"),
			refused(1, "list customresourcedefinitions.apiextensions.k8s.io in all namespaces")},
		{[]string{"adapter", "check", file}, answered(1, "problem: you may not patch deployments.apps"), answered(1, "problem: you may not")},
		{[]string{"adapter", "try", file, "deployment/web"}, answered(0, "waking restores the object exactly"),
			refused(1, `deployments.apps "web" is forbidden`)},
		{[]string{"adapter", "test", cases}, answered(0), answered(0)},
		{[]string{"adapter", "rbac", file}, answered(0, "kind: ClusterRole"), answered(0, "kind: ClusterRole")},
		{[]string{"migrate", "kube-downscaler"}, answered(0), refused(1, "list deployments.apps in namespace "+ns)},
		{[]string{"suggest", "requests", "deployment/web", "--usage",
			filepath.Join(env.Root, "cmd/kubectl-flyball/cli/testdata/usage/web.csv")},
			HaveField("ErrOut", Not(ContainSubstring("rights are missing"))), refused(1, lists)},
		{[]string{"suggest", "schedule", "deployment/web", "--usage",
			filepath.Join(env.Root, "cmd/kubectl-flyball/cli/testdata/usage/totals.csv"), "--time-zone", "UTC"},
			HaveField("ErrOut", Not(ContainSubstring("rights are missing"))), refused(1, lists)},
		{[]string{"suggest", "trigger", "deployment/web", "--usage", filepath.Join(env.Root, "cmd/kubectl-flyball/cli/testdata/usage/totals.csv"),
			"--time-zone", "UTC"},
			HaveField("ErrOut", Not(ContainSubstring("rights are missing"))), refused(1, lists)},
		{[]string{"doctor"}, answered(0, "webhook: not checked"), refused(1, lists)},
		{[]string{"version"}, answered(0, "API flyball.dev/v1alpha1"),
			answered(0, "The version of the manager is not known: deployments.apps is forbidden")},
	}
}

var _ = Describe("Every verb", func() {
	It("answers viewers as far as their rights go, and names the missing right to others", func() {
		ns := suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 awake"))
		put := []string{"ui"} // serves until it is stopped; TestUI in cmd/kubectl-flyball/cli tries it
		for _, a := range everyVerb(ns) {
			args := append(a.args[:len(a.args):len(a.args)], "-n", ns)
			By(strings.Join(args, " "))
			Expect(run("viewer", "", args...)).To(a.viewer, "the viewer")
			Expect(run("nobody", "", args...)).To(a.nobody, "nobody")
			put = append(put, verbOf(a.args))
		}
		Expect(slices.Compact(put)).To(ConsistOf(verbs("", cli.New(factory.Env{}))))
	})
})

// verbOf returns the name of the verb in a command line.
func verbOf(args []string) string {
	if args[0] == "adapter" || args[0] == "suggest" {
		return strings.Join(args[:2], " ")
	}
	return args[0]
}

// verbs returns the names of the runnable commands below a command, except the built-in commands of cobra.
func verbs(above string, cmd *cobra.Command) (names []string) {
	for _, c := range cmd.Commands() {
		name := strings.TrimSpace(above + " " + c.Name())
		switch {
		case c.Name() == "help" || c.Name() == "completion":
		case c.Runnable():
			names = append(names, name)
		default:
			names = append(names, verbs(name, c)...)
		}
	}
	return names
}
