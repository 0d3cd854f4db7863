package inspect

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
)

// grant is a verb on a resource, the atom of RBAC rules.
type grant struct{ group, resource, verb string }

// minimalRules returns rules with exactly the given grants, in an order independent of the input. Resources share a
// rule only within a group and with the same verbs: a rule is the product of its lists, so any other sharing would
// grant too much.
func minimalRules(grants []grant) []rbacv1.PolicyRule {
	type resource struct{ group, name string }
	verbs := map[resource][]string{}
	for _, g := range grants {
		r := resource{g.group, g.resource}
		if !slices.Contains(verbs[r], g.verb) {
			verbs[r] = append(verbs[r], g.verb)
		}
	}
	resources := slices.SortedFunc(maps.Keys(verbs), func(a, b resource) int {
		return strings.Compare(a.group+"\x00"+a.name, b.group+"\x00"+b.name)
	})
	var rules []rbacv1.PolicyRule
	for _, r := range resources {
		needed := verbs[r]
		slices.SortFunc(needed, compareVerbs)
		i := slices.IndexFunc(rules, func(rule rbacv1.PolicyRule) bool {
			return rule.APIGroups[0] == r.group && slices.Equal(rule.Verbs, needed)
		})
		if i >= 0 {
			rules[i].Resources = append(rules[i].Resources, r.name)
			continue
		}
		rules = append(rules, rbacv1.PolicyRule{APIGroups: []string{r.group}, Resources: []string{r.name}, Verbs: needed})
	}
	return rules
}

// compareVerbs orders verbs as usual in RBAC rules; other verbs follow alphabetically.
func compareVerbs(a, b string) int {
	known := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	rank := func(verb string) int {
		if i := slices.Index(known, verb); i >= 0 {
			return i
		}
		return len(known)
	}
	return cmp.Or(rank(a)-rank(b), strings.Compare(a, b))
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

// flow returns a YAML flow sequence of quoted strings.
func flow(items []string) string {
	quoted := make([]string, 0, len(items))
	for _, item := range items {
		text, err := json.Marshal(item)
		if err != nil {
			// A string always has a JSON form.
			panic(fmt.Sprintf("quote %q: %v", item, err))
		}
		quoted = append(quoted, string(text))
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}
