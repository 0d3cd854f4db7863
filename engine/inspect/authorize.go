package inspect

import (
	"context"
	"fmt"
	"sync"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/adapter"
)

// Rule is a right needed in the whole cluster.
type Rule struct {
	// Group is the API group; empty for the core group.
	Group string
	// Resource is the plural name.
	Resource string
	// Subresource is a subresource such as scale; empty for the resource itself.
	Subresource string
	// Verbs are the needed verbs, each checked on its own.
	Verbs []string
}

// parallelReviews bounds the concurrent access reviews.
const parallelReviews = 8

// Authorize checks for each verb of each rule whether Flyball holds the right in all namespaces. It returns the
// smallest rules that would add the missing rights, or none if no right is missing. The check itself needs no right,
// because all users may ask about their own rights.
func (c *Inspector) Authorize(ctx context.Context, rules []Rule) (missing []rbacv1.PolicyRule, err error) {
	var mu sync.Mutex
	var lacking []grant
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallelReviews)
	for _, rule := range rules {
		for _, verb := range rule.Verbs {
			group.Go(func() error {
				allowed, err := c.allowed(ctx, rule, verb)
				if err != nil || allowed {
					return err
				}
				mu.Lock()
				defer mu.Unlock()
				lacking = append(lacking, grant{rule.Group, rule.resource(), verb})
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return minimalRules(lacking), nil
}

// resource returns the resource in the form of RBAC rules: deployments/scale.
func (r Rule) resource() string {
	if r.Subresource == "" {
		return r.Resource
	}
	return r.Resource + "/" + r.Subresource
}

func (c *Inspector) allowed(ctx context.Context, rule Rule, verb string) (bool, error) {
	answer, err := c.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: rule.Group, Resource: rule.Resource, Subresource: rule.Subresource, Verb: verb,
			},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether Flyball may %s %s: %w", verb, rule.resource(), err)
	}
	return answer.Status.Allowed, nil
}

// RulesOf returns the rights that Flyball needs for an adapter of a served kind: to watch the kind, to read an object
// for the name of its other writers, to write the object, and to write its /scale if the adapter uses it.
func RulesOf(a *adapter.Adapter, served Served) []Rule {
	group, resource := served.GVR.Group, served.GVR.Resource
	rules := []Rule{{Group: group, Resource: resource, Verbs: []string{"get", "list", "watch", "patch"}}}
	if a.UsesScale() {
		rules = append(rules, Rule{Group: group, Resource: resource, Subresource: "scale", Verbs: []string{"patch"}})
	}
	return rules
}
