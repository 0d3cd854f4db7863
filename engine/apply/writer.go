// Package apply sends patches to the API server, one write a change, and says in a word what became of each: through,
// stale, gone, refused or failed. It also keeps the batches of rate limits. It reads nothing and decides nothing.
//
// Decisions (docs/decisions): 0042.
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

// FieldManager is the name under which Flyball's writes appear in managedFields.
const FieldManager = workload.FieldManager

// Outcome is what became of a write.
type Outcome string

// Outcomes; they are metric labels too.
const (
	// Applied: every part of the patch is through.
	Applied Outcome = "applied"
	// Unchanged: the API server took the patch, and the object is as it was, or has not got the annotation that the patch gives it: an admission
	// webhook undoes the change.
	Unchanged Outcome = "unchanged"
	// Stale: the object changed since it was read. The watch brings the new one; decide again.
	Stale Outcome = "stale"
	// Gone: the object does not exist any more.
	Gone Outcome = "gone"
	// Refused: the API server or an admission policy says no to this change. Trying again helps only once they change.
	Refused Outcome = "refused"
	// Failed: the write did not get an answer, or a passing error. Try again.
	Failed Outcome = "failed"
)

// Outcomes returns all of them.
func Outcomes() []Outcome { return []Outcome{Applied, Unchanged, Stale, Gone, Refused, Failed} }

// IsFailure says whether a write was refused or failed.
func (o Outcome) IsFailure() bool { return o == Refused || o == Failed }

var (
	// ErrBehind says that a pod has changed since it was read.
	ErrBehind = errors.New("a pod has changed since it was read")
	// ErrUndone says that the API server took the write and the pod is as it was.
	ErrUndone = errors.New("an admission webhook or policy undoes the change")
)

// PodError says why a pod has not got what was written: ErrBehind, ErrUndone, or the error that came with the outcome. It is nil where the
// pod has it, or is gone.
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

// Writer patches objects of any kind. It asks for metadata only in the answer, so that a write costs little to read.
type Writer struct {
	// Log takes what goes wrong beside a write that is through.
	Log    logr.Logger
	client metadata.Interface
}

// NewWriter makes a Writer that uses the configuration as it is: rate limits of the client are the caller's choice.
func NewWriter(config *rest.Config) (*Writer, error) {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make the client for writes: %w", err)
	}
	return &Writer{client: client}, nil
}

// Apply sends the patch and those that follow it. It stops at the first that is not through or is undone; the ledger is always in the
// first, so nothing is lost by that. The error is nil exactly when the outcome is Applied or Unchanged.
func (w *Writer) Apply(ctx context.Context, resource schema.GroupVersionResource, obj *workload.Object, patch *workload.Patch) (Outcome, error) {
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
			return Unchanged, nil // the version tells nothing: what is left in managedFields may have changed it
		}
		version = got.GetResourceVersion()
		if p.Keeps != nil && p.Next == nil {
			if err := w.giveUp(ctx, resource, got); err != nil {
				w.Log.Error(err, "Failed to give up the ownership of what was given back", "kind", resource.GroupResource().String(), "object", name(obj))
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

// failedTest recognises the answer to a JSON Patch whose test operation did not hold: 422 without the causes that name
// fields, as a validation error has them.
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
