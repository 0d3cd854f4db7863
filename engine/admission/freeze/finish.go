package freeze

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// finishing returns the actions of a request if a controller uses them to continue a roll-out that is under way. The
// author must be a service account of a different namespace, because editors of a namespace can act as its accounts.
// Two changes count: an edit of only the status of an object that is not ready, and a scale of an object that was
// created by an owner that is not ready. Neither changes a template, so no roll-out begins. A status edit that sets a
// request does not count, because servers write requests for people under their own accounts, and controllers only
// withdraw requests.
func (j *Judge) finishing(ctx context.Context, r *review.Review, set *freeze.Set, found *adapter.Adapter,
	req freeze.UserChange) (workload.Change, error) {
	const rollOut, scale = workload.ChangeRollOut, workload.ChangeScale
	if r.Operation != admissionv1.Update || req.Actions&(rollOut|scale) == 0 || !ofOtherNamespace(r.User, r.Namespace) ||
		!set.LetsFinish(req) {
		return 0, nil
	}
	switch {
	case r.Subresource == "status" && onlyStatus(r):
		before := []byte(r.OldObject.Raw)
		if ready, _ := found.Ready(before); !ready && !found.AsksFor(before, []byte(r.Object.Raw)) {
			return rollOut | scale, nil
		}
	case r.Subresource == "" && req.Actions.Has(scale) && onlyCount(r):
		busy, err := j.ownerIsBusy(ctx, r, req.Kind)
		if busy {
			return scale, nil
		}
		return 0, err
	}
	return 0, nil
}

// onlyStatus reports whether a review changes neither the spec nor the metadata. Some kinds accept changes of metadata in
// a write of the status.
func onlyStatus(r *review.Review) bool {
	for _, path := range []string{"spec", "metadata.labels", "metadata.annotations", "metadata.ownerReferences", "metadata.finalizers"} {
		if r.OldObject.Get(path).Raw != r.Object.Get(path).Raw {
			return false
		}
	}
	return true
}

// written are the annotations that the controller of Rollouts writes together with the count of a ReplicaSet.
var written = []string{"scale-down-deadline", "rollout.argoproj.io/desired-replicas"}

// onlyCount reports whether a review changes only the count of an object, and the annotations that go with it.
func onlyCount(r *review.Review) bool {
	var sides [2]map[string]any
	for i, raw := range []string{r.OldObject.Raw, r.Object.Raw} {
		var u unstructured.Unstructured
		if err := json.Unmarshal([]byte(raw), &u.Object); err != nil {
			return false
		}
		for _, path := range [][]string{{"status"}, {"spec", "replicas"}, {"metadata", "generation"}, {"metadata", "resourceVersion"},
			{"metadata", "managedFields"}} {
			unstructured.RemoveNestedField(u.Object, path...)
		}
		annotations := u.GetAnnotations()
		for _, key := range written {
			delete(annotations, key)
		}
		if len(annotations) == 0 {
			annotations = nil
		}
		u.SetAnnotations(annotations)
		sides[i] = u.Object
	}
	return equality.Semantic.DeepEqual(sides[0], sides[1])
}

// ownerIsBusy reports whether an object was created for its controlling owner and the owner is not ready.
func (j *Judge) ownerIsBusy(ctx context.Context, r *review.Review, kind schema.GroupKind) (bool, error) {
	ref := controllerIn(r)
	if ref == nil {
		return false, nil
	}
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return false, nil //nolint:nilerr // an invented owner carries on nothing
	}
	owner := workload.Ref{GroupKind: gv.WithKind(ref.Kind).GroupKind(), Namespace: r.Namespace, Name: ref.Name}
	resource, adapted := j.Freezes.Resource(owner.GroupKind)
	if !adapted || !freeze.Finishes(owner.GroupKind, kind) {
		return false, nil
	}
	raw, err := j.Objects.Whole(ctx, resource, owner.Namespace, owner.Name)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read the owner %s: %w", owner, err)
	}
	by := j.Freezes.Adapter(resource.GroupResource())
	if by == nil || string(ref.UID) != rawjson.GetBytes(raw, "metadata.uid").String() {
		return false, nil
	}
	ready, _ := by.Ready(raw)
	return !ready, nil
}

// ofOtherNamespace reports whether a user is a service account outside the given namespace.
func ofOtherNamespace(user, namespace string) bool {
	account, ok := strings.CutPrefix(user, "system:serviceaccount:")
	home, _, _ := strings.Cut(account, ":")
	return ok && namespace != "" && home != "" && home != namespace
}
