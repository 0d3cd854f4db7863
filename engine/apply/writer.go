// Package apply sends patches to the API server, one write for each change, and returns the outcome of each: applied, stale,
// gone, refused or failed. It also keeps the batches of rate limits. It reads no objects and makes no decisions.
//
// Decisions (docs/decisions): 0042, 0056.
package apply

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/engine/workload"
)

// FieldManager is Flyball's name in managedFields.
const FieldManager = workload.FieldManager

// Outcome is the outcome of a write.
type Outcome string

// Outcomes; they are metric labels too.
const (
	// Applied: every part of the patch was accepted.
	Applied Outcome = "applied"
	// Unchanged: the API server accepted the patch, but the object is as before, or lacks the annotation of the patch:
	// an admission webhook reverts the change.
	Unchanged Outcome = "unchanged"
	// Stale: the object changed since it was read. The watch brings the new object; decide again.
	Stale Outcome = "stale"
	// Gone: the object does not exist any more.
	Gone Outcome = "gone"
	// Refused: the API server or an admission policy refuses this change. Another try helps only after a change of the
	// refused rule or of the object.
	Refused Outcome = "refused"
	// Failed: the write got no answer, or a passing error. Try again.
	Failed Outcome = "failed"
)

// Outcomes returns all outcomes.
func Outcomes() []Outcome { return []Outcome{Applied, Unchanged, Stale, Gone, Refused, Failed} }

// IsFailure reports whether a write was refused or failed.
func (o Outcome) IsFailure() bool { return o == Refused || o == Failed }

var (
	// ErrBehind is the error for a pod that has changed since it was read.
	ErrBehind = errors.New("a pod has changed since it was read")
	// ErrUndone is the error for an accepted write without effect on the pod.
	ErrUndone = errors.New("an admission webhook or policy undoes the change")
)

// PodError returns the reason why a pod lacks the written values: ErrBehind, ErrUndone, or the error of the outcome. It
// returns nil if the pod has them, or is gone.
func (o Outcome) PodError(err error) error {
	switch o {
	case Applied, Gone:
		return nil
	case Stale:
		return ErrBehind
	case Unchanged:
		return ErrUndone
	}
	return err
}

// Writer patches objects of any kind. It asks only for metadata in the answer, so an answer is small.
type Writer struct {
	client metadata.Interface
	dry    *DryRun
	log    logr.Logger
}

// NewWriter returns a Writer that uses the configuration unchanged: the caller sets the client's rate limits. dry keeps the writes
// of a dry run; nil: they are sent. log receives failures that do not make the write fail.
func NewWriter(config *rest.Config, dry *DryRun, log logr.Logger) (*Writer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for writes: %w", err)
	}
	return &Writer{client: client, dry: dry, log: log}, nil
}

// Apply sends the patch and its follow-ups. It stops at the first patch that is not accepted, or whose change is
// reverted. The ledger is always in the first patch, so nothing is lost. The error is nil exactly when the outcome is
// Applied or Unchanged.
func (w *Writer) Apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (Outcome,
	error) {
	if w.dry != nil {
		return w.dry.apply(ctx, resource, obj, patch)
	}
	version := ""
	for p := patch; p != nil; p = p.Next {
		var subresources []string
		if p.Subresource != "" {
			subresources = append(subresources, p.Subresource)
		}
		got, err := w.client.Resource(resource).Namespace(obj.Namespace).
			Patch(ctx, obj.Name, p.Type, p.Body, metav1.PatchOptions{FieldManager: FieldManager}, subresources...)
		if err != nil {
			return classify(err, p.Type), fmt.Errorf("patch %s %s: %w", resource.GroupResource(), name(obj), err)
		}
		if p.Keeps != nil && got.GetAnnotations()[p.Keeps.Key] != p.Keeps.Value {
			return Unchanged, nil // the version proves nothing: remains in managedFields may have changed it
		}
		version = got.GetResourceVersion()
		if p.Keeps != nil && p.Next == nil {
			if err := w.giveUp(ctx, resource, got); err != nil {
				w.log.Error(err, "Failed to give up the ownership of restored fields", "kind", resource.GroupResource().String(), "object", name(obj))
			}
		}
	}
	if version == obj.ResourceVersion {
		return Unchanged, nil
	}
	return Applied, nil
}

func name(obj *workload.Object) string {
	if obj.Namespace == "" {
		return obj.Name
	}
	return obj.Namespace + "/" + obj.Name
}

func classify(err error, kind types.PatchType) Outcome {
	switch {
	case apierrors.IsConflict(err):
		return Stale
	case kind == types.JSONPatchType && failedTest(err):
		return Stale
	case apierrors.IsNotFound(err) && !apierrors.HasStatusCause(err, metav1.CauseType("NamespaceNotFound")):
		return Gone
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err), apierrors.IsMethodNotSupported(err):
		return Refused
	default:
		return Failed
	}
}

// failedTest reports whether an error is the API server's answer to a JSON Patch whose test operation failed. Its reason
// is Invalid, as for a validation error, so the texts tell them apart: the message names the test, or a cause of type
// UnexpectedServerResponse does.
func failedTest(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonInvalid {
		return false
	}
	if details := status.Status().Details; details != nil {
		for _, c := range details.Causes {
			if c.Type == metav1.CauseTypeUnexpectedServerResponse && strings.Contains(c.Message, "test") {
				return true
			}
		}
	}
	return strings.Contains(status.Status().Message, "testing value") || strings.Contains(status.Status().Message, "test operation")
}
