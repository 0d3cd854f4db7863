// Command kubectl-flyball is a kubectl plugin. It explains the state of objects, previews Flyball's changes, and says
// whether a change is allowed.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

func main() {
	if os.Getenv("GOGC") == "" {
		// A simulation makes much garbage and keeps little. A heap of half the size would take a fifth more time.
		debug.SetGCPercent(200)
	}
	klog.SetLogger(logr.Discard()) // libraries return these errors too, so their logs would repeat them
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], factory.Terminal())
	stop()
	os.Exit(code)
}
