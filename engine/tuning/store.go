package tuning

import (
	"context"
	"encoding/base64"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// Store keeps the learnt state of targets in checkpoints, and reports in Recommendations, both beside the target. Both
// are deleted with the target.
type Store struct {
	// Client reads past any cache, because a checkpoint is read once.
	Client client.Client
	// Kinds returns the served kind of an object.
	Kinds func(workload.Ref) *decide.Kind
}

func tunedTarget(ref workload.Ref) v1alpha1.TunedTarget {
	return v1alpha1.TunedTarget{Group: ref.Group, Kind: ref.Kind, Name: ref.Name}
}

// meta returns the metadata of an object that belongs to a target.
func (s *Store) meta(ref workload.Ref, uid string) (metav1.ObjectMeta, error) {
	k := s.Kinds(ref)
	if k == nil {
		return metav1.ObjectMeta{}, fmt.Errorf("%s is not in use any more", ref.GroupKind)
	}
	return metav1.ObjectMeta{Namespace: ref.Namespace, Name: workload.CompanionName(ref), OwnerReferences: []metav1.OwnerReference{{
		APIVersion: k.Resource.GroupVersion().String(), Kind: ref.Kind, Name: ref.Name, UID: types.UID(uid), Controller: ptr.To(false),
	}}}, nil
}

// Kept is the content of a checkpoint. Data is the learnt state of a learner. Recalled is the time when the recorded
// history was taken over; zero: never.
type Kept struct {
	Data     []byte
	Recalled time.Time
}

// Kept returns the checkpoint of a target for a policy. It returns nothing if the checkpoint is missing, or belongs to
// a different object of that name. A refused read is an error, but unreadable data is an empty checkpoint.
func (s *Store) Kept(ctx context.Context, ref workload.Ref, uid string, id workload.Policy) (Kept, error) {
	c := &v1alpha1.UsageCheckpoint{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: workload.CompanionName(ref)}, c)
	if apierrors.IsNotFound(err) {
		return Kept{}, nil
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read the learnt state of %s: %w", ref, err)
	}
	if c.Spec.TargetUID != uid || c.Spec.Policy != id.String() {
		return Kept{}, nil
	}
	data, err := base64.StdEncoding.DecodeString(c.Spec.Data)
	if err != nil {
		return Kept{}, nil //nolint:nilerr // somebody has edited it: it begins anew
	}
	kept := Kept{Data: data}
	if c.Spec.RecalledTime != nil {
		kept.Recalled = c.Spec.RecalledTime.Time
	}
	return kept, nil
}

// Keep writes the checkpoint of a target. An error is that of the API server.
func (s *Store) Keep(ctx context.Context, ref workload.Ref, uid string, id workload.Policy, kept Kept) error {
	meta, err := s.meta(ref, uid)
	if err != nil {
		return err
	}
	spec := v1alpha1.UsageCheckpointSpec{Target: tunedTarget(ref), Policy: id.String(), TargetUID: uid,
		Data: base64.StdEncoding.EncodeToString(kept.Data)}
	if !kept.Recalled.IsZero() {
		spec.RecalledTime = &metav1.Time{Time: kept.Recalled.Truncate(time.Second)}
	}
	return s.apply(ctx, &v1alpha1.UsageCheckpoint{ObjectMeta: meta, Spec: spec}, "UsageCheckpoint", false)
}

// Tell writes the Recommendation of a target. It creates the object first if it may be missing. A refused write is an
// error, and so is a kind that is no longer in use.
func (s *Store) Tell(ctx context.Context, ref workload.Ref, uid string, id workload.Policy, st v1alpha1.RecommendationStatus,
	made bool) error {
	meta, err := s.meta(ref, uid)
	if err != nil {
		return err
	}
	obj := &v1alpha1.Recommendation{ObjectMeta: meta, Spec: v1alpha1.RecommendationSpec{Target: tunedTarget(ref), Policy: id.String()}}
	if !made {
		if err := s.apply(ctx, obj, "Recommendation", false); err != nil {
			return err
		}
	}
	obj.Status, obj.OwnerReferences = st, nil
	return s.apply(ctx, obj, "Recommendation", true)
}

// toldOf is a target with a Recommendation, together with the policy that the Recommendation names.
type toldOf struct {
	workload.Ref
	policy string
}

// Told returns the targets with a Recommendation. An error is that of the API server.
func (s *Store) Told(ctx context.Context) ([]toldOf, error) {
	var all []toldOf
	page := &v1alpha1.RecommendationList{}
	for {
		if err := s.Client.List(ctx, page, client.Limit(pageSize), client.Continue(page.Continue)); err != nil {
			return nil, fmt.Errorf("list recommendations: %w", err)
		}
		for i := range page.Items {
			of := &page.Items[i].Spec
			ref := workload.Ref{GroupKind: of.Target.GroupKind(), Namespace: page.Items[i].Namespace, Name: of.Target.Name}
			all = append(all, toldOf{ref, of.Policy})
		}
		if page.Continue == "" {
			return all, nil
		}
	}
}

// Read returns the Recommendation of a target, or nil. A refused read is an error.
func (s *Store) Read(ctx context.Context, ref workload.Ref) (*v1alpha1.Recommendation, error) {
	r := &v1alpha1.Recommendation{}
	err := s.Client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: workload.CompanionName(ref)}, r)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the recommendation for %s: %w", ref, err)
	}
	return r, nil
}

// pageSize is the number of objects in a page of a list.
const pageSize = 200

// Remove deletes the objects of a target. The Recommendation goes last, because the rest is found through it. A missing
// object is no error. A refused delete is an error.
func (s *Store) Remove(ctx context.Context, ref workload.Ref) error {
	meta := metav1.ObjectMeta{Namespace: ref.Namespace, Name: workload.CompanionName(ref)}
	for _, obj := range []client.Object{&v1alpha1.UsageCheckpoint{ObjectMeta: meta}, &v1alpha1.Recommendation{ObjectMeta: meta}} {
		if err := s.Client.Delete(ctx, obj); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove the checkpoint of %s: %w", ref, err)
		}
	}
	return nil
}

// Untell deletes the Recommendation of a target, and keeps its checkpoint. An error is that of the API server.
func (s *Store) Untell(ctx context.Context, ref workload.Ref) error {
	told := &v1alpha1.Recommendation{ObjectMeta: metav1.ObjectMeta{Namespace: ref.Namespace, Name: workload.CompanionName(ref)}}
	if err := s.Client.Delete(ctx, told); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete the recommendation of %s: %w", ref, err)
	}
	return nil
}

// apply creates or updates an object, or only its status.
func (s *Store) apply(ctx context.Context, obj client.Object, kind string, status bool) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return fmt.Errorf("write %s %s: %w", kind, obj.GetName(), err)
	}
	u := &unstructured.Unstructured{Object: fields}
	u.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
	unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
	if status {
		unstructured.RemoveNestedField(u.Object, "spec")
		err = s.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(workload.FieldManager),
			client.ForceOwnership)
	} else {
		unstructured.RemoveNestedField(u.Object, "status")
		err = s.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(u), client.FieldOwner(workload.FieldManager), client.ForceOwnership)
	}
	if err != nil {
		return fmt.Errorf("write %s %s/%s: %w", kind, obj.GetNamespace(), obj.GetName(), err)
	}
	return nil
}
