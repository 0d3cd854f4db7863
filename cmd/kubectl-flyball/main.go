// Command kubectl-flyball is a kubectl plugin. It explains the state of objects, previews Flyball's changes, and says
// whether a change is allowed.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
)

func main() {
	klog.SetLogger(logr.Discard()) // libraries return these errors too, so their logs would repeat them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Terminal())
	stop()
	os.Exit(code)
}
