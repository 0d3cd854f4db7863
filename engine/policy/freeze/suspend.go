package freeze

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/pipeline"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// suspended compiles the selector of the objects to put to sleep while the rule is active. These are the objects of the
// rule's target that have a kind of spec.suspend and match one of its entries.
func (d draft) suspended(scope selector.Scope, at *field.Path) (*selector.Selector, field.ErrorList) {
	if len(d.suspend) == 0 {
		return selector.Nothing(), nil
	}
	at = at.Child("suspend")
	spec := d.target.spec
	var parts []*selector.Selector
	var errs field.ErrorList
	spec.Kinds, parts, errs = d.entries(scope, at)
	var s *selector.Selector
	var es field.ErrorList
	if d.target.namespace != "" {
		s, es = selector.Namespaced(spec.TargetSelector, d.target.namespace, scope, field.NewPath("spec", "target"))
	} else {
		s, es = selector.Cluster(spec, scope, field.NewPath("spec", "target"))
	}
	errs = append(errs, underSuspend(es, at)...)
	if len(parts) > 0 {
		s = s.Within("suspend", parts...)
	}
	return s, errs
}

// entries returns the kinds of spec.suspend, each once, and for each entry the part of the target that it selects. parts
// is empty if every entry selects its whole kind.
func (d draft) entries(scope selector.Scope, at *field.Path) (kinds []v1alpha1.KindRef, parts []*selector.Selector, errs field.ErrorList) {
	whole, narrows := map[v1alpha1.KindRef]bool{}, false
	for i := range d.suspend {
		entry, at := &d.suspend[i], at.Index(i)
		bare := equality.Semantic.DeepEqual(*entry, v1alpha1.ClusterFreezeSuspend{FreezeSuspend: v1alpha1.FreezeSuspend{KindRef: entry.KindRef}})
		if known := slices.Contains(kinds, entry.KindRef); !known {
			kinds = append(kinds, entry.KindRef)
		} else if bare || whole[entry.KindRef] {
			errs = append(errs, field.Duplicate(at, entry.GroupKind().String()))
		}
		whole[entry.KindRef], narrows = whole[entry.KindRef] || bare, narrows || !bare
		if len(entry.Namespaces)+len(entry.ExcludeNamespaces) > 0 || entry.NamespaceSelector != nil {
			if scope.IsClusterScoped(entry.GroupKind()) {
				errs = append(errs, field.Invalid(at.Child("kind"), entry.GroupKind().String(),
					"lives outside namespaces: leave namespaces, namespaceSelector and excludeNamespaces out of this entry"))
			}
		}
		part, es := selector.Part(v1alpha1.ClusterTargetSelector{
			TargetSelector: v1alpha1.TargetSelector{Kinds: []v1alpha1.KindRef{entry.KindRef}, Names: entry.Names,
				ExcludeNames: entry.ExcludeNames, Selector: entry.Selector},
			Namespaces: entry.Namespaces, NamespaceSelector: entry.NamespaceSelector, ExcludeNamespaces: entry.ExcludeNamespaces,
		}, scope, at)
		parts, errs = append(parts, part), append(errs, es...)
	}
	if !narrows {
		parts = nil
	}
	return kinds, parts, errs
}

// underSuspend returns the errors about kinds, with the field suspend. Errors about the rest of the target have already
// been reported.
func underSuspend(errs field.ErrorList, at *field.Path) field.ErrorList {
	var own field.ErrorList
	for _, e := range errs {
		if e.Type == field.ErrorTypeRequired {
			own = append(own, field.Invalid(at, e.BadValue, "kinds that live in namespaces need target.namespaces or target.namespaceSelector"))
		}
	}
	return own
}

type suspension struct {
	rule   *Rule
	sleeps bool
}

// engine returns the part of a rule executed by the engine.
func engine(r *Rule, asleep *selector.Selector) *policy.Policy {
	s := suspension{rule: r, sleeps: len(asleep.Kinds()) > 0}
	return &policy.Policy{
		ID:       r.id,
		Target:   asleep,
		Needs:    []v1alpha1.Capability{v1alpha1.CapabilitySuspend},
		Pipeline: pipeline.Pipeline{{Name: "active", Run: s.active}, {Name: "suspend", Run: s.suspend}},
		State:    s.state,
		Extras:   extras(r),
	}
}

// active adds the claim to sleep if the rule is surely active, and the claim to keep if the denial depends on lost events of
// calendars. Otherwise it ends the pipeline without a claim. So the ledger restores the changes of an ended freeze, and nothing
// else is changed.
func (s suspension) active(f *pipeline.Frame) error {
	st := s.rule.denies.At(f.Input.Now)
	f.Decision.WakeAt(st.Until)
	if f.Tracing() {
		f.Sayf("%s", s.state(f.Input.Now).Message)
	}
	if !st.Active {
		f.Done = true
		return nil
	}
	if s.rule.doubt != "" {
		f.Decision.WakeAt(s.rule.surely.At(f.Input.Now).Until)
	}
	if s.rule.doubts(f.Input.Now) {
		f.Sayf("%s: everything stays as it is", doubtText(s.rule.doubt))
		f.Decision.Intents, f.Done = append(f.Decision.Intents, workload.Intent{By: s.rule.id, Class: workload.ClassKeep}), true
		return nil
	}
	f.Decision.Intents = append(f.Decision.Intents, workload.Intent{
		By: s.rule.id, Class: workload.ClassSleep, Mandatory: true, Since: st.Since, Reason: workload.OneLine(s.rule.message.Reason, maxWhy),
	})
	return nil
}

func (s suspension) suspend(f *pipeline.Frame) error {
	in := &f.Decision.Intents[0]
	in.Size = &workload.Size{Mode: workload.SizeSleep}
	in.Size.Capacity = f.Input.Target.Capacity(*in.Size)
	f.Sayf("suspended while changes are frozen")
	return nil
}

func (s suspension) state(now time.Time) policy.Summary {
	st := s.rule.denies.At(now)
	out := policy.Summary{Asleep: st.Active && s.sleeps && !s.rule.doubts(now), Since: st.Since, Next: st.Until}
	switch {
	case st.Active:
		out.Name, out.Active, out.Message = stateFrozen, s.rule.id.Name, s.outcome()+s.until(st.Until)
		if s.rule.letFinish > 0 && s.rule.deny != 0 && !st.Since.IsZero() {
			out.Message += "; controllers may finish roll-outs until " + instantText(s.rule.finishEnd(st), s.rule.zone)
		}
		if s.rule.recurs && !s.rule.isWindow() && st.Name != "" {
			out.Message += " (" + st.Name + ")"
		}
	case !s.rule.isWindow() && s.rule.Over(now):
		out.Name, out.Message = "Ended", "the freeze is over"
	case !s.rule.isWindow():
		out.Name, out.Message = "Scheduled", "changes are allowed"+s.until(st.Until)
	default:
		out.Name, out.Message = "Open", "changes are allowed in window "+st.Name+s.until(st.Until)
	}
	if len(s.rule.missing) > 0 {
		out.Message += "; there is no Calendar " + strings.Join(s.rule.missing, ", ") +
			", so its days do not count: create it, or take it out of spec.calendars"
	}
	if len(s.rule.lost) > 0 {
		out.Message += "; " + s.rule.lost.ToAggregate().Error()
	}
	if s.rule.KeepsMore(now) {
		out.Message += "; it keeps this denial, and its Calendars have changed since: an edit of its spec takes up their days"
	}
	if s.rule.excused != "" {
		out.Message += "; this will be refused at the next edit: " + s.rule.excused
	}
	return out
}

// outcome returns the consequence for changes while the rule is active.
func (s suspension) outcome() string {
	if s.rule.deny == 0 {
		return "changes pass, and the kinds in spec.suspend sleep"
	}
	switch s.rule.enforcement {
	case v1alpha1.EnforcementWarn:
		return "changes pass with a warning"
	case v1alpha1.EnforcementAudit:
		return "changes pass and are counted"
	}
	return "changes are denied"
}

func (s suspension) until(t time.Time) string {
	if t.IsZero() {
		return ", with no end"
	}
	return " until " + instantText(t, s.rule.zone)
}
