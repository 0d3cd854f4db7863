package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// unapplied returns the names of the printed policies that a world does not have yet.
func unapplied(out *Output, lists world.Lists) []string {
	var names []string
	for _, id := range printedPolicies(out) {
		if !slices.ContainsFunc(lists.Policies, func(q policy.Object) bool { return source.IDOf(q) == id }) {
			names = append(names, id.String())
		}
	}
	return names
}

// printedPolicies returns the identities of the printed policies.
func printedPolicies(out *Output) []workload.Policy {
	var ids []workload.Policy
	for _, e := range out.Emitted {
		if p, ok := e.Object.(policy.Object); ok {
			ids = append(ids, source.IDOf(p))
		}
	}
	return ids
}

// handOver sends the patches of migrate --take-over: originals kept by other tools move into Flyball's ledger. It calls the
// function doing before each patch. It collects missing rights into one error, and records any other failure for its object.
func handOver(ctx context.Context, cluster source.Cluster, lists world.Lists, items []*Handover, doing func(target string)) error {
	var missing source.MissingRights
	for _, h := range items {
		if h.Patch == nil {
			continue
		}
		if why := notReadyYet(lists, h.Policy); why != "" {
			h.Left = why
			continue
		}
		doing(h.Target)
		mapping, err := cluster.Mapper.RESTMapping(h.Ref.GroupKind, versionsOf(lists, h.Ref.GroupKind)...)
		if err != nil {
			return fmt.Errorf("find how %s is served: %w", h.Ref.Kind, err)
		}
		_, err = cluster.Client.Resource(mapping.Resource).Namespace(h.Ref.Namespace).
			Patch(ctx, h.Ref.Name, types.MergePatchType, h.Patch, metav1.PatchOptions{FieldManager: workload.FieldManager})
		switch {
		case err == nil:
			h.Done = true
		case apierrors.IsConflict(err):
			h.Error = "it has been changed since it was read; run the command again"
		case apierrors.IsForbidden(err) && apierrors.ReasonForError(err) == metav1.StatusReasonForbidden &&
			strings.Contains(err.Error(), "cannot patch resource"):
			right := source.Right{Verb: "patch", Resource: mapping.Resource.GroupResource(), Namespace: h.Ref.Namespace}
			h.Error = "this right is needed: " + right.String()
			missing.Add(right)
		default:
			h.Error = err.Error()
		}
	}
	if len(missing) > 0 && !slices.ContainsFunc(items, func(h *Handover) bool { return h.Done }) {
		return missing
	}
	return nil
}

// versionsOf returns the usable versions of a kind: the version in the adapter's status, or all versions of the
// adapter's spec if the status has none.
func versionsOf(lists world.Lists, gk schema.GroupKind) []string {
	for _, a := range lists.Adapters {
		if a.Spec.Target.GroupKind() != gk {
			continue
		}
		if a.Status.Version != "" {
			return []string{a.Status.Version}
		}
		return a.Spec.Target.Versions
	}
	return nil
}

// notReadyYet returns the reason why a policy may not take over an object yet, or "".
func notReadyYet(lists world.Lists, id workload.Policy) string {
	if id == (workload.Policy{}) {
		return ""
	}
	for _, p := range lists.Policies {
		row, ok := kinds.Find(id.Kind)
		if source.IDOf(p) != id || !ok || !row.ActsOnTargets() {
			continue // a policy without targets claims nothing
		}
		if c := apimeta.FindStatusCondition(row.Status(p).Conditions, v1alpha1.ConditionReady); c == nil || c.Status != metav1.ConditionTrue {
			return fmt.Sprintf("%s is not Ready yet: wait until it is, or see kubectl flyball status", id)
		}
	}
	return ""
}

// nameUnapplied names, for each object left over, the printed policy that takes the object over once it is applied.
func nameUnapplied(out *Output, lists world.Lists, sleepers []Sleeper, items []*Handover, now time.Time) error {
	if len(unapplied(out, lists)) == 0 {
		return nil
	}
	then, err := TakeOver(out.Over(lists), sleepers, now)
	if err != nil {
		return err
	}
	for i, h := range items { // the slices have the objects in the same order
		if h.Left != "" && then[i].Left == "" && then[i].By != "" {
			h.Left, h.Wake = "apply "+then[i].By+" first, which is printed without --take-over", ""
		}
	}
	return nil
}
