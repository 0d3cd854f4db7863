// Command flyball-manager governs when and how much any Kubernetes workload runs.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime/debug"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/cmd/version"
)

// memoryPercent is the part of GOMEMLIMIT for Go's runtime. The chart sets GOMEMLIMIT to the limit of the container. The rest is
// for memory outside of the runtime.
const memoryPercent = 90

// leaveMemory makes the collector keep the runtime below its part of GOMEMLIMIT. Without GOMEMLIMIT there is no bound.
func leaveMemory() { debug.SetMemoryLimit(debug.SetMemoryLimit(-1) / 100 * memoryPercent) }

func main() {
	leaveMemory()
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flyball-manager:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var opts app.Options
	logging := zap.Options{}
	flags := pflag.NewFlagSet("flyball-manager", pflag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, "Governs when and how much any Kubernetes workload runs.\n\nUsage:\n  flyball-manager [flags]\n\nFlags:\n",
			flags.FlagUsages())
	}
	opts.AddFlags(flags)
	showVersion := flags.Bool("version", false, "Print the version and end.")
	classic := flag.NewFlagSet("", flag.ContinueOnError)
	logging.BindFlags(classic)
	ctrl.RegisterFlags(classic)
	flags.AddGoFlagSet(classic)
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q; see --help", flags.Arg(0))
	}
	if *showVersion {
		_, err := fmt.Println("flyball-manager", version.String())
		return err
	}
	opts.Log = zap.New(zap.UseFlagOptions(&logging))
	ctrl.SetLogger(opts.Log)
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: set --kubeconfig or KUBECONFIG, or run in a pod: %w", err)
	}
	return app.Run(ctrl.SetupSignalHandler(), config, opts)
}
