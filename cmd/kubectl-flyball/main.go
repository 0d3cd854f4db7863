// Command kubectl-flyball answers what kubectl get cannot: why an object is as it is, what will happen, and what is allowed.
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
	klog.SetLogger(logr.Discard()) // what libraries would say comes as an error too
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := cli.Run(ctx, os.Args[1:], cli.Terminal())
	stop()
	os.Exit(code)
}
