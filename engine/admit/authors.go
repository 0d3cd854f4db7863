package admit

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
	"flyball.dev/flyball/engine/policy"
)

// VerbUse is the virtual RBAC verb on an adapter that lets its holder make policies act on the adapter's kind without the right to
// patch it.
const VerbUse = "use"

const (
	// reviewTime is how long the questions about one request may take together. It is less than API servers wait for the webhook, so
	// that a refusal reaches them.
	reviewTime = 3 * time.Second
	// maxAsking is about how many kinds is asked side by side for one request.
	maxAsking = 8
)

// Adapted knows the adapters.
type Adapted interface {
	// EachAdapter yields the adapters, with the resources that they speak of.
	EachAdapter(yield func(schema.GroupResource, *adapter.Adapter) bool)
}

// Authors asks who writes a policy for the rights that Flyball uses because of it: a policy does nothing that its author may not.
// They are asked for on creation and on every edit of what the policy selects or does. Edits of metadata and status ask for nothing.
type Authors struct {
	Adapted   Adapted
	Resources Resources
	Reviews   AccessReviewer
	// Context is that by which policies are compiled.
	Context policy.Context
	Clock   clock.PassiveClock
	// Note is told of what was let through because of the verb override, but of no dry run. It must be quick. It may be nil.
	Note func(Guarded)
	// Loaded is closed once the adapters are known. A request that ends before is refused.
	Loaded <-chan struct{}
}

// Ask has authors asked before the validator of a policy kind.
func (a *Authors) Ask(kind Kind, row policy.Kind) Kind {
	inner := kind.Validator
	kind.Validator = ValidatorFunc(func(ctx context.Context, req Request) ([]string, field.ErrorList, error) {
		warnings, errs, err := a.ask(ctx, req, row)
		if err != nil || len(errs) > 0 {
			return warnings, errs, err
		}
		more, errs, err := inner.Validate(ctx, req)
		return append(warnings, more...), errs, err
	})
	return kind
}

func (a *Authors) ask(ctx context.Context, req Request, row policy.Kind) (warnings []string, errs field.ErrorList, err error) {
	rights := newRights(req, row)
	if len(rights) == 0 {
		return nil, nil, nil
	}
	select {
	case <-a.Loaded:
	case <-ctx.Done():
		return nil, nil, fmt.Errorf("ask what user %q may do: the adapters have not been read yet", req.User.Username)
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
		return nil, nil, fmt.Errorf("ask what user %q may do, before Flyball does it for them: %w; nothing is changed, try again", req.User.Username, err)
	}
	if len(lacking) > 0 {
		return nil, nil, refuseLacking(req, row, compiled.ID, lacking)
	}
	return a.askForAnnotations(ctx, req, row, compiled.ID, rights, claims)
}

// newRights lists the rights that a request makes a policy take. Those that it took before, for the same part of the spec, are not
// asked for again.
func newRights(req Request, row policy.Kind) []policy.Right {
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

// lacking asks for every claim, side by side, and gives those that the user does not hold, in order.
func (a *Authors) lacking(ctx context.Context, user authenticationv1.UserInfo, claims []claim) ([]claim, error) {
	missing := make([]*claim, len(claims))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxAsking)
	for i := range claims {
		group.Go(func() error {
			c, held, err := a.holdsClaim(ctx, user, claims[i])
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

// holdsClaim asks whether a user holds a claim, in whatever way. It gives the claim with the resource that was asked for. One on a kind
// that the policy does not name and that is not served is held by everybody.
func (a *Authors) holdsClaim(ctx context.Context, user authenticationv1.UserInfo, c claim) (claim, bool, error) {
	if c.resource.Resource == "" {
		plural, err := a.Resources.Resource(ctx, c.kind)
		if err != nil {
			return c, false, fmt.Errorf("find the resource of %s: %w", c.kind, err)
		}
		c.resource = schema.GroupResource{Group: c.kind.Group, Resource: plural}
	}
	for _, attributes := range c.attributes() {
		if held, err := Holds(ctx, a.Reviews, user, attributes); held || err != nil {
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
