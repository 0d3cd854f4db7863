// Command flyball-cluster builds and runs local Kubernetes control planes for tests. Progress goes to standard error.
// Standard output is for programs: the JSON lines of run, the export line of up, the table of list.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"flyball.dev/flyball/test/cluster"
)

const usage = `flyball-cluster runs a real Kubernetes control plane on this machine, for tests.

Usage:
  flyball-cluster build [flags]         build the binaries of a level, once
  flyball-cluster run [flags]           run a cluster in the foreground
  flyball-cluster up --name N [flags]   run a cluster in the background
  flyball-cluster down --name N         stop it and remove its directory
  flyball-cluster list                  show the clusters in the background

Levels: api (etcd and the API server), workloads (and controllers, scheduler and
simulated nodes in three zones), metrics (and simulated usage, the resource
metrics API and the VPA recommender).

The first build compiles Kubernetes and takes about ten minutes on two cores; its
result is kept in the user's cache directory. Binaries found in the directory
KUBEBUILDER_ASSETS are used instead of built ones.

"flyball-cluster COMMAND -h" lists the flags of a command.
`

// errUsage means invalid arguments. The error was already printed.
var errUsage = errors.New("usage")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := dispatch(ctx, os.Args[1:])
	stop()
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errUsage):
		os.Exit(2)
	default:
		fmt.Fprintln(os.Stderr, "flyball-cluster:", err)
		os.Exit(1)
	}
}

func dispatch(ctx context.Context, args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errUsage
	}
	command, rest := args[0], args[1:]
	switch command {
	case "build":
		return build(ctx, rest)
	case "run":
		return run(ctx, rest)
	case "up":
		return up(ctx, rest)
	case "down":
		return down(ctx, rest)
	case "list":
		return list(rest)
	case "help", "-h", "-help", "--help":
		fmt.Print(usage)
		return nil
	default:
		fmt.Fprintf(os.Stderr, "flyball-cluster: unknown command %q\n\n%s", command, usage)
		return errUsage
	}
}

func build(ctx context.Context, args []string) error {
	flags := newFlags("build", "Build the binaries of a level into the user's cache directory.")
	var opts cluster.BuildOptions
	level := flags.String("level", string(cluster.LevelMetrics), "`level` whose binaries are built: api, workloads or metrics")
	flags.Var((*repeated)(&opts.With), "with", "further `binary` to build, for example helm; may be repeated")
	flags.StringVar(&opts.Source, "source", "", "`directory` of the module test/cluster (default: found from the working directory)")
	if err := parse(flags, args); err != nil {
		return err
	}
	var err error
	if opts.Level, err = cluster.ParseLevel(*level); err != nil {
		return err
	}
	opts.Log = prefixed{os.Stderr}
	if _, err := cluster.Build(ctx, opts); err != nil {
		return err
	}
	fmt.Fprintln(opts.Log, "all binaries of level", opts.Level, "are there")
	return nil
}

// clusterFlags declares the flags of a cluster.
func clusterFlags(flags *flag.FlagSet) *cluster.Options {
	opts := &cluster.Options{Level: cluster.LevelAPI, Log: prefixed{os.Stderr}}
	flags.Func("level", "`level` to run: api, workloads or metrics (default api)", func(name string) error {
		level, err := cluster.ParseLevel(name)
		opts.Level = level
		return err
	})
	flags.IntVar(&opts.Nodes, "nodes", 6, "`number` of simulated nodes, in turn in zone-a, zone-b and zone-c")
	flags.Var((*repeated)(&opts.ExtraAPIServerArgs), "extra-apiserver-arg",
		"`argument` added to kube-apiserver, as --flag=value; may be repeated")
	flags.Var((*repeated)(&opts.ExtraControllerManagerArgs), "extra-controller-manager-arg",
		"`argument` added to kube-controller-manager, as --flag=value; may be repeated")
	flags.BoolVar(&opts.HighQPS, "high-qps", false, "let controllers work fast enough for thousands of pods")
	flags.BoolVar(&opts.Audit, "audit", false, "write every request to audit.log in the cluster's directory, without bodies")
	flags.Var((*repeated)(&opts.With), "with", "further `binary` to provide, for example helm; may be repeated")
	flags.StringVar(&opts.Source, "source", "", "`directory` of the module test/cluster (default: found from the working directory)")
	return opts
}

func newFlags(command, about string) *flag.FlagSet {
	flags := flag.NewFlagSet(command, flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprintf(flags.Output(), "%s\n\nFlags of flyball-cluster %s:\n", about, command)
		flags.PrintDefaults()
	}
	return flags
}

// parse parses flags; the flag package prints errors.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return err
	} else if err != nil {
		return errUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(flags.Output(), "flyball-cluster %s: unexpected argument %q\n", flags.Name(), flags.Arg(0))
		return errUsage
	}
	return nil
}

// repeated is a flag for several values.
type repeated []string

func (l *repeated) String() string { return strings.Join(*l, ",") }

func (l *repeated) Set(value string) error {
	*l = append(*l, value)
	return nil
}

// prefixed prefixes each write (one line) with the name of this program.
type prefixed struct{ to io.Writer }

func (p prefixed) Write(line []byte) (int, error) {
	if _, err := p.to.Write(append([]byte("flyball-cluster: "), line...)); err != nil {
		return 0, err
	}
	return len(line), nil
}
