package adapter

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/inspect"
)

// Check is the result of checking an adapter.
type Check struct {
	Adapter      string                `json:"adapter"`
	Capabilities []v1alpha1.Capability `json:"capabilities"`
	Paths        []string              `json:"paths"`
	// Served is the version in which the API server serves the kind, or the reason why it does not serve the kind. It
	// is absent offline.
	Served   string   `json:"served,omitempty"`
	Problems []string `json:"problems,omitempty"`
	// Unknown are the paths that the kind's schema leaves open, so that they cannot be checked.
	Unknown []string `json:"unknown,omitempty"`
	Offline bool     `json:"offline,omitempty"`
}

// Names implements printer.Finding.
func (c *Check) Names() []string { return []string{"adapter.flyball.dev/" + c.Adapter} }

// Text implements printer.Finding.
func (c *Check) Text(w *printer.Writer) {
	w.Line("%s compiles; it can %v", c.Adapter, c.Capabilities)
	for _, p := range c.Paths {
		if w.Wide {
			w.Line("  %s", p)
		}
	}
	if c.Offline {
		w.Line("checked offline: that the kind is served, and its paths, types and rights, were not looked at")
		return
	}
	w.Line("%s", c.Served)
	for _, p := range c.Problems {
		w.Line("%s", w.Styled("problem: "+p, printer.Bad))
	}
	for _, p := range c.Unknown {
		w.Line("the schema leaves %s open, so it cannot be checked", p)
	}
	if len(c.Problems) == 0 {
		w.Line("%s", w.Styled("every path is in the schema with its type", printer.Good))
	}
}

// CheckOf returns the result of the checks that need no cluster.
func CheckOf(compiled *adapter.Adapter, offline bool) *Check {
	c := &Check{Adapter: compiled.Name(), Capabilities: compiled.Capabilities(), Offline: offline}
	for _, use := range compiled.Uses() {
		c.Paths = append(c.Paths, use.Field+": "+use.Path.String())
	}
	return c
}

// Live adds the checks that need a cluster. The manager makes the same checks.
func (c *Check) Live(ctx context.Context, config *rest.Config, compiled *adapter.Adapter) error {
	inspector, err := inspect.New(config)
	if err != nil {
		return err
	}
	gk := compiled.GroupKind()
	served, err := inspector.Serve(ctx, gk.Group, gk.Kind, compiled.Versions())
	if err != nil {
		return err
	}
	c.Served = served.Message
	if !served.Found {
		c.Problems = append(c.Problems, served.Message)
		return nil
	}
	if want := served.GVR.GroupResource().String(); c.Adapter != want {
		c.Problems = append(c.Problems, fmt.Sprintf("metadata.name is %s and has to be %s", c.Adapter, want))
	}
	if compiled.UsesScale() && !served.HasScale {
		c.Problems = append(c.Problems, "via: Scale is used, and the kind has no scale subresource")
	}
	served, loses, err := inspector.Lossless(ctx, served, compiled)
	if err != nil {
		return err
	}
	c.Served = served.Message
	if loses != "" {
		c.Problems = append(c.Problems, loses)
	}
	matched, err := inspector.MatchSchema(ctx, served.GVK, compiled.Uses())
	if err != nil {
		return err
	}
	for _, m := range matched.Missing {
		c.Problems = append(c.Problems, m.String())
	}
	c.Unknown = matched.Unknown
	missing, err := inspector.Authorize(ctx, []rbacv1.PolicyRule{inspect.RuleOf(served.GVR.GroupResource(), "patch")})
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		c.Problems = append(c.Problems, fmt.Sprintf("you may not patch %s in all namespaces, which writing this adapter takes",
			served.GVR.GroupResource()))
	}
	return nil
}

// Rights are the RBAC rules that the manager needs for an adapter.
type Rights struct {
	Name  string              `json:"name"`
	Rules []rbacv1.PolicyRule `json:"rules"`
}

// Names implements printer.Finding.
func (r Rights) Names() []string { return []string{"clusterrole.rbac.authorization.k8s.io/" + r.Name} }

// Text implements printer.Finding.
func (r Rights) Text(w *printer.Writer) {
	w.Block(fmt.Sprintf("apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  name: %s\n  labels: "+
		"{flyball.dev/aggregate-to-manager: \"true\"}\nrules:", r.Name))
	w.Block(inspect.RulesYAML(r.Rules))
}

// RightsOf returns the RBAC rules that the manager needs for an adapter.
func RightsOf(compiled *adapter.Adapter) Rights {
	return Rights{Name: "flyball-adapter-" + compiled.Name(), Rules: inspect.RulesOf(compiled, schema.ParseGroupResource(compiled.Name()))}
}
