package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/syntax"
	"flyball.dev/flyball/cmd/version"
)

// These exit codes are common to all verbs. The help of a verb lists further codes.
const (
	exitOK    = 0
	exitError = 1
)

// failsUndecided is the annotation of verbs whose errors end with exitUndecided instead of exitError.
const failsUndecided = "fails-undecided"

// moreFormats is the annotation of verbs with an output format of their own.
const moreFormats = "more-formats"

// exit is an error with an exit code. If it has no cause, the answer is already printed completely, so no error is
// printed.
type exit struct {
	code  int
	cause error
}

func (e exit) Error() string {
	if e.cause == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.cause.Error()
}

func (e exit) Unwrap() error { return e.cause }

// Run runs a command line and returns the exit code.
func Run(ctx context.Context, args []string, env Env) int {
	root := New(env)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitOK
	}
	code := exitError
	if cmd.Annotations[failsUndecided] != "" {
		code = exitUndecided
	}
	var e exit
	if errors.As(err, &e) {
		code = e.code
		if e.cause == nil {
			return code
		}
	}
	_, _ = fmt.Fprintln(env.ErrOut, "error:", report.CleanLines(err.Error()))
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
func New(env Env) *cobra.Command {
	s := &session{Env: env, config: newConnection(env.ErrOut)}
	root := &cobra.Command{
		Use:           "kubectl-flyball",
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl flyball"},
		Short:         "Explain, foresee and steer Flyball's actions",
		Long:          longRoot,
		SilenceUsage:  true,
		SilenceErrors: true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return s.complete(cmd.Annotations[moreFormats])
		},
	}
	root.SetFlagErrorFunc(syntax.FlagError)
	root.Version = version.String()
	root.SetVersionTemplate("kubectl flyball {{.Version}}\n")
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.ErrOut)
	flags := root.PersistentFlags()
	s.config.addFlags(flags)
	flags.Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // so that the help is the same on every machine
	flags.StringVarP(&s.output, "output", "o", string(report.Table), "Output format: table, wide, json, yaml or name")
	flags.StringVar(&s.zoneName, "time-zone", "", "IANA time zone in which local times are read and instants shown (default: this machine's)")
	flags.StringVar(&s.flyballNamespace, "flyball-namespace", source.DefaultNamespace, "Namespace in which Flyball runs")
	flags.StringSliceVar(&s.world, "offline", nil,
		"Ask no cluster: work from these files and directories of manifests (- is standard input) and the adapters that come with Flyball")
	_ = root.MarkPersistentFlagFilename("offline", "yaml", "yml", "json")
	flags.BoolVar(&s.noColor, "no-color", false, "No colours; the environment variable NO_COLOR does the same")
	for _, verb := range []func(*session) *cobra.Command{
		newStatus, newExplain, newPlan, newReport, newUI, newCanI, newFreezes, newWake, newSleep, newHold,
		newPause, newExcept,
		newAdapter, newMigrate, newSuggest, newDoctor, newVersion,
	} {
		root.AddCommand(verb(s))
	}
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.SetUsageTemplate(usageTemplate(root.UsageTemplate()))
	syntax.Explain(root)
	syntax.Below(root)
	s.suggestions().Flags(root)
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
