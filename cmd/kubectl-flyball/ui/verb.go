// Package ui is the verb ui: a server of pages for one person in the browser, and ui in-cluster for many people. It listens on a loopback
// address, lets one browser in, and reads and acts with the rights of this person. Package page renders the views.
package ui

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/engine/status"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/suggest"
)

// Options are the flags of ui.
type Options struct {
	*factory.Factory
	factory.Rates
	history   analysis.HistoryFlags
	port      uint16
	noBrowser bool
	readOnly  bool

	rates status.Rates
}

// New returns the verb ui.
func New(f *factory.Factory) *cobra.Command {
	o := &Options{Factory: f}
	cmd := factory.Command(o, &cobra.Command{
		Use:   "ui",
		Short: "Show the week, policies, freezes, savings, tuning and health as pages in the browser",
		Long: "Starts a server on this machine's loopback address and opens the browser. Pages show the week of " +
			`each target, the story of one target,
policies, freezes, savings, recommendations and checks, and preview a change of a policy. They offer the actions of wake, sleep, except,
pause and resume that you have the right to take; each shows its effect and its command, and is taken once you confirm it.
With --prometheus or --usage, the page Tuning recommends requests for a target. Ctrl-C ends the server.
The server reads and writes with your rights and names those that are missing. It lets one browser in: the printed address works once.`,
		Example: "  kubectl flyball ui -A\n  kubectl flyball ui -n shop --read-only\n  kubectl flyball ui --offline manifests/ --no-browser",
		Args:    cobra.NoArgs,
	})
	o.AddAllFlag(cmd)
	cmd.Flags().Uint16Var(&o.port, "port", 0, "Port of the loopback address; 0 takes a free one")
	cmd.Flags().BoolVar(&o.noBrowser, "no-browser", false, "Print the address, and open no browser")
	o.AddRates(cmd)
	o.history.Add(cmd, "5m")
	_ = cmd.Flags().MarkHidden("pods") // of one target only
	cmd.Flags().BoolVar(&o.readOnly, "read-only", false, "Offer no action, and refuse all")
	cmd.AddCommand(newInCluster(f))
	return cmd
}

// Complete implements factory.Verb.
func (o *Options) Complete([]string) (err error) {
	o.rates, err = o.ParseRates()
	return err
}

// Validate implements factory.Verb.
func (o *Options) Validate() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	o.history.Check(fault)
	if slices.Contains(o.history.Files, "-") {
		fault("--usage: standard input can be read only once, and a page is opened often: give a file")
	}
	return errors.Join(faults...)
}

// Run serves the pages until the context ends.
func (o *Options) Run(ctx context.Context) error {
	namespace := o.Within()
	load := func(ctx context.Context) (*source.World, error) {
		return o.Read(ctx, source.Query{Namespace: namespace})
	}
	if _, err := o.Load(ctx, source.Query{Namespace: namespace}); err != nil {
		return err // a faulty world is an error before a browser opens
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(o.port))))
	if err != nil {
		return fmt.Errorf("listen on the loopback address: %w; choose another --port", err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	so := ServerOptions{Load: load, User: o.User, Now: o.Now, Zone: o.Zone, Namespace: namespace, FlyballNamespace: o.FlyballNamespace,
		Live: !o.Offline(), Manager: factory.FieldManager, Rates: o.rates, ClusterName: o.ClusterName()}
	if !o.Offline() && !o.readOnly {
		so.Cluster = o.Cluster
	}
	if o.hasHistory() {
		so.Recommend = func(ctx context.Context, w *source.World, target source.Target, zone *time.Location) (*suggest.Result, error) {
			return suggest.RequestsOf(ctx, w, target, o.history, o.Now(), zone)
		}
	}
	server := NewServer(port, so)
	address := server.Address()
	_, _ = fmt.Fprintln(o.Out, address)
	if !o.noBrowser {
		done, err := openBrowser(ctx, address)
		if err != nil {
			_, _ = fmt.Fprintln(o.ErrOut, "note: open the address yourself, because no browser could be started:", err)
		}
		defer done()
	}
	return server.Serve(ctx, l)
}

func (o *Options) hasHistory() bool { return len(o.history.Files) > 0 || o.history.Prometheus != "" }

// openBrowser opens an address in a browser. It passes the address in a file that only this user can read, because
// every user of the machine can read the arguments of a process.
func openBrowser(ctx context.Context, address string) (done func(), err error) {
	file, err := os.CreateTemp("", "flyball-*.html")
	if err != nil {
		return func() {}, err
	}
	done = func() { _ = os.Remove(file.Name()) }
	_, err = fmt.Fprintf(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\"><title>Flyball</title>\n", address)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return done, err
	}
	line := map[string][]string{"darwin": {"open"}, "windows": {"rundll32", "url.dll,FileProtocolHandler"}}[runtime.GOOS]
	if line == nil {
		line = []string{"xdg-open"}
	}
	return done, exec.CommandContext(ctx, line[0], append(line[1:], file.Name())...).Start()
}
