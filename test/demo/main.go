// Command demo shows a week of schedules in a few minutes. It starts a local Kubernetes control plane (or uses the
// cluster of KUBECONFIG if asked to), runs the real manager on a clock that makes the week pass quickly, draws the
// observed states of all objects, and compares each object with its original. In the middle of the week a change freeze
// refuses a change and an exception allows it. Afterwards the demo scales down with deletion costs and without, and
// tunes a Deployment by the load of the week. It exits with 0 only if every target slept when due, the freeze worked,
// tuning saved resources, and all targets were restored exactly.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are the demo's flags.
type options struct {
	weekIn        time.Duration
	plain         bool
	useKubeconfig bool
	yes           bool
}

// shortestWeek is the minimum duration in which the transitions of a week can be distinguished on a busy machine.
const shortestWeek = 30 * time.Second

func parseFlags() (options, error) {
	var o options
	flag.DurationVar(&o.weekIn, "week-in", 2*time.Minute, "how long the simulated week takes")
	flag.BoolVar(&o.plain, "plain", false, "print a line for each change instead of a live table, without colours")
	flag.BoolVar(&o.useKubeconfig, "use-kubeconfig", false,
		"use the cluster of KUBECONFIG, in a namespace of its own that is removed afterwards, instead of a local control plane")
	flag.BoolVar(&o.yes, "yes", false, "do not ask before using the cluster of KUBECONFIG")
	flag.Parse()
	switch {
	case flag.NArg() > 0:
		return o, fmt.Errorf("unknown argument %q; see --help", flag.Arg(0))
	case o.weekIn < shortestWeek:
		return o, fmt.Errorf("--week-in must be at least %s, is %s", shortestWeek, o.weekIn)
	default:
		return o, nil
	}
}

func main() {
	opts, err := parseFlags()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the demo at once
	switch err := run(ctx, opts); {
	case err == nil:
	case errors.Is(err, errNotKept):
		os.Exit(1) // already printed
	case ctx.Err() != nil && !errors.Is(err, errLeft):
		fmt.Fprintln(os.Stderr, "\nInterrupted; everything the demo made is gone.")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "\ndemo:", err)
		os.Exit(1)
	}
}
