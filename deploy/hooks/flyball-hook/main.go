// Command flyball-hook is the program of the installation's jobs. "uninstall" runs before Flyball is removed. "adopt"
// runs after an installation that finds adapters of an earlier installation. "install" applies the adapters of
// install.yaml.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
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
	adapters := flags.StringSlice("adapters", nil, "Names of the Adapters that the installation brings; for adopt and install.")
	switch err := flags.Parse(args); {
	case errors.Is(err, pflag.ErrHelp):
		return nil
	case err != nil:
		return err
	}
	hook, err := hookOf(flags.Args(), *adapters)
	if err != nil {
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
	return hook(ctx, config, func(line string) { fmt.Println(line) })
}

// hookOf returns the hook that the single argument names.
func hookOf(args, adapters []string) (func(context.Context, *rest.Config, func(string)) error, error) {
	if len(args) == 1 && args[0] == "uninstall" {
		return hooks.Uninstall, nil
	}
	named := map[string]func(context.Context, *rest.Config, []string, func(string)) error{"adopt": hooks.Adopt, "install": hooks.Install}
	if len(args) == 1 && named[args[0]] != nil {
		return func(ctx context.Context, config *rest.Config, say func(string)) error {
			return named[args[0]](ctx, config, adapters, say)
		}, nil
	}
	return nil, fmt.Errorf("say one of: uninstall, adopt, install; got %q", args)
}
