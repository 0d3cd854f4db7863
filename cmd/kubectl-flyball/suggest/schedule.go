package suggest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"flyball.dev/flyball/cmd/kubectl-flyball/analysis"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/workload"
)

// ScheduleOptions are the flags and arguments of suggest schedule.
type ScheduleOptions struct {
	Options
	below, tolerate, lead, shortest string
	idle                            idleFlags

	rules analysis.IdleRules
}

func newSchedule(f *factory.Factory) *cobra.Command {
	o := &ScheduleOptions{Options: Options{Factory: f}}
	cmd := factory.Command(o, &cobra.Command{
		Use: "schedule KIND/NAME", Short: "Propose a Schedule for the unused hours of a workload", Long: longSchedule,
		Example: "  kubectl flyball suggest schedule deployment/web --usage weeks.csv --time-zone Europe/Berlin\n" +
			"  kubectl flyball suggest schedule deployment/web --offline manifests/ --usage weeks.csv --time-zone Europe/Berlin -o json",
	})
	o.addFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&o.below, "idle-below", "",
		"CPU of all pods up to which nobody uses the target, such as 50m (default: a twentieth of its busiest minutes)")
	flags.StringVar(&o.tolerate, "tolerate", "0s",
		"For how long a week, in the days that teach, somebody may have used the target within the windows")
	flags.StringVar(&o.lead, "lead", "10m", "How long before the first use the target wakes")
	flags.StringVar(&o.shortest, "shortest", "2h", "Windows that are shorter are left out")
	flags.StringVar(&o.idle.demand, "idle", "", "A demand in PromQL: propose sleep without use in place of windows, with its outcome on the "+
		"history in --prometheus")
	flags.StringVar(&o.idle.asleepAfter, "asleep-after", "2h", "For --idle: the time without use after which the target sleeps")
	flags.StringVar(&o.idle.tenantLabel, "prometheus-tenant-label", "",
		"For --idle: label with the namespace of a series, as the manager has it")
	return cmd
}

// Validate implements factory.Verb.
func (o *ScheduleOptions) Validate() error {
	if o.idle.demand != "" {
		return o.validateIdle()
	}
	var f faults
	o.check(&f)
	o.rules = analysis.IdleRules{Below: -1, Tolerate: f.span("tolerate", o.tolerate), Lead: f.span("lead", o.lead),
		Shortest: f.span("shortest", o.shortest)}
	if o.below != "" {
		q, ok := workload.ParseQuantity(o.below)
		if o.rules.Below = q.AsApproximateFloat64(); !ok || o.rules.Below < 0 {
			f.add("--idle-below: %q is no amount of CPU such as 50m", o.below)
		}
	}
	return errors.Join(f...)
}

// Run proposes a Schedule.
func (o *ScheduleOptions) Run(ctx context.Context) error {
	if o.idle.demand != "" {
		return o.runIdle(ctx)
	}
	rules := o.rules
	_, _, target, err := o.read(ctx)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("%s, as --idle-below says", analysis.Cores(rules.Below))
	if rules.Below < 0 {
		below, most := o.demand.IdleBelow(o.teach)
		rules.Below, why = below, fmt.Sprintf("%s, a twentieth of the %s of its busiest minutes", analysis.Cores(below), analysis.Cores(most))
	}
	windows, err := o.demand.IdleWindows(o.teach, rules)
	if err != nil {
		return o.refused(err)
	}
	f, err := o.findSchedule(target.Ref, windows, rules.Below)
	if err != nil {
		return err
	}
	f.why = why
	return o.PrintManifests(f)
}

// findSchedule tries windows in a back-test, and makes a manifest with these windows.
func (o *ScheduleOptions) findSchedule(ref workload.Ref, windows []v1alpha1.Window, below float64) (*Schedule, error) {
	tried, err := o.demand.Try(windows, o.days, below)
	if err != nil {
		return nil, err
	}
	f := &Schedule{
		Head:      Head{Target: ref.String(), TimeZone: o.Zone.String(), From: o.from, Learnt: daysOf(o.teach), Tried: daysOf(o.days)},
		IdleBelow: analysis.Cores(below), AsleepHoursAWeek: round(tried.HoursAWeek(o.days)), UsedMinutes: tried.Used, MetMinutes: tried.Met,
		MetOn: tried.Days, UnknownMinutes: tried.Unknown,
	}
	rules := v1alpha1.ScheduleRules{TimeZone: f.TimeZone}
	for _, w := range windows {
		one, err := o.demand.Try([]v1alpha1.Window{w}, o.teach, below)
		if err != nil {
			return nil, err
		}
		tried, err := o.demand.Try([]v1alpha1.Window{w}, o.days, below)
		if err != nil {
			return nil, err
		}
		rules.Asleep = append(rules.Asleep, w)
		f.Windows = append(f.Windows, IdleWindow{Days: w.Days, From: w.From, To: w.To, LearntHours: round(float64(one.Asleep) / 60),
			LearntUsedMinutes: one.Met, LearntMost: analysis.Cores(one.Most), MetMinutes: tried.Met})
	}
	f.Manifest, err = manifest(schedule.Kind, ref, v1alpha1.ScheduleSpec{Target: targetOf(ref), ScheduleRules: rules})
	return f, err
}

// IdleWindow is one proposed window, with the usage in it on the days that were learnt from.
type IdleWindow struct {
	// Days are the days of the window. They are absent if the window is for every day.
	Days              []v1alpha1.Day `json:"days,omitempty"`
	From              string         `json:"from"`
	To                string         `json:"to"`
	LearntHours       float64        `json:"learntHours"`
	LearntUsedMinutes int            `json:"learntUsedMinutes"`
	LearntMost        string         `json:"learntMost"`
	// MetMinutes is the number of minutes in the back-test in which a user would have met the sleeping target.
	MetMinutes int `json:"metMinutes"`
}

// Schedule is a proposed Schedule with its back-test.
type Schedule struct {
	Head      `json:",inline"`
	IdleBelow string       `json:"idleBelow"`
	Windows   []IdleWindow `json:"windows"`
	// AsleepHoursAWeek is the time a week for which the target would have slept in the back-test. The minutes below are
	// sums over all days of the back-test.
	AsleepHoursAWeek float64           `json:"asleepHoursAWeek"`
	UsedMinutes      int               `json:"usedMinutes"`
	MetMinutes       int               `json:"metMinutes"`
	MetOn            []analysis.MetDay `json:"metOn,omitempty"`
	UnknownMinutes   int               `json:"unknownMinutes"`
	Manifest         map[string]any    `json:"manifest"`

	why string
}

// Text implements printer.Finding.
func (f *Schedule) Text(w *printer.Writer) {
	printer.Comment(w, "", fmt.Sprintf("Windows in which nobody used %s, by %s.", f.Target, f.From))
	f.text(w)
	printer.Comment(w, "- ", fmt.Sprintf("A minute counts as used above %s.", f.why))
	for _, window := range f.Windows {
		days := "every day"
		if len(window.Days) > 0 {
			days = strings.Trim(fmt.Sprint(window.Days), "[]")
		}
		used := "never used"
		if window.LearntUsedMinutes > 0 {
			used = fmt.Sprintf("used for %d minutes", window.LearntUsedMinutes)
		}
		met := ""
		if window.MetMinutes > 0 {
			met = fmt.Sprintf(" In the back-test it was used for %d minutes: see whether this window is meant.", window.MetMinutes)
		}
		printer.Comment(w, "- ", fmt.Sprintf("%s %s to %s: %s in %.1f hours on the days that teach, %s at most.%s", days, window.From, window.To,
			used, window.LearntHours, window.LearntMost, met))
	}
	met := "Nobody would have met a sleeping target."
	if f.MetMinutes > 0 {
		met = fmt.Sprintf("Somebody would have met a sleeping target for %d of the %d minutes in which it was used: %s.", f.MetMinutes,
			f.UsedMinutes, f.days())
	}
	if f.UnknownMinutes > 0 {
		met += fmt.Sprintf(" Of %d minutes asleep nobody can say.", f.UnknownMinutes)
	}
	printer.Comment(w, "- ", fmt.Sprintf("Back-test: it would have slept %.1f hours a week of 168. %s", f.AsleepHoursAWeek, met))
	block(w, f.Manifest)
}

// mostDays is the largest number of days that are named one by one.
const mostDays = 5

// days returns the days on which a user would have met a sleeping target.
func (f *Schedule) days() string {
	var all []string
	for _, d := range f.MetOn[:min(len(f.MetOn), mostDays)] {
		all = append(all, fmt.Sprintf("%d on %s", d.Minutes, d.Date))
	}
	if more := len(f.MetOn) - mostDays; more > 0 {
		all = append(all, fmt.Sprintf("and on %d more days", more))
	}
	return strings.Join(all, ", ")
}

func round(v float64) float64 { return float64(int64(v*10+0.5)) / 10 }
