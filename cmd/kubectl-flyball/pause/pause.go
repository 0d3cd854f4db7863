// Package pause sets and clears spec.suspend of policies.
package pause

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/deletioncost"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/policy/tortoise"
	"flyball.dev/flyball/engine/policy/trigger"
	"flyball.dev/flyball/engine/workload"
)

// right returns the right to change a policy, which depends on the policy's kind.
func right(p named) source.Right {
	resource := v1alpha1.GroupVersion.WithResource(p.kind.Resource).GroupResource()
	return source.Right{Verb: "patch", Resource: resource, Namespace: p.id.Namespace}
}

// Rights returns the rights that the edit needs.
func (c *Change) Rights() (all []source.Right) {
	for _, p := range c.policies {
		all = append(all, right(p))
	}
	return all
}

// Change is an edit of spec.suspend.
type Change struct {
	// Paused is the new value of spec.suspend.
	Paused   bool     `json:"paused"`
	Policies []string `json:"policies"`
	// Unchanged are the policies that have the value already.
	Unchanged []string `json:"unchanged,omitempty"`
	// DryRun is true if nothing was written.
	DryRun bool `json:"dryRun,omitempty"`

	policies []named
}

type named struct {
	kind policy.Row
	id   workload.Policy
}

// Add parses KIND/NAME and adds the policy to the edit. The policy is in the namespace or cluster-scoped.
func (c *Change) Add(text, namespace string) error {
	id, kind, ok := source.PolicyNamed(text, namespace)
	if !ok {
		return fmt.Errorf("%q is no policy: give KIND/NAME, such as schedule/nights", text)
	}
	if !hasSuspend(kind) {
		return fmt.Errorf("%s has no spec.suspend: only schedules and deletion costs are paused%s", kind.Name, instead(kind))
	}
	c.policies = append(c.policies, named{kind, id})
	c.Policies = append(c.Policies, id.String())
	return nil
}

// hasSuspend reports whether policies of a kind have the field spec.suspend.
func hasSuspend(kind policy.Row) bool {
	return among(schedule.Kinds(), kind) || among(deletioncost.Kinds(), kind)
}

func among(kinds []policy.Row, kind policy.Row) bool {
	return slices.ContainsFunc(kinds, func(k policy.Row) bool { return k.Name == kind.Name })
}

// instead returns a hint about how to stop policies of a kind without spec.suspend.
func instead(kind policy.Row) string {
	switch {
	case kind.Restricts:
		return "; kubectl flyball except makes an exception from a freeze"
	case among(trigger.Kinds(), kind):
		return "; each element of its spec.triggers has a field suspend"
	case among(tortoise.Kinds(), kind):
		return "; spec.mode: Off stops a Tortoise"
	}
	return ""
}

// Compare sets Unchanged from the policies of a world.
func (c *Change) Compare(w *source.World) {
	for _, p := range c.policies {
		for _, obj := range w.Policies {
			if source.IDOf(obj) != p.id {
				continue
			}
			if raw, err := json.Marshal(obj); err == nil {
				c.compare(p, rawjson.GetBytes(raw, "spec.suspend").Bool())
			}
		}
	}
}

func (c *Change) compare(p named, suspended bool) {
	if id := p.id.String(); suspended == c.Paused && !slices.Contains(c.Unchanged, id) {
		c.Unchanged = append(c.Unchanged, id)
	}
}

// Write writes the new value of spec.suspend to the policies in a cluster.
func (c *Change) Write(ctx context.Context, client dynamic.Interface, manager string) error {
	body := []byte(`{"spec":{"suspend":null}}`)
	if c.Paused {
		body = []byte(`{"spec":{"suspend":true}}`)
	}
	o := metav1.PatchOptions{FieldManager: manager}
	if c.DryRun {
		o.DryRun = []string{metav1.DryRunAll}
	}
	for _, p := range c.policies {
		var policies dynamic.ResourceInterface = client.Resource(v1alpha1.GroupVersion.WithResource(p.kind.Resource))
		if p.id.Namespace != "" {
			policies = client.Resource(v1alpha1.GroupVersion.WithResource(p.kind.Resource)).Namespace(p.id.Namespace)
		}
		if before, err := policies.Get(ctx, p.id.Name, metav1.GetOptions{}); err == nil { // without the right to read it is not compared
			suspended, _, _ := unstructured.NestedBool(before.Object, "spec", "suspend")
			c.compare(p, suspended)
		}
		_, err := policies.Patch(ctx, p.id.Name, types.MergePatchType, body, o)
		switch {
		case apierrors.IsNotFound(err):
			return fmt.Errorf("there is no %s", p.id)
		case apierrors.IsForbidden(err):
			return fmt.Errorf("%w\nthis right is needed: %s", err, right(p))
		case err != nil:
			return fmt.Errorf("change %s: %w", p.id, err)
		}
	}
	return nil
}

// Names implements printer.Finding.
func (c *Change) Names() []string { return c.Policies }

// Text implements printer.Finding.
func (c *Change) Text(w *printer.Writer) {
	note := ""
	if c.DryRun {
		note = " (dry run: nothing was written)"
	}
	for _, p := range c.policies {
		w.Line("%s: %s%s", p.id, c.effect(p), note)
	}
}

func (c *Change) effect(p named) string {
	costs := among(deletioncost.Kinds(), p.kind)
	switch unchanged := slices.Contains(c.Unchanged, p.id.String()); {
	case unchanged && c.Paused:
		return "it was paused already, so nothing changes"
	case unchanged:
		return "it was not paused, so nothing changes"
	case c.Paused && costs:
		return "paused: the costs that it has set are removed"
	case c.Paused:
		return "paused: what sleeps stays asleep, and what is awake stays awake"
	case costs:
		return "no longer paused: it sets costs again"
	}
	return "no longer paused: its window decides again"
}
