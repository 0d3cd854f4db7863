package freeze

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Guard validates and guards Flyball's freeze kinds. While a freeze is active, the verb override on the freeze is needed for a deletion
// or weakening and, for a Cluster freeze, any edit of the adapters and calendars of the freeze. Creating or editing an
// exception needs the verb except. Only Flyball may write the creator of an exception and the announced denial of a freeze.
type Guard struct {
	Freezes Freezes
	// Lookups finds calendars that are not known yet.
	Objects Lookups
	Rights  rights.AccessReviewer
	Context freeze.Context
	Clock   clock.PassiveClock
	// Exempt are the namespaces in which changes are never judged.
	Exempt []string
	// Account is the user name of Flyball itself.
	Account string
	// Note is called for each change admitted because of a right, except dry runs. It must return quickly, and may be
	// nil.
	Note func(rights.Guarded)
}

// Kinds returns the six freeze kinds with their validators.
func (g *Guard) Kinds() []review.OwnKind {
	var kinds []review.OwnKind
	for kind, resource := range freeze.Resources() {
		k := review.OwnKind{Kind: kind, Resource: resource, Validator: review.ValidatorFunc(g.rule), Deletions: true, Status: true}
		if strings.HasSuffix(kind, freeze.ExceptionKind) {
			k.Validator, k.Deletions = review.ValidatorFunc(g.exception), false
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// rule validates and guards a change freeze or a maintenance window.
func (g *Guard) rule(ctx context.Context, req review.Request) (warnings []string, errs field.ErrorList, err error) {
	if req.Subresource != "" {
		return nil, nil, g.announced(req)
	}
	if req.New != nil {
		r, _, errs := freeze.CompileObject(req.New, g.Context)
		if len(errs) > 0 {
			return nil, errs, nil
		}
		for _, ns := range g.Exempt {
			if r.Names(ns) {
				warnings = append(warnings, fmt.Sprintf("nothing in namespace %s is ever frozen, so that the cluster and Flyball can be repaired", ns))
			}
		}
		warnings = append(warnings, r.Unjudged()...)
		if req.Old == nil {
			for _, e := range g.Freezes.Set().Lifting(r, g.Clock.Now()) {
				warnings = append(warnings, fmt.Sprintf("%s can let changes through that this policy denies", e.ID()))
			}
		}
	}
	if req.Old == nil || review.IsDeleting(req.Old) || g.goesAnyway(req.Namespace) {
		return warnings, nil, nil
	}
	more, errs, err := g.weakened(ctx, req)
	return append(warnings, more...), errs, err
}

// goesAnyway reports whether a policy is in a namespace that is being deleted. The garbage collector has no exemption:
// it deletes objects whose owner does not exist, and any editor of a policy's metadata can set such an owner.
func (g *Guard) goesAnyway(namespace string) bool {
	if namespace == "" {
		return false
	}
	_, terminating, known := g.Freezes.Namespace(namespace)
	return known && terminating
}

// weakened refuses to weaken or delete a rule that is active or begins soon, unless the user may override it.
func (g *Guard) weakened(ctx context.Context, req review.Request) (warnings []string, errs field.ErrorList, err error) {
	stored := g.Context
	stored.Stored = true
	old, _, oldErrs := freeze.CompileObject(req.Old, stored)
	if len(oldErrs) > 0 {
		return nil, nil, nil // an invalid freeze freezes nothing
	}
	what := "deleted"
	if req.New != nil {
		fields, err := freeze.Weakens(req.Old, req.New)
		switch {
		case err != nil:
			return nil, nil, err
		case len(fields) > 0:
			what = "changed in " + strings.Join(fields, ", ")
		case req.SpecChanged && old.KeepsMore(g.Clock.Now()):
			what = "changed, and take up the present days of its Calendars"
		default:
			return nil, nil, nil
		}
	}
	guarded, begins := old.Guarded(g.Clock.Now())
	if !guarded {
		return nil, nil, nil
	}
	because := "it is active and would be " + what
	if !begins.IsZero() {
		because = fmt.Sprintf("it begins %s (spec.guardAhead) and would be %s", begins.UTC().Format(time.RFC3339), what)
	}
	return g.mayOverride(ctx, req, old.ID(), because, what)
}

// mayOverride returns a refusal if the user lacks the verb override on a policy. Otherwise it records the override and
// returns a warning.
func (g *Guard) mayOverride(ctx context.Context, req review.Request, policy workload.Policy, because,
	what string) ([]string, field.ErrorList, error) {
	return g.mayOverrideBy(ctx, rights.NewVerbs(g.Rights, req.User), req, policy, because, what)
}

func (g *Guard) mayOverrideBy(ctx context.Context, of *rights.Verbs, req review.Request, policy workload.Policy, because,
	what string) ([]string, field.ErrorList, error) {
	held, err := of.Has(ctx, rights.VerbOverride, policy)
	if err != nil {
		return nil, nil, err
	}
	if !held {
		return nil, nil, apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: freeze.Resources()[policy.Kind]},
			policy.Name, fmt.Errorf(
				"%s: %s; user %q needs the verb %q on it", policy, because, req.User.Username, rights.VerbOverride))
	}
	return []string{g.overridden(req, policy, what)}, nil, nil
}

// overridden records an override and returns its warning.
func (g *Guard) overridden(req review.Request, policy workload.Policy, what string) string {
	g.note(req, rights.Guarded{Verb: rights.VerbOverride, Policy: policy, User: req.User.Username, What: what, At: g.Clock.Now()})
	return fmt.Sprintf("%s is overridden: %s", policy, what)
}

// mayOverrideAll returns a refusal if the user lacks the verb override on one of the rules.
func (g *Guard) mayOverrideAll(ctx context.Context, req review.Request, rules []*freeze.Rule,
	what string) (warnings []string, err error) {
	of := rights.NewVerbs(g.Rights, req.User)
	for _, rule := range rules {
		more, _, err := g.mayOverrideBy(ctx, of, req, rule.ID(), what, what)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, more...)
	}
	return warnings, nil
}

func (g *Guard) note(req review.Request, done rights.Guarded) {
	done.User, done.What = workload.OneLine(done.User, review.MaxUser), workload.OneLine(done.What, review.MaxRefusal)
	if g.Note != nil && !req.DryRun {
		g.Note(done)
	}
}

// exception validates and guards a freeze exception.
func (g *Guard) exception(ctx context.Context, req review.Request) (warnings []string, errs field.ErrorList, err error) {
	if req.Subresource != "" {
		return nil, nil, g.creator(req)
	}
	_, compiled, errs := freeze.CompileObject(req.New, g.Context)
	if len(errs) > 0 || req.Operation == admissionv1.Update && !req.SpecChanged {
		return nil, errs, nil
	}
	lacking, err := g.lacking(ctx, req, compiled)
	if err != nil {
		return nil, nil, err
	}
	if lacking != "" {
		return nil, nil, apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: freeze.Resources()[req.Kind.Kind]},
			compiled.ID().Name, fmt.Errorf(
				"user %q needs the verb %q on it, or on every policy that spec.policies names%s", req.User.Username, rights.VerbExcept, lacking))
	}
	for _, text := range g.Freezes.Set().Missing(compiled) {
		warnings = append(warnings, fmt.Sprintf("spec.policies: there is no policy %s", text))
	}
	object := req.New.(metav1.Object)
	g.note(req, rights.Guarded{Verb: rights.VerbExcept, Policy: compiled.ID(), UID: string(object.GetUID()), User: req.User.Username,
		What: strings.ToLower(string(req.Operation)), At: g.Clock.Now()})
	return warnings, nil, nil
}

// announced refuses changes of the announced denial by any user but Flyball, because a writer of status could lift the freeze.
func (g *Guard) announced(req review.Request) error {
	old, oldOK := req.Old.(policy.Object)
	edited, editedOK := req.New.(policy.Object)
	if !oldOK || !editedOK {
		return fmt.Errorf("%T and %T are not both freezes or windows", req.Old, req.New)
	}
	if req.User.Username == g.Account ||
		equality.Semantic.DeepEqual(freeze.StatusOf(old).Announced, freeze.StatusOf(edited).Announced) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: freeze.Resources()[req.Kind.Kind]}, req.Name,
		errors.New("status.announced can be written only by Flyball: the freeze keeps this denial when its Calendars change"))
}

// creator refuses changes of an exception's creator by any user but Flyball, because only Flyball has seen the
// creation.
func (g *Guard) creator(req review.Request) error {
	old, oldOK := req.Old.(policy.Object)
	edited, editedOK := req.New.(policy.Object)
	if !oldOK || !editedOK {
		return fmt.Errorf("%T and %T are not both exceptions", req.Old, req.New)
	}
	before, after := freeze.ExceptionStatusOf(old), freeze.ExceptionStatusOf(edited)
	if req.User.Username == g.Account || before.CreatedBy == after.CreatedBy && before.CreatedAt.Equal(after.CreatedAt) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: freeze.Resources()[req.Kind.Kind]}, req.Name,
		errors.New("status.createdBy and status.createdAt can be written only by Flyball, which records the creator"))
}

// lacking returns the reason for a refusal if the user may not make an exception, or "" otherwise. The user needs the
// verb except on the exception itself, or on every policy that its spec can lift, even if the policy does not exist
// yet. Otherwise a later policy could be lifted without the right on its name.
func (g *Guard) lacking(ctx context.Context, req review.Request, e *freeze.Exception) (string, error) {
	of := rights.NewVerbs(g.Rights, req.User)
	held, err := of.Has(ctx, rights.VerbExcept, e.ID())
	if err != nil || held {
		return "", err
	}
	policies := e.Policies()
	if len(policies) == 0 {
		return "; it names none and so lifts all", nil
	}
	for _, p := range policies {
		held, err := of.Has(ctx, rights.VerbExcept, p)
		if err != nil {
			return "", err
		}
		if !held {
			return fmt.Sprintf(", and does not hold it on %s", p), nil
		}
	}
	return "", nil
}

// Adapter guards adapters in addition to another validator. Deleting or editing an adapter needs the verb override on
// every guarded Cluster freeze that depends on the adapter or suspends its kind.
func (g *Guard) Adapter(inner review.Validator) review.OwnKind {
	kind := review.OwnKind{Kind: "Adapter", Resource: "adapters", Validator: inner}
	return g.dependedOn(kind, func(req review.Request) (string, []*freeze.Rule) {
		a, ok := req.Old.(*v1alpha1.Adapter)
		if !ok {
			return "", nil
		}
		return "the adapter " + a.Name, g.Freezes.Set().Guarding(a.Spec.Target.GroupKind(), a.Spec.Governs != "", g.Clock.Now())
	})
}

// dependedOn guards a kind in addition to its validator. dependents returns the name of an object and the guarded freezes that
// depend on it.
func (g *Guard) dependedOn(kind review.OwnKind, dependents func(review.Request) (string, []*freeze.Rule)) review.OwnKind {
	inner := kind.Validator
	kind.Deletions = true
	kind.Validator = review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		var warnings []string
		if req.Old == nil || !review.IsDeleting(req.Old) && (req.New == nil || req.SpecChanged) {
			name, rules := dependents(req)
			what := name + ", on which it depends, is " + map[bool]string{true: "created", false: "edited or deleted"}[req.Old == nil]
			var err error
			if warnings, err = g.mayOverrideAll(ctx, req, rules, what); err != nil {
				return nil, nil, err
			}
		}
		if req.New == nil {
			return warnings, nil, nil
		}
		more, errs, err := inner.Validate(ctx, req)
		return append(warnings, more...), errs, err
	})
	return kind
}
