package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/awake"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// fieldManager is what the API server takes down as the writer.
const fieldManager = "kubectl-flyball"

type wakeVerb struct {
	*session
	manifests
	span, until string
	reason      string
	wait        bool
	timeout     time.Duration
	dryRun      bool
	// asleep is true for the verb sleep.
	asleep bool
}

func newWake(s *session) *cobra.Command {
	v := &wakeVerb{session: s}
	cmd := &cobra.Command{
		Use:   "wake TARGET... --for 2h",
		Short: "Keep objects, a namespace or a schedule's targets awake for some time, whatever schedules say",
		Long: `Keeps objects (KIND/NAME), a namespace (namespace/NAME) or all targets of a schedule (schedule/NAME) awake until an instant, by the
annotation flyball.dev/awake-until, and says what wakes. What a freeze suspends is not woken.

Exit codes: 0 done, 1 an error, and with --wait what was not ready in time.`,
		Example: "  kubectl flyball wake deployment/web --for 2h --reason \"demo for a customer\" --wait\n  kubectl flyball wake namespace/shop --until 2037-05-11T23:00\n  kubectl flyball wake schedule/office-hours --for 1d --dry-run",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },

		ValidArgsFunction: s.completePlaces,
	}
	v.flags(cmd)
	cmd.Flags().StringVar(&v.span, "for", "", "How long: a span such as 2h or 1d")
	cmd.Flags().StringVar(&v.until, "until", "", "Instant until which, instead of --for")
	cmd.Flags().StringVar(&v.reason, "reason", "", "Why, kept as the annotation flyball.dev/awake-reason")
	cmd.Flags().BoolVar(&v.wait, "wait", false, "Wait until the objects named, and those that a namespace or a schedule wakes at once or keeps awake, are ready, as their adapters say")
	cmd.Flags().DurationVar(&v.timeout, "timeout", 5*time.Minute, "How long --wait waits")
	return cmd
}

func newSleep(s *session) *cobra.Command {
	v := &wakeVerb{session: s, asleep: true}
	cmd := &cobra.Command{
		Use:   "sleep TARGET...",
		Short: "Take away what wake has set, so that schedules decide again",
		Long: `Takes the annotation flyball.dev/awake-until from objects, a namespace or a schedule, and says what follows. It puts nothing to sleep
that no schedule puts to sleep.`,
		Example:           "  kubectl flyball sleep deployment/web\n  kubectl flyball sleep namespace/shop --dry-run",
		Args:              cobra.MinimumNArgs(1),
		RunE:              func(cmd *cobra.Command, args []string) error { return v.run(cmd.Context(), args) },
		ValidArgsFunction: s.completePlaces,
	}
	v.flags(cmd)
	return cmd
}

func (v *wakeVerb) flags(cmd *cobra.Command) {
	v.addFlags(cmd, offlineFiles+"; nothing is written then")
	cmd.Flags().BoolVar(&v.dryRun, "dry-run", false, "Say what would change, and write nothing")
}

func (v *wakeVerb) run(ctx context.Context, args []string) error {
	until, err := v.end()
	if err != nil {
		return err
	}
	namespace := v.namespace()
	q := source.Query{Namespace: namespace}
	if slices.ContainsFunc(args, awake.ReachesAll) {
		q.Namespace = ""
	}
	w, err := v.load(ctx, q, v.paths)
	if err != nil {
		return err
	}
	var places []awake.Place
	for _, arg := range args {
		p, err := awake.Find(w, arg, namespace)
		if err != nil {
			return err
		}
		if p.Kind == "Namespace" && p.Name != namespace {
			return fmt.Errorf("to see what wakes in it, work in that namespace: add -n %s", p.Name)
		}
		places = append(places, p)
	}
	effect, err := awake.Of(ctx, w, places, until, v.reason, v.Now().Truncate(time.Second), v.zone)
	if err != nil {
		return err
	}
	effect.DryRun = v.dryRun || v.offline
	if !effect.DryRun {
		cluster, err := v.cluster()
		if err != nil {
			return err
		}
		if err := awake.Write(ctx, cluster.Client, places, until, v.reason, fieldManager); err != nil {
			return err
		}
		if v.wait {
			p := v.startProgress()
			effect.Ready, err = effect.Await(ctx, cluster.Client, w, places, v.timeout, p.Doing)
			p.Done()
			if err != nil {
				return err
			}
		}
	}
	v.showNotes(w)
	return v.print(effect)
}

// end is until when something is kept awake; zero: it no longer is.
func (v *wakeVerb) end() (time.Time, error) {
	switch {
	case v.asleep:
		return time.Time{}, nil
	case (v.span == "") == (v.until == ""):
		return time.Time{}, errors.New("say how long: give --for 2h, or --until with an instant")
	case v.span != "":
		span, err := instant.Span(v.span)
		if err != nil {
			return time.Time{}, fmt.Errorf("--for: %w", err)
		}
		return v.Now().Add(span).Truncate(time.Second), nil
	}
	t, err := v.at("until", v.until)
	if err == nil && !t.After(v.Now()) {
		err = fmt.Errorf("--until: %s is over", instant.Text(t, v.zone))
	}
	return t, err
}
