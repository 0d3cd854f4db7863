package inspect

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
)

// Authorize checks for each verb of each rule whether Flyball holds the right in all namespaces. It returns the rules
// that would add the missing rights, or none if no right is missing. A rule has one group and one resource. The check
// itself needs no right, because all users may ask about their own rights. An error is that of the API server.
func (c *Inspector) Authorize(ctx context.Context, rules []rbacv1.PolicyRule) (missing []rbacv1.PolicyRule, err error) {
	allowed := make([][]bool, len(rules))
	asks, asking := errgroup.WithContext(ctx)
	for i, rule := range rules {
		allowed[i] = make([]bool, len(rule.Verbs))
		for j, verb := range rule.Verbs {
			asks.Go(func() (err error) {
				allowed[i][j], err = c.allowed(asking, rule.APIGroups[0], rule.Resources[0], verb)
				return err
			})
		}
	}
	if err := asks.Wait(); err != nil {
		return nil, err
	}
	for i, rule := range rules {
		needed := rule.Verbs
		rule.Verbs = nil
		for j, verb := range needed {
			if !allowed[i][j] {
				rule.Verbs = append(rule.Verbs, verb)
			}
		}
		if len(rule.Verbs) > 0 {
			missing = append(missing, rule)
		}
	}
	return missing, nil
}

func (c *Inspector) allowed(ctx context.Context, group, resource, verb string) (bool, error) {
	attributes := &authorizationv1.ResourceAttributes{Group: group, Verb: verb}
	attributes.Resource, attributes.Subresource, _ = strings.Cut(resource, "/")
	answer, err := c.reviews.Create(ctx, &authorizationv1.SelfSubjectAccessReview{
		Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: attributes}}, metav1.CreateOptions{})
	if err != nil {
		return false, fmt.Errorf("ask whether Flyball may %s %s: %w", verb, resource, err)
	}
	return answer.Status.Allowed, nil
}

// RulesOf returns the rights that Flyball needs for an adapter of a resource: to watch the kind, to read an object for
// the name of its other writers, to write the object, and to write its /scale if the adapter uses it.
func RulesOf(a *adapter.Adapter, resource schema.GroupResource) []rbacv1.PolicyRule {
	rules := []rbacv1.PolicyRule{RuleOf(resource, "get", "list", "watch", "patch")}
	if a.UsesScale() {
		resource.Resource += "/scale"
		rules = append(rules, RuleOf(resource, "patch"))
	}
	return rules
}

// RuleOf returns a rule with one resource.
func RuleOf(resource schema.GroupResource, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{resource.Group}, Resources: []string{resource.Resource}, Verbs: verbs}
}

// RulesYAML returns rules as the YAML list below `rules:` of a ClusterRole. Without rules it returns "".
func RulesYAML(rules []rbacv1.PolicyRule) string {
	var b strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&b, "- apiGroups: %s\n  resources: %s\n  verbs: %s\n", flow(r.APIGroups), flow(r.Resources), flow(r.Verbs))
	}
	return b.String()
}

// RulesLine returns rules as one line of YAML after `rules:` of a ClusterRole, for conditions and terminals.
func RulesLine(rules []rbacv1.PolicyRule) string {
	texts := make([]string, len(rules))
	for i, r := range rules {
		texts[i] = fmt.Sprintf("{apiGroups: %s, resources: %s, verbs: %s}", flow(r.APIGroups), flow(r.Resources), flow(r.Verbs))
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// flow returns a YAML flow sequence of quoted names.
func flow(names []string) string { return `["` + strings.Join(names, `", "`) + `"]` }
