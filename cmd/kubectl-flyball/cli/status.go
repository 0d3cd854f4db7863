package cli

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"

	"flyball.dev/flyball/cmd/kubectl-flyball/overview"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// watchEvery is the refresh interval of status --watch.
const watchEvery = 2 * time.Second

type statusVerb struct {
	*session
	selector string
	when     string
	watch    bool
	// judged is the number of objects that each freeze judges. It is counted only once, also with --watch.
	judged map[workload.Policy]int32
}

func newStatus(s *session) *cobra.Command {
	v := &statusVerb{session: s}
	cmd := &cobra.Command{
		Use:   "status",
		Short: "List every policy with its state, begin, end, targets and faults",
		Long: `Lists every policy with its state, the begin and end of the state, its targets by state, and its faults.

States are computed from the policies; counts of targets and failures come from the manager's report. For freezes and
maintenance windows, the command counts the visible objects with judged changes, with --watch only once. Offline, targets
are counted by a decision now. Cluster policies are listed if they reach the namespace; with -A all of them.`,
		Example: "  kubectl flyball status -A\n  kubectl flyball status --watch\n  kubectl flyball status --offline manifests/",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return v.run(cmd.Context()) },
	}
	v.addAllFlag(cmd)
	cmd.Flags().StringVarP(&v.selector, "selector", "l", "", "Only policies with these labels")
	cmd.Flags().StringVar(&v.when, "at", "now", "Instant to look at")
	cmd.Flags().BoolVarP(&v.watch, "watch", "w", false, "Go on, and print the list whenever it changes")
	return cmd
}

func (v *statusVerb) run(ctx context.Context) error {
	selector, err := labels.Parse(v.selector)
	if err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	var last []byte
	for {
		now, err := v.look(ctx, selector)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, last) {
			if _, err := v.Out.Write(now); err != nil {
				return err
			}
		}
		if last = now; !v.watch {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}

// look reads the world and returns the list as printed text.
func (v *statusVerb) look(ctx context.Context, selector labels.Selector) ([]byte, error) {
	at, err := v.at("at", v.when)
	if err != nil {
		return nil, err
	}
	w, err := v.load(ctx, source.Query{Namespace: v.within(), PoliciesOnly: !v.offline(), Judged: v.judged == nil})
	if err != nil {
		return nil, err
	}
	if v.last() {
		v.showNotes(w)
	}
	memory, err := w.Memory()
	if err != nil {
		return nil, err
	}
	if v.judged == nil {
		v.judged = overview.CountJudged(memory, w.CountsJudged)
	}
	o := overview.Options{At: at, Zone: v.zone, Live: !v.offline(), Judged: v.judged, Namespace: v.within(),
		Keep: func(l map[string]string) bool { return selector.Matches(labels.Set(l)) },
		Unread: func(p *world.Policy) string {
			if w.HidesCalendarsOf(p) {
				return "it uses calendars, which you may not list"
			}
			return ""
		}}
	found := overview.Of(memory, o)
	var out bytes.Buffer
	err = report.Print(&out, found, v.format, v.Color && !v.noColor)
	return out.Bytes(), err
}

// last reports whether the list is printed only once. With --watch it is false, and the notes are left out, because each
// list would repeat them.
func (v *statusVerb) last() bool { return !v.watch }
