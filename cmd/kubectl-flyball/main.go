// Command kubectl-flyball answers what kubectl get cannot: why an object is as it is, what will happen, and what is allowed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Terminal())
	stop()
	os.Exit(code)
}
