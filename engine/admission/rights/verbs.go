package rights

import (
	"context"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"flyball.dev/flyball/crds/v1alpha1"
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

// Verbs finds the verbs of a user on policies. Each verb on all policies of a kind is asked for first and once: thousands of
// single questions would take longer than the API server waits for the webhook.
type Verbs struct {
	reviews AccessReviewer
	user    authenticationv1.UserInfo
	// everywhere has the answers for all policies of a kind.
	everywhere map[kindVerb]bool
}

type kindVerb struct{ kind, verb string }

// NewVerbs returns the verbs of a user, without an answer yet.
func NewVerbs(reviews AccessReviewer, user authenticationv1.UserInfo) *Verbs {
	return &Verbs{reviews: reviews, user: user, everywhere: map[kindVerb]bool{}}
}

// Has reports whether the user has a verb on a policy. An error is that of the API server.
func (v *Verbs) Has(ctx context.Context, verb string, policy workload.Policy) (bool, error) {
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

func (v *Verbs) ask(ctx context.Context, verb string, policy workload.Policy) (bool, error) {
	return May(ctx, v.reviews, v.user, authorizationv1.ResourceAttributes{
		Group: v1alpha1.GroupVersion.Group, Resource: freeze.Resources()[policy.Kind], Verb: verb, Namespace: policy.Namespace, Name: policy.Name,
	})
}
