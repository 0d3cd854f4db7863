package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/adapter"
	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/doctor"
	"flyball.dev/flyball/cmd/kubectl-flyball/except"
	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/freezes"
	"flyball.dev/flyball/cmd/kubectl-flyball/migrate"
	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/plan"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/status"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui"
	"flyball.dev/flyball/cmd/kubectl-flyball/version"
	build "flyball.dev/flyball/cmd/version"
)

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, args []string, env factory.Env) int {
	root := New(env)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return factory.ExitOK
	}
	code := factory.ExitError
	if own, err := strconv.Atoi(cmd.Annotations[factory.FailsWith]); err == nil {
		code = own
	}
	var e factory.Exit
	if errors.As(err, &e) {
		code = e.Code
		if e.Cause == nil {
			return code
		}
	}
	_, _ = fmt.Fprintln(env.ErrOut, "error:", printer.CleanLines(err.Error()))
	if away := (*net.OpError)(nil); errors.As(err, &away) {
		_, _ = fmt.Fprintln(env.ErrOut,
			"The cluster cannot be reached: see that the kubeconfig and its context are right (--kubeconfig, --context), or work from files "+
				"with --offline DIR.")
	}
	return code
}

const longRoot = `Flyball governs when and how much workloads run. This plugin answers the questions that kubectl get cannot:

  why is this at zero?       kubectl flyball explain deployment/web
  which changes tonight?     kubectl flyball plan --for 12h
  may I deploy now?          kubectl flyball can-i rollout deployment/web

The answers come from the manager's own code. Verbs that only read need only rights to read what they show, and name a
right that is missing. With --offline DIR they work from manifests alone.

Exit codes: 0 success, 1 an error. plan, can-i, migrate and suggest have more; see their help.`

// New returns the root command.
func New(env factory.Env) *cobra.Command {
	root := &cobra.Command{
		Use:           "kubectl-flyball",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl flyball"},
		Short:         "Explain, foresee and steer Flyball's actions",
		Long:          longRoot,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(factory.FlagError)
	root.Version = build.String()
	root.SetVersionTemplate("kubectl flyball {{.Version}}\n")
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	f := factory.New(env, root)
	for _, verb := range []func(*factory.Factory) *cobra.Command{
		status.New, explain.New, plan.New, report.New, ui.New, cani.New, freezes.New, override.NewWake, override.NewSleep, override.NewHold,
		pause.New, except.New,
		adapter.New, migrate.New, suggest.New, doctor.New, version.New,
	} {
		root.AddCommand(verb(f))
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	factory.ExplainUsage(root)
	factory.AppendReference(root)
	f.CompleteFlags(root)
	return root
}

// inheritedFlags is the part of cobra's usage template with the flags of all verbs.
const inheritedFlags = `{{if .HasAvailableInheritedFlags}}

Global Flags:
{{.InheritedFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}`

// usageTemplate returns cobra's usage template with one line in place of the flags of all verbs.
func usageTemplate(template string) string {
	template = strings.Replace(template, `

Use "{{.CommandPath}} [command] --help" for more information about a command.{{end}}`, `{{end}}`, 1)
	return strings.Replace(template, inheritedFlags, `{{if .HasAvailableInheritedFlags}}

kubectl flyball --help lists the flags of all verbs, such as --offline, -n, -o and --as.{{end}}`, 1)
}
