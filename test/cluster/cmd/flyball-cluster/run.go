package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"flyball.dev/flyball/test/cluster"
)

const aboutRun = `Run a cluster in the foreground.

When the cluster is ready, one JSON line is printed: kubeconfig, url, dir, bin
(a directory with the binaries), level, auditLog, and users, which has a
kubeconfig file for each test user. Then one command per line is read from
standard input and answered by one JSON line {"command":...,"error":...}:

  stop-apiserver    kill the API server; everything else runs on
  start-apiserver   start it again on the same port and data
  stop-controllers  kill kube-controller-manager; everything else runs on
  start-controllers start it again

The cluster ends, and all its processes with it, when standard input is closed,
on SIGINT, SIGTERM and SIGHUP, when the parent process ends, and when one of its
processes ends by itself.`

// ready is the line for a cluster that is ready for use.
type ready struct {
	Kubeconfig string            `json:"kubeconfig"`
	URL        string            `json:"url"`
	Dir        string            `json:"dir"`
	Bin        string            `json:"bin"`
	Level      cluster.Level     `json:"level"`
	AuditLog   string            `json:"auditLog,omitempty"`
	Users      map[string]string `json:"users"`
}

// answer is the line after a command; no error means success.
type answer struct {
	Command string `json:"command"`
	Error   string `json:"error,omitempty"`
}

// errParentEnded and errInputClosed are reasons to stop, not failures.
var (
	errParentEnded = errors.New("the parent process ended")
	errInputClosed = errors.New("standard input was closed")
)

func run(ctx context.Context, args []string) error {
	flags := newFlags("run", aboutRun)
	opts := clusterFlags(flags)
	flags.StringVar(&opts.Dir, "dir", "", "empty `directory` for the cluster, which stays afterwards (default: a temporary one)")
	home := flags.String("background", "", "internal: `directory` of the background cluster that this process supervises")
	if err := parse(flags, args); err != nil {
		return err
	}
	if *home != "" {
		return supervise(ctx, background{dir: *home}, *opts)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go watchParent(ctx, cancel)
	commands := readCommands(os.Stdin, cancel)
	err := runCluster(ctx, *opts, commands, func(line ready) error { return printLine(os.Stdout, line) })
	if cause := context.Cause(ctx); errors.Is(cause, errParentEnded) || errors.Is(cause, errInputClosed) {
		fmt.Fprintln(opts.Log, "stopped:", cause)
		return nil
	}
	return err
}

// runCluster starts a cluster, reports that it is ready, and executes commands until the context ends or a component
// does. When it returns, the cluster is gone.
func runCluster(ctx context.Context, opts cluster.Options, commands <-chan string, announce func(ready) error) error {
	c, err := cluster.Start(ctx, opts)
	if err != nil {
		return err
	}
	line := ready{Kubeconfig: c.Kubeconfig(), URL: c.URL(), Dir: c.Dir(), Bin: c.BinDir(), Level: opts.Level, Users: c.UserKubeconfigs()}
	if opts.Audit {
		line.AuditLog = c.AuditLog()
	}
	if err := announce(line); err != nil {
		return errors.Join(err, c.Stop())
	}
	return errors.Join(obey(ctx, c, commands), c.Stop())
}

func obey(ctx context.Context, c *cluster.Cluster, commands <-chan string) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-c.Failed():
			return c.Failure()
		case command := <-commands:
			result := answer{Command: command}
			if err := execute(ctx, c, command); err != nil {
				result.Error = err.Error()
			}
			if err := printLine(os.Stdout, result); err != nil {
				return err
			}
		}
	}
}

func execute(ctx context.Context, c *cluster.Cluster, command string) error {
	switch command {
	case "stop-apiserver":
		return c.StopAPIServer()
	case "start-apiserver":
		return c.StartAPIServer(ctx)
	case "stop-controllers":
		return c.StopControllers()
	case "start-controllers":
		return c.StartControllers()
	default:
		return fmt.Errorf("unknown command %q; commands are stop-apiserver, start-apiserver, stop-controllers and start-controllers", command)
	}
}

// readCommands passes lines on until the input ends, which cancels everything.
func readCommands(input io.Reader, cancel context.CancelCauseFunc) <-chan string {
	commands := make(chan string)
	go func() {
		lines := bufio.NewScanner(input)
		for lines.Scan() {
			commands <- lines.Text()
		}
		cancel(errInputClosed)
	}()
	return commands
}

// watchParent cancels when the parent of this process has ended, which the kernel shows as a new parent.
func watchParent(ctx context.Context, cancel context.CancelCauseFunc) {
	parent := os.Getppid()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if os.Getppid() != parent {
				cancel(errParentEnded)
				return
			}
		}
	}
}

func printLine(to io.Writer, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode a line of output: %w", err)
	}
	if _, err := to.Write(append(raw, '\n')); err != nil {
		return fmt.Errorf("write a line of output: %w", err)
	}
	return nil
}
