// Command flyball-hook is the program of the installation's jobs. "uninstall" runs before Flyball is removed. "install"
// applies the adapters of install.yaml.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/deploy/hooks"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flyball-hook:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := pflag.NewFlagSet("flyball-hook", pflag.ContinueOnError)
	timeout := flags.Duration("timeout", 5*time.Minute, "How long the manager may take.")
	adapters := flags.StringSlice("adapters", nil, "Names of the Adapters that install applies.")
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: set KUBECONFIG, or run in a pod: %w", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeoutCause(ctx, *timeout, fmt.Errorf("not done within %s", *timeout))
	defer cancel()
	say := func(line string) { fmt.Println(line) }
	switch verb := strings.Join(flags.Args(), " "); verb {
	case "uninstall":
		return hooks.Uninstall(ctx, config, say)
	case "install":
		return hooks.Install(ctx, config, *adapters, say)
	default:
		return fmt.Errorf("say one of: uninstall, install; got %q", verb)
	}
}
