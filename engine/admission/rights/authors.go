package rights

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy"
)

// VerbUse is the virtual RBAC verb on an adapter. Its holder may write policies for the adapter's kind without the
// right to patch the kind.
const VerbUse = "use"

const (
	// reviewTime limits all checks for one request together. It is shorter than the API server's timeout for the
	// webhook, so a refusal arrives in time.
	reviewTime = 3 * time.Second
	// maxAsking is the number of kinds checked in parallel for one request.
	maxAsking = 8
)

// Adapted lists the adapters.
type Adapted interface {
	// EachAdapter yields the adapters with their resources.
	EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool)
}

// Authors checks that the author of a policy holds the rights that Flyball uses for the policy, so a policy cannot
// do more than its author. The rights are checked on creation and on every edit that changes selection or effect. Edits
// of metadata and status need no rights.
type Authors struct {
	Adapted   Adapted
	Resources Resources
	Reviews   AccessReviewer
	// Context is the context in which policies are compiled.
	Context policy.Context
	Clock   clock.PassiveClock
	// Note is called for each change admitted because of the verb override, except dry runs. It must return quickly,
	// and may be nil.
	Note func(Guarded)
	// Loaded is closed when the adapters have been loaded. A request whose context ends earlier is refused.
	Loaded <-chan struct{}
}

// Ask returns a kind whose validator checks the author's rights before the original validator runs.
func (a *Authors) Ask(kind review.OwnKind, row policy.Row) review.OwnKind {
	inner := kind.Validator
	kind.Validator = review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		warnings, errs, err := a.ask(ctx, req, row)
		if err != nil || len(errs) > 0 {
			return warnings, errs, err
		}
		more, errs, err := inner.Validate(ctx, req)
		return append(warnings, more...), errs, err
	})
	return kind
}

func (a *Authors) ask(ctx context.Context, req review.Request, row policy.Row) (warnings []string, errs field.ErrorList, err error) {
	rights := newRights(req, row)
	if len(rights) == 0 {
		return nil, nil, nil
	}
	select {
	case <-a.Loaded:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("check the rights of user %q: the adapters have not been read yet", req.User.Username)
	}
	compiled, errs := row.Compile(req.New.(policy.Object), a.Context)
	if len(errs) > 0 {
		return nil, errs, nil
	}
	ctx, cancel := context.WithTimeout(ctx, reviewTime)
	defer cancel()
	claims := a.addClaims(nil, compiled, rights)
	if past := onPast(rights); len(past) > 0 && req.Old != nil {
		before, _ := row.Compile(req.Old.(policy.Object), a.Context)
		claims = a.addClaims(claims, before, past)
	}
	lacking, err := a.lacking(ctx, req.User, claims)
	if err != nil {
		return nil, nil, fmt.Errorf("check the rights of user %q: %w; nothing is changed, try again", req.User.Username, err)
	}
	if len(lacking) > 0 {
		return nil, nil, refuseLacking(req, row, compiled.ID, lacking)
	}
	return a.askForAnnotations(ctx, req, row, compiled.ID, rights, claims)
}

// newRights returns the rights that a request adds to a policy. Rights that the policy already used for the same part
// of its spec are not checked again.
func newRights(req review.Request, row policy.Row) []policy.Right {
	if req.New == nil || req.Operation == admissionv1.Update && !req.SpecChanged {
		return nil
	}
	rights := row.RightsOf(req.New.(policy.Object))
	if req.Old == nil {
		return rights
	}
	old := row.RightsOf(req.Old.(policy.Object))
	return slices.DeleteFunc(rights, func(r policy.Right) bool {
		return slices.ContainsFunc(old, func(o policy.Right) bool { return equality.Semantic.DeepEqual(o, r) })
	})
}

// lacking checks all claims in parallel and returns, in order, the claims that the user does not hold.
func (a *Authors) lacking(ctx context.Context, user authenticationv1.UserInfo, claims []claim) ([]claim, error) {
	missing := make([]*claim, len(claims))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxAsking)
	for i := range claims {
		group.Go(func() error {
			c, held, err := a.hasRights(ctx, user, claims[i])
			if err == nil && !held {
				missing[i] = &c
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	var all []claim
	for _, c := range missing {
		if c != nil {
			all = append(all, *c)
		}
	}
	slices.SortFunc(all, func(a, b claim) int { return strings.Compare(a.text(), b.text()) })
	return all, nil
}

// hasRights reports whether a user holds a claim in one of the accepted ways, and returns the claim with the checked
// resource. Every user holds a claim on a kind that is neither named in the policy nor served.
func (a *Authors) hasRights(ctx context.Context, user authenticationv1.UserInfo, c claim) (claim, bool, error) {
	if c.resource.Resource == "" {
		plural, err := a.Resources.Resource(ctx, c.kind)
		if err != nil {
			return c, false, fmt.Errorf("find the resource of %s: %w", c.kind, err)
		}
		c.resource = schema.GroupResource{Group: c.kind.Group, Resource: plural}
	}
	for _, attributes := range c.attributes() {
		if held, err := May(ctx, a.Reviews, user, attributes); held || err != nil {
			return c, held, err
		}
	}
	if c.named {
		return c, false, nil
	}
	plural, err := a.Resources.Resource(ctx, c.kind)
	if err != nil {
		return c, false, fmt.Errorf("find the resource of %s: %w", c.kind, err)
	}
	return c, plural == "", nil
}
