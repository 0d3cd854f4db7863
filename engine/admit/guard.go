package admit

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// These virtual RBAC verbs guard freezes.
const (
	// VerbOverride on a freeze or a maintenance window allows its holder to weaken the policy while the policy is active
	// or about to be. On a policy that sets annotations, it allows annotations that make controllers act.
	VerbOverride = "override"
	// VerbExcept on a freeze exception, or on every policy that the exception can lift, allows its holder to create the
	// exception.
	VerbExcept = "except"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// FreezeResources returns the resources of the freeze kinds, by kind.
func FreezeResources() map[string]string {
	all := map[string]string{}
	for _, k := range freeze.Kinds() {
		all[k.Name] = k.Resource
	}
	return all
}

// Guarded is an edit that was admitted because its author holds a right of the guard.
type Guarded struct {
	// Verb is VerbOverride or VerbExcept.
	Verb string
	// Policy is the overridden policy or the new exception.
	Policy workload.Policy
	// UID is the UID of a new exception, and empty for an override.
	UID  string
	User string
	// What describes the edit.
	What string
	At   time.Time
}

// Guard validates and guards Flyball's freeze kinds. While a freeze is active, the verb override on the freeze is needed for a deletion
// or weakening and, for a Cluster freeze, any edit of the adapters and calendars of the freeze. Creating or editing an
// exception needs the verb except. Only Flyball may write the creator of an exception and the announced denial of a freeze.
type Guard struct {
	Freezes Freezes
	// Objects finds calendars that are not known yet.
	Objects Objects
	Rights  AccessReviewer
	Context freeze.Context
	Clock   clock.PassiveClock
	// Exempt are the namespaces in which changes are never judged.
	Exempt []string
	// Account is the user name of Flyball itself.
	Account string
	// Note is called for each change admitted because of a right, except dry runs. It must return quickly, and may be
	// nil.
	Note func(Guarded)
}

// Kinds returns the six freeze kinds with their validators.
func (g *Guard) Kinds() []Kind {
	var kinds []Kind
	for kind, resource := range FreezeResources() {
		k := Kind{Kind: kind, Resource: resource, Validator: ValidatorFunc(g.rule), Deletions: true, Status: true}
		if strings.HasSuffix(kind, freeze.ExceptionKind) {
			k.Validator, k.Deletions = ValidatorFunc(g.exception), false
		}
		kinds = append(kinds, k)
	}
	return kinds
}

// rule validates and guards a change freeze or a maintenance window.
func (g *Guard) rule(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error) {
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
	if req.Old == nil || isDeleting(req.Old) || g.goesAnyway(req.Namespace) {
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
func (g *Guard) weakened(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error) {
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
func (g *Guard) mayOverride(ctx context.Context, req Request, policy workload.Policy, because, what string) ([]string, field.ErrorList,
	error) {
	return g.mayOverrideBy(ctx, newVerbs(g.Rights, req.User), req, policy, because, what)
}

func (g *Guard) mayOverrideBy(ctx context.Context, of *verbs, req Request, policy workload.Policy, because, what string) ([]string,
	field.ErrorList, error) {
	held, err := of.hold(ctx, VerbOverride, policy)
	if err != nil {
		return nil, nil, err
	}
	if !held {
		return nil, nil, apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: FreezeResources()[policy.Kind]},
			policy.Name, fmt.Errorf(
				"%s: %s; user %q needs the verb %q on it", policy, because, req.User.Username, VerbOverride))
	}
	return []string{g.overridden(req, policy, what)}, nil, nil
}

// overridden records an override and returns its warning.
func (g *Guard) overridden(req Request, policy workload.Policy, what string) string {
	g.note(req, Guarded{Verb: VerbOverride, Policy: policy, User: req.User.Username, What: what, At: g.Clock.Now()})
	return fmt.Sprintf("%s is overridden: %s", policy, what)
}

// mayOverrideAll returns a refusal if the user lacks the verb override on one of the rules.
func (g *Guard) mayOverrideAll(ctx context.Context, req Request, rules []*freeze.Rule, what string) (warnings []string, err error) {
	of := newVerbs(g.Rights, req.User)
	for _, rule := range rules {
		more, _, err := g.mayOverrideBy(ctx, of, req, rule.ID(), what, what)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, more...)
	}
	return warnings, nil
}

func (g *Guard) note(req Request, done Guarded) {
	done.User, done.What = workload.OneLine(done.User, maxUser), workload.OneLine(done.What, limits.MaxRefusal)
	if g.Note != nil && !req.DryRun {
		g.Note(done)
	}
}

// exception validates and guards a freeze exception.
func (g *Guard) exception(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error) {
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
		return nil, nil, apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: FreezeResources()[req.Kind.Kind]},
			compiled.ID().Name, fmt.Errorf(
				"user %q needs the verb %q on it, or on every policy that spec.policies names%s", req.User.Username, VerbExcept, lacking))
	}
	for _, text := range g.Freezes.Set().Missing(compiled) {
		warnings = append(warnings, fmt.Sprintf("spec.policies: there is no policy %s", text))
	}
	object := req.New.(metav1.Object)
	g.note(req, Guarded{Verb: VerbExcept, Policy: compiled.ID(), UID: string(object.GetUID()), User: req.User.Username,
		What: strings.ToLower(string(req.Operation)), At: g.Clock.Now()})
	return warnings, nil, nil
}

// announced refuses changes of the announced denial by any user but Flyball, because a writer of status could lift the freeze.
func (g *Guard) announced(req Request) error {
	old, oldOK := req.Old.(policy.Object)
	edited, editedOK := req.New.(policy.Object)
	if !oldOK || !editedOK {
		return fmt.Errorf("%T and %T are not both freezes or windows", req.Old, req.New)
	}
	if req.User.Username == g.Account ||
		equality.Semantic.DeepEqual(freeze.StatusOf(old).Announced, freeze.StatusOf(edited).Announced) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: FreezeResources()[req.Kind.Kind]}, req.Name,
		errors.New("status.announced can be written only by Flyball: the freeze keeps this denial when its Calendars change"))
}

// creator refuses changes of an exception's creator by any user but Flyball, because only Flyball has seen the
// creation.
func (g *Guard) creator(req Request) error {
	old, oldOK := req.Old.(policy.Object)
	edited, editedOK := req.New.(policy.Object)
	if !oldOK || !editedOK {
		return fmt.Errorf("%T and %T are not both exceptions", req.Old, req.New)
	}
	before, after := freeze.ExceptionStatusOf(old), freeze.ExceptionStatusOf(edited)
	if req.User.Username == g.Account || before.CreatedBy == after.CreatedBy && before.CreatedAt.Equal(after.CreatedAt) {
		return nil
	}
	return apierrors.NewForbidden(schema.GroupResource{Group: req.Kind.Group, Resource: FreezeResources()[req.Kind.Kind]}, req.Name,
		errors.New("status.createdBy and status.createdAt can be written only by Flyball, which records the creator"))
}

// lacking returns the reason for a refusal if the user may not make an exception, or "" otherwise. The user needs the
// verb except on the exception itself, or on every policy that its spec can lift, even if the policy does not exist
// yet. Otherwise a later policy could be lifted without the right on its name.
func (g *Guard) lacking(ctx context.Context, req Request, e *freeze.Exception) (string, error) {
	of := newVerbs(g.Rights, req.User)
	held, err := of.hold(ctx, VerbExcept, e.ID())
	if err != nil || held {
		return "", err
	}
	policies := e.Policies()
	if len(policies) == 0 {
		return "; it names none and so lifts all", nil
	}
	for _, p := range policies {
		held, err := of.hold(ctx, VerbExcept, p)
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
func (g *Guard) Adapter(inner Validator) Kind {
	return g.dependedOn(Kind{Kind: "Adapter", Resource: "adapters", Validator: inner}, func(req Request) (string, []*freeze.Rule) {
		a, ok := req.Old.(*v1alpha1.Adapter)
		if !ok {
			return "", nil
		}
		return "the adapter " + a.Name, g.Freezes.Set().Guarding(a.Spec.Target.GroupKind(), a.Spec.Governs != "", g.Clock.Now())
	})
}

// dependedOn guards a kind in addition to its validator. dependents returns the name of an object and the guarded freezes that
// depend on it.
func (g *Guard) dependedOn(kind Kind, dependents func(Request) (string, []*freeze.Rule)) Kind {
	inner := kind.Validator
	kind.Deletions = true
	kind.Validator = ValidatorFunc(func(ctx context.Context, req Request) ([]string, field.ErrorList, error) {
		var warnings []string
		if req.Old == nil || !isDeleting(req.Old) && (req.New == nil || req.SpecChanged) {
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

// verbs finds the verbs of a user on policies. Each verb on all policies of a kind is asked for first and once: thousands of
// single questions would take longer than the API server waits for the webhook.
type verbs struct {
	reviews AccessReviewer
	user    authenticationv1.UserInfo
	// everywhere has the answers for all policies of a kind.
	everywhere map[kindVerb]bool
}

type kindVerb struct{ kind, verb string }

func newVerbs(reviews AccessReviewer, user authenticationv1.UserInfo) *verbs {
	return &verbs{reviews: reviews, user: user, everywhere: map[kindVerb]bool{}}
}

// hold reports whether the user has a verb on a policy.
func (v *verbs) hold(ctx context.Context, verb string, policy workload.Policy) (bool, error) {
	key := kindVerb{policy.Kind, verb}
	all, asked := v.everywhere[key]
	if !asked {
		var err error
		if all, err = v.ask(ctx, verb, workload.Policy{Kind: policy.Kind}); err != nil {
			return false, err
		}
		v.everywhere[key] = all
	}
	if all {
		return true, nil
	}
	return v.ask(ctx, verb, policy)
}

func (v *verbs) ask(ctx context.Context, verb string, policy workload.Policy) (bool, error) {
	return Holds(ctx, v.reviews, v.user, authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Resource: FreezeResources()[policy.Kind], Verb: verb, Namespace: policy.Namespace, Name: policy.Name,
	})
}

// needed is a right needed for an edit of a namespace.
type needed struct {
	policy workload.Policy
	verb   string
	// where describes the effect of the edit, with a placeholder for the policy. warning is for users with the right.
	where, warning string
}

func isNamespace(r *review) bool { return r.resource.GroupResource() == namespaces.GroupResource() }

// guardNamespace refuses labels that take a namespace out of an active or soon active freeze, unless the user has the
// verb override on the freeze. It also refuses labels that take a namespace into an exception, unless the user has the
// verb except on the exception.
func (j *Judge) guardNamespace(ctx context.Context, r *review, now time.Time) (limits.Answer, Judgement) {
	done := Judgement{Request: freeze.Request{Kind: schema.GroupKind{Kind: "Namespace"}, Name: r.name, User: r.user, Groups: r.groups,
		Now: now, DryRun: r.dryRun}}
	before, after := readMetadata(r.oldObject, nil), readMetadata(r.object, nil)
	done.Verdict.Allowed = true
	if j.Rights == nil || before.deleting || freeze.ControlPlane(r.user) {
		return limits.Answer{Allowed: true}, done
	}
	user := authenticationv1.UserInfo{Username: r.user, UID: r.userUID, Groups: r.groups, Extra: map[string]authenticationv1.ExtraValue{}}
	for k, v := range r.extra {
		user.Extra[k] = v
	}
	a := limits.Answer{Allowed: true}
	set := j.Freezes.Set()
	var needs []needed
	for _, rule := range set.EscapesNamespace(r.name, before.labels, after.labels, now) {
		where := "out of %s, which is active"
		if _, begins := rule.Guarded(now); !begins.IsZero() {
			where = "out of %s, which begins " + begins.UTC().Format(time.RFC3339)
		}
		needs = append(needs, needed{rule.ID(), VerbOverride, where, fmt.Sprintf("%s is overridden: namespace %s leaves it", rule.ID(), r.name)})
	}
	for _, e := range set.EntersNamespace(r.name, before.labels, after.labels, now) {
		needs = append(needs, needed{e.ID(), VerbExcept, "into %s", fmt.Sprintf("%s now holds for namespace %s", e.ID(), r.name)})
	}
	of := newVerbs(j.Rights, user)
	for _, n := range needs {
		held, err := of.hold(ctx, n.verb, n.policy)
		if err != nil {
			done.Err = err
			return limits.Answer{}, done
		}
		done.Escaped = append(done.Escaped, n.policy)
		if !held {
			done.Verdict.Allowed = false
			done.Verdict.Message = fmt.Sprintf("these labels would take namespace %s %s; user %q needs the verb %q on it",
				workload.OneLine(r.name, maxNamespace), fmt.Sprintf(n.where, n.policy), workload.OneLine(r.user, maxUser), n.verb)
			return limits.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: done.Verdict.Message}, done
		}
		a.Warnings = append(a.Warnings, n.warning)
	}
	done.Overridden = len(done.Escaped) > 0
	a.Audit = with(nil, "overridden", names(done.Escaped))
	return a, done
}
