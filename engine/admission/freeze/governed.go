package freeze

import (
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// addGoverned adds to a verdict the effect of an autoscaler's change on its target: creation, edit and deletion of an
// autoscaler count as a scale of its target, if the target exists. The first target that must not be scaled decides.
func (j *Judge) addGoverned(ctx context.Context, r *review.Review, set *freeze.Set, verdict *freeze.Verdict, req freeze.UserChange) error {
	found := j.Freezes.Adapter(r.Resource.GroupResource())
	if found == nil || !found.CanGovern() || r.Subresource != "" && !slices.Contains(found.Subresources(), r.Subresource) {
		return nil
	}
	before, after := []byte(r.OldObject.Raw), []byte(r.Object.Raw)
	if r.Operation == admissionv1.Delete {
		after = nil
	}
	targets, err := found.Rescaled(before, after)
	if err != nil {
		return err
	}
	return j.addScaling(ctx, targets, set, verdict, req)
}

// addScaling adds to a verdict that some targets are scaled.
func (j *Judge) addScaling(ctx context.Context, targets []workload.Ref, set *freeze.Set, verdict *freeze.Verdict,
	req freeze.UserChange) error {
	for _, target := range targets {
		target, adapted := j.referent(target)
		if !adapted || !set.InUse(target.GroupKind, false, req.Now).All().Has(workload.ChangeScale) {
			continue
		}
		facts, err := j.factsOf(ctx, target)
		if err != nil {
			return err
		}
		if facts == nil {
			continue // nothing is scaled
		}
		scaled := set.Decide(req.OfGoverned(target, facts))
		if !scaled.Allowed {
			*verdict = scaled
			return nil
		}
		verdict.Denials = append(verdict.Denials, scaled.Denials...)
		verdict.Lifts = append(verdict.Lifts, scaled.Lifts...)
		verdict.Warnings = append(verdict.Warnings, scaled.Warnings...)
	}
	return nil
}

// referent returns the object of an adapted kind for a reference. It returns false if the kind has no adapter.
func (j *Judge) referent(ref workload.Ref) (workload.Ref, bool) {
	resource, adapted := j.Freezes.Resource(ref.GroupKind)
	if !adapted {
		return ref, false
	}
	if found := j.Freezes.Adapter(resource.GroupResource()); found != nil {
		ref.GroupKind = found.GroupKind()
	}
	return ref, true
}

// factsOf reads the facts for selection of an object that is not part of the review. It returns nil if the object does
// not exist.
func (j *Judge) factsOf(ctx context.Context, ref workload.Ref) (*freeze.Facts, error) {
	resource, adapted := j.Freezes.Resource(ref.GroupKind)
	if !adapted {
		return nil, nil
	}
	object, err := j.Objects.Metadata(ctx, resource, ref.Namespace, ref.Name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the labels of %s: %w", ref, err)
	}
	return &freeze.Facts{Labels: workload.NewPairs(object.Labels), Annotations: workload.NewPairs(object.Annotations)}, nil
}
