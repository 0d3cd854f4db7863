package verdict

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/court"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// ExceptionSpec says which exception is wanted.
type ExceptionSpec struct {
	Name, Namespace string
	Targets         []source.Target
	Actions         []workload.Change
	From, To        time.Time
	Reason, Ticket  string
	ApprovedBy      string
	// Policies names the freezes to lift; empty: all that the exception can lift.
	Policies      []string
	Users, Groups []string
}

// Object makes the exception.
func (s ExceptionSpec) Object() *freeze.ExceptionObject {
	e := &freeze.ExceptionObject{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Namespace: s.Namespace}}
	e.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(freeze.ExceptionKind))
	for _, t := range s.Targets {
		kind := v1alpha1.KindRef{Group: t.Group, Kind: t.GroupKind.Kind}
		if !slices.Contains(e.Spec.Target.Kinds, kind) {
			e.Spec.Target.Kinds = append(e.Spec.Target.Kinds, kind)
		}
		if !slices.Contains(e.Spec.Target.Names, t.Name) {
			e.Spec.Target.Names = append(e.Spec.Target.Names, t.Name)
		}
	}
	for _, a := range s.Actions {
		e.Spec.Allow = append(e.Spec.Allow, v1alpha1.Action(a.Names()[0]))
	}
	e.Spec.ActiveFrom, e.Spec.ActiveTo = metav1.NewTime(s.From.UTC()), metav1.NewTime(s.To.UTC())
	e.Spec.Reason, e.Spec.TicketURL, e.Spec.ApprovedBy, e.Spec.Policies = s.Reason, s.Ticket, s.ApprovedBy, s.Policies
	if len(s.Users)+len(s.Groups) > 0 {
		e.Spec.Constraints = &v1alpha1.ExceptionConstraints{AllowedUsers: s.Users, AllowedGroups: s.Groups}
	}
	return e
}

// Preview is what an exception lifts and what it does not.
type Preview struct {
	// DryRun says that nothing was written.
	DryRun    bool                    `json:"dryRun,omitempty"`
	Exception *freeze.ExceptionObject `json:"exception"`
	// Lifted are the changes that it lets through, Refused those that are refused all the same, and Idle those that nothing denies.
	Lifted  []court.Answer `json:"lifted,omitempty"`
	Refused []court.Answer `json:"refused,omitempty"`
	Idle    []court.Answer `json:"idle,omitempty"`
	// Also are targets that the exception selects besides those named, because it selects by kinds and names together.
	Also []string `json:"also,omitempty"`

	zone *time.Location
}

// Foresee works out what an exception lifts, for a user, at the instant at which it begins.
func Foresee(ctx context.Context, w *source.World, s ExceptionSpec, user court.User, flyballNamespace string, zone *time.Location) (*Preview, error) {
	p := &Preview{Exception: s.Object(), zone: zone}
	without, err := w.Memory()
	if err != nil {
		return nil, err
	}
	edited := *w
	edited.SetPolicy(p.Exception)
	with, err := edited.Memory()
	if err != nil {
		return nil, err
	}
	if known := with.Find(source.IDOf(p.Exception)); known != nil && known.IsBroken() {
		return nil, fmt.Errorf("such an exception is not valid: %w", known.Invalid.ToAggregate())
	}
	before, after := NewCourt(without, flyballNamespace), NewCourt(with, flyballNamespace)
	for _, t := range s.Targets {
		for _, action := range s.Actions {
			q := court.Question{Target: TargetOf(t), Action: action, User: user, At: s.From}
			old, err := before.Answer(ctx, q)
			if err != nil {
				return nil, Hinted(err, w, t)
			}
			now, err := after.Answer(ctx, q)
			if err != nil {
				return nil, err
			}
			now.Actions = action.Names()
			switch {
			case old.Allowed && len(old.Denials) == 0:
				p.Idle = append(p.Idle, now)
			case now.Allowed:
				p.Lifted = append(p.Lifted, now)
			default:
				p.Refused = append(p.Refused, now)
			}
		}
	}
	p.also(with, s)
	return p, nil
}

// also lists what the exception selects besides.
func (p *Preview) also(memory *world.Memory, s ExceptionSpec) {
	e := memory.World().Set().Exception(source.IDOf(p.Exception))
	if e == nil {
		return
	}
	memory.EachObject(func(ref workload.Ref) {
		named := slices.ContainsFunc(s.Targets, func(t source.Target) bool { return t.Ref == ref })
		if !named && ref.Namespace == s.Namespace && e.Selects(ref.GroupKind, memory.Object(ref), memory.Namespace(ref.Namespace).Labels) {
			p.Also = append(p.Also, ref.String())
		}
	})
	slices.Sort(p.Also)
}

// Manifest is the exception as YAML, without its empty status.
func (p *Preview) Manifest() ([]byte, error) {
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": p.Exception.APIVersion, "kind": p.Exception.Kind,
		"metadata": map[string]string{"name": p.Exception.Name, "namespace": p.Exception.Namespace}, "spec": p.Exception.Spec,
	})
	if err != nil {
		return nil, fmt.Errorf("encode the exception: %w", err)
	}
	return text, nil
}

// Names implements report.Finding.
func (p *Preview) Names() []string {
	return []string{"freezeexception.flyball.dev/" + p.Exception.Name}
}

// Text implements report.Finding.
func (p *Preview) Text(w *report.Writer) {
	spec := &p.Exception.Spec
	note := ""
	if p.DryRun {
		note = " (dry run: nothing was written)"
	}
	w.Line("FreezeException/%s/%s from %s until %s%s", p.Exception.Namespace, p.Exception.Name,
		instant.Text(spec.ActiveFrom.Time, p.zone), instant.Text(spec.ActiveTo.Time, p.zone), note)
	p.group(w, "It lifts", p.Lifted, report.Good)
	p.group(w, "It does not lift", p.Refused, report.Bad)
	p.group(w, "Nothing denies, so there is nothing to lift", p.Idle, report.Plain)
	if len(p.Also) > 0 {
		w.Heading("It holds for these too, by their kinds and names")
		for _, t := range p.Also {
			w.Line("  %s", t)
		}
	}
}

func (p *Preview) group(w *report.Writer, title string, answers []court.Answer, style report.Style) {
	if len(answers) == 0 {
		return
	}
	w.Heading("%s", title)
	for _, a := range answers {
		w.Line("  %s", w.Styled(strings.Join(a.Actions, ", ")+" "+a.Target, style))
		for _, d := range a.Denials {
			w.Line("    %s", denialText(d, p.zone))
		}
		for _, l := range a.Lifts {
			w.Line("    without this exception, %s denies it", l.Policy)
		}
	}
}
