// Package except creates a FreezeException and previews its effect.
package except

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/cani"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// ExceptionSpec is the input for an exception.
type ExceptionSpec struct {
	// Name is the name of the exception. Namespace is the namespace of its targets, and of the exception itself unless
	// Cluster is set.
	Name, Namespace string
	// Cluster asks for a ClusterFreezeException.
	Cluster        bool
	Targets        []source.Target
	Actions        []workload.Change
	From, To       time.Time
	Reason, Ticket string
	ApprovedBy     string
	// Policies are the freezes that the exception lifts. If there are none, it lifts every freeze of its targets.
	Policies      []string
	Users, Groups []string
}

// Read reads the allowed actions and the time of the exception. The time begins at from, truncated to the second, and
// lasts for span.
func (s *ExceptionSpec) Read(allow []string, from time.Time, span string) error {
	switch {
	case len(allow) == 0:
		return errors.New("give the allowed actions: --allow with one or more of create, delete, rollout, scale")
	case span == "":
		return errors.New("say how long: give --for, such as --for 1h")
	case s.Reason == "":
		return errors.New("say why: give --reason")
	}
	for _, text := range allow {
		action, err := evaluate.ParseAction(text)
		if err != nil {
			return fmt.Errorf("--allow: %w", err)
		}
		s.Actions = append(s.Actions, action)
	}
	d, err := printer.ParseSpan(span)
	if err != nil {
		return fmt.Errorf("--for: %w", err)
	}
	s.From = from.Truncate(time.Second)
	s.To = s.From.Add(d)
	return nil
}

// Select adds the targets that the arguments name. An exception without a name gets a name from the first target and
// the time.
func (s *ExceptionSpec) Select(w *source.World, args []string) error {
	for _, arg := range args {
		target, err := w.FindTarget(arg, s.Namespace)
		if err != nil {
			return err
		}
		if target.Namespace == "" && !s.Cluster {
			return fmt.Errorf("%s is cluster-scoped: add --cluster", target.Ref)
		}
		s.Targets = append(s.Targets, target)
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("%s-%s", s.Targets[0].Name, strings.ToLower(s.From.UTC().Format("20060102t1504z")))
	}
	return nil
}

// Object returns the exception as an object, and the rules in it.
func (s ExceptionSpec) Object() (policy.Object, *v1alpha1.ExceptionRules) {
	namespace, reaches := s.Namespace, []string(nil)
	if s.Cluster {
		namespace = ""
		if slices.ContainsFunc(s.Targets, func(t source.Target) bool { return t.Namespace != "" }) {
			reaches = []string{s.Namespace}
		}
	}
	e, target, rules := freeze.NewException(namespace, s.Name, reaches)
	for _, t := range s.Targets {
		kind := v1alpha1.KindRef{Group: t.Group, Kind: t.GroupKind.Kind}
		if !slices.Contains(target.Kinds, kind) {
			target.Kinds = append(target.Kinds, kind)
		}
		if !slices.Contains(target.Names, t.Name) {
			target.Names = append(target.Names, t.Name)
		}
	}
	for _, a := range s.Actions {
		rules.Allow = append(rules.Allow, v1alpha1.Action(a.Names()[0]))
	}
	rules.ActiveFrom, rules.ActiveTo = metav1.NewTime(s.From.UTC()), metav1.NewTime(s.To.UTC())
	rules.Reason, rules.TicketURL, rules.ApprovedBy, rules.Policies = s.Reason, s.Ticket, s.ApprovedBy, s.Policies
	if len(s.Users)+len(s.Groups) > 0 {
		rules.Constraints = &v1alpha1.ExceptionConstraints{AllowedUsers: s.Users, AllowedGroups: s.Groups}
	}
	return e, rules
}

// beneficiary returns the user for the preview. This is the user of the command if the exception applies to that user.
// Otherwise it is a user or a group named in the exception.
func (s ExceptionSpec) beneficiary(asks evaluate.User) evaluate.User {
	meant := slices.Contains(s.Users, asks.Name) || slices.ContainsFunc(asks.Groups,
		func(g string) bool { return slices.Contains(s.Groups, g) })
	switch {
	case meant || len(s.Users)+len(s.Groups) == 0:
		return asks
	case len(s.Users) > 0:
		return evaluate.Impersonated(s.Users[0])
	}
	return evaluate.Impersonated("a member of "+s.Groups[0], s.Groups[0])
}

// Preview lists the changes allowed by an exception, and the changes still refused.
type Preview struct {
	// DryRun means that nothing was written.
	DryRun    bool          `json:"dryRun,omitempty"`
	Exception policy.Object `json:"exception"`
	// Lifted are the changes that the exception allows. Refused are the changes that are refused in spite of the
	// exception. Idle are the changes that no freeze denies.
	Lifted  []evaluate.Answer `json:"lifted,omitempty"`
	Refused []evaluate.Answer `json:"refused,omitempty"`
	Idle    []evaluate.Answer `json:"idle,omitempty"`
	// Also are the targets that the exception selects although they were not requested. An exception selects every
	// combination of its kinds and names.
	Also []string `json:"also,omitempty"`

	zone  *time.Location
	rules *v1alpha1.ExceptionRules
	user  evaluate.User
}

// Foresee returns the preview of an exception. It judges the changes at the beginning of the exception, for the
// beneficiary.
func Foresee(ctx context.Context, w *source.World, s ExceptionSpec, user evaluate.User, flyballNamespace string,
	zone *time.Location) (*Preview, error) {
	p := &Preview{zone: zone, user: s.beneficiary(user)}
	p.Exception, p.rules = s.Object()
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
	before, after := cani.NewEvaluator(without, flyballNamespace), cani.NewEvaluator(with, flyballNamespace)
	for _, t := range s.Targets {
		for _, action := range s.Actions {
			q := evaluate.Inquiry{Target: cani.TargetOf(t), Action: action, User: p.user, At: s.From}
			old, err := before.Answer(ctx, q)
			if err != nil {
				return nil, cani.Hinted(err, w, t)
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

// also sets Also, the targets of the exception that were not requested.
func (p *Preview) also(memory *world.Memory, s ExceptionSpec) {
	e := memory.World().Set().Exception(source.IDOf(p.Exception))
	if e == nil {
		return
	}
	memory.EachObject(func(ref workload.Ref) {
		named := slices.ContainsFunc(s.Targets, func(t source.Target) bool { return t.Ref == ref })
		reached := s.Cluster || ref.Namespace == s.Namespace
		if !named && reached && e.Selects(ref.GroupKind, memory.Object(ref), memory.Namespace(ref.Namespace).Labels) {
			p.Also = append(p.Also, ref.String())
		}
	})
	slices.Sort(p.Also)
}

// Useless returns the reason why an exception allows nothing, or "".
func (p *Preview) Useless() string {
	if len(p.Lifted) > 0 {
		return ""
	}
	if len(p.Refused) == 0 {
		return fmt.Sprintf("no freeze denies this at %s; give --from an instant at which one does",
			printer.InstantText(p.rules.ActiveFrom.Time, p.zone))
	}
	var denying []string
	cluster := false
	for _, a := range p.Refused {
		for _, d := range a.Denials {
			if d.Enforcement == string(v1alpha1.EnforcementDeny) && !slices.Contains(denying, d.Policy) {
				denying = append(denying, d.Policy)
				cluster = cluster || strings.HasPrefix(d.Policy, "Cluster")
			}
		}
	}
	why := strings.Join(denying, ", ") + " would still deny it"
	switch {
	case cluster && p.Exception.GetNamespace() != "":
		why += "; only a ClusterFreezeException lifts a policy of the cluster: add --cluster"
	case len(p.rules.Policies) > 0:
		why += "; --policies names " + strings.Join(p.rules.Policies, ", ")
	}
	return why
}

// Manifest returns the exception as YAML, without its empty status.
func (p *Preview) Manifest() ([]byte, error) {
	manifest, err := runtime.DefaultUnstructuredConverter.ToUnstructured(p.Exception)
	if err != nil {
		return nil, fmt.Errorf("encode the exception: %w", err)
	}
	metadata := map[string]any{"name": p.Exception.GetName()}
	if namespace := p.Exception.GetNamespace(); namespace != "" {
		metadata["namespace"] = namespace
	}
	manifest["metadata"] = metadata
	delete(manifest, "status")
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return nil, fmt.Errorf("encode the exception: %w", err)
	}
	return text, nil
}

// Names implements printer.Finding.
func (p *Preview) Names() []string {
	return []string{strings.ToLower(p.Exception.GetObjectKind().GroupVersionKind().Kind) + ".flyball.dev/" + p.Exception.GetName()}
}

// Text implements printer.Finding.
func (p *Preview) Text(w *printer.Writer) {
	note := ""
	if p.DryRun {
		note = " (dry run: nothing was written)"
	}
	w.Line("%s from %s until %s%s", source.IDOf(p.Exception), printer.InstantText(p.rules.ActiveFrom.Time, p.zone),
		printer.InstantText(p.rules.ActiveTo.Time, p.zone), note)
	whom := ""
	if p.rules.Constraints != nil {
		whom = ", for " + p.user.Name
	}
	p.group(w, "It lifts"+whom, p.Lifted, printer.Good)
	p.group(w, "It does not lift"+whom, p.Refused, printer.Bad)
	p.group(w, "Nothing denies, so there is nothing to lift", p.Idle, printer.Plain)
	if len(p.Also) > 0 {
		w.Heading("It holds for these too, by their kinds and names")
		for _, t := range p.Also {
			w.Line("  %s", t)
		}
	}
}

func (p *Preview) group(w *printer.Writer, title string, answers []evaluate.Answer, style printer.Style) {
	if len(answers) == 0 {
		return
	}
	w.Heading("%s", title)
	for _, a := range answers {
		w.Line("  %s", w.Styled(strings.Join(a.Actions, ", ")+" "+a.Target, style))
		for _, d := range a.Denials {
			w.Line("    %s", cani.DenialText(d, p.zone))
		}
		for _, l := range a.Lifts {
			w.Line("    without this exception, %s denies it", l.Policy)
		}
	}
}
