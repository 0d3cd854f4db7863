package cli

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

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/history"
	"flyball.dev/flyball/cmd/kubectl-flyball/recommend"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/serve"
)

type uiVerb struct {
	*factory.Factory
	factory.Rates
	history   history.Flags
	port      uint16
	noBrowser bool
	readOnly  bool
}

func newUI(s *factory.Factory) *cobra.Command {
	v := &uiVerb{Factory: s}
	cmd := &cobra.Command{
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
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.AddAllFlag(cmd)
	cmd.Flags().Uint16Var(&v.port, "port", 0, "Port of the loopback address; 0 takes a free one")
	cmd.Flags().BoolVar(&v.noBrowser, "no-browser", false, "Print the address, and open no browser")
	v.AddRates(cmd)
	v.history.Add(cmd, "5m")
	_ = cmd.Flags().MarkHidden("pods") // of one target only
	cmd.Flags().BoolVar(&v.readOnly, "read-only", false, "Offer no action, and refuse all")
	cmd.AddCommand(newInCluster(s))
	return cmd
}

func (v *uiVerb) run(ctx context.Context) error {
	rates, err := v.ParseRates()
	if err != nil {
		return err
	}
	if err := v.checkHistory(); err != nil {
		return err
	}
	namespace := v.Within()
	load := func(ctx context.Context) (*source.World, error) {
		return v.Read(ctx, source.Query{Namespace: namespace})
	}
	if _, err := v.Load(ctx, source.Query{Namespace: namespace}); err != nil {
		return err // a faulty world is an error before a browser opens
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(v.port))))
	if err != nil {
		return fmt.Errorf("listen on the loopback address: %w; choose another --port", err)
	}
	_, port, _ := net.SplitHostPort(l.Addr().String())
	o := serve.Options{Load: load, User: v.User, Now: v.Now, Zone: v.Zone, Namespace: namespace, FlyballNamespace: v.FlyballNamespace,
		Live: !v.Offline(), Manager: factory.FieldManager, Rates: rates, ClusterName: v.ClusterName()}
	if !v.Offline() && !v.readOnly {
		o.Cluster = v.Cluster
	}
	if v.hasHistory() {
		o.Recommend = func(ctx context.Context, w *source.World, target source.Target, zone *time.Location) (*recommend.Result, error) {
			return recommend.Of(ctx, w, target, v.history, v.Now(), zone)
		}
	}
	server := serve.New(port, o)
	address := server.Address()
	_, _ = fmt.Fprintln(v.Out, address)
	if !v.noBrowser {
		done, err := openBrowser(ctx, address)
		if err != nil {
			_, _ = fmt.Fprintln(v.ErrOut, "note: open the address yourself, because no browser could be started:", err)
		}
		defer done()
	}
	return server.Serve(ctx, l)
}

func (v *uiVerb) hasHistory() bool { return len(v.history.Files) > 0 || v.history.Prometheus != "" }

// checkHistory returns the faults of the flags for the history of usage.
func (v *uiVerb) checkHistory() error {
	var faults []error
	fault := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	v.history.Check(fault)
	if slices.Contains(v.history.Files, "-") {
		fault("--usage: standard input can be read only once, and a page is opened often: give a file")
	}
	return errors.Join(faults...)
}

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
