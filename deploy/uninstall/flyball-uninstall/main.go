// Command flyball-uninstall gives everything back before Flyball is uninstalled; the chart runs it as a pre-delete hook.
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
	ctrl "sigs.k8s.io/controller-runtime"

	"flyball.dev/flyball/deploy/uninstall"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flyball-uninstall:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := pflag.NewFlagSet("flyball-uninstall", pflag.ContinueOnError)
	timeout := flags.Duration("timeout", 5*time.Minute, "How long the manager may take to give everything back.")
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
	return uninstall.Run(ctx, config, func(line string) { fmt.Println(line) })
}
