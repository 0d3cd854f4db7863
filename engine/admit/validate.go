package admit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/tidwall/gjson"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/registration"
)

// Request is what is asked of one of Flyball's own kinds.
type Request struct {
	// Operation is CREATE, UPDATE or DELETE.
	Operation admissionv1.Operation
	Kind      schema.GroupVersionKind
	// Name is empty for an object that is created with generateName.
	Namespace, Name string
	// Old is nil for CREATE, New for DELETE. They are of the Go type of the kind, for example *v1alpha1.Adapter.
	Old, New runtime.Object
	// Subresource is status where that is written; empty: the object itself.
	Subresource string
	// SpecChanged is false for an update that leaves the spec as it is.
	SpecChanged bool
	// User asks.
	User authenticationv1.UserInfo
	// DryRun says that nothing is stored: the answer is the same, and nothing is counted or recorded.
	DryRun bool
}

// Validator judges the objects of one kind.
type Validator interface {
	// Validate returns what to tell the user who is let through, and the faults of the object, each with its field. An
	// error is for what is not a fault of a field: one with an API status (apierrors.NewForbidden) is the answer, any
	// other is an internal error. Both refuse the request.
	Validate(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error)
}

// ValidatorFunc is a function as a Validator.
type ValidatorFunc func(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error)

// Validate calls the function.
func (f ValidatorFunc) Validate(ctx context.Context, req Request) ([]string, field.ErrorList, error) {
	return f(ctx, req)
}

// Kind is one of Flyball's own kinds, of the version v1alpha1.
type Kind struct {
	// Kind and Resource are Adapter and adapters.
	Kind, Resource string
	Validator      Validator
	// Operations that the validator sees; empty: CREATE and UPDATE.
	Operations []admissionregistrationv1.OperationType
	// Creator says that the status has who made the object; the validator sees changes of that.
	Creator bool
}

// Registered are kinds as API servers are told of them.
func Registered(kinds []Kind) []registration.Kind {
	list := make([]registration.Kind, len(kinds))
	for i, k := range kinds {
		list[i] = registration.Kind{Resource: k.Resource, Operations: k.Operations, Creator: k.Creator}
	}
	return list
}

// ownKinds answers for Flyball's own kinds.
type ownKinds struct {
	scheme     *runtime.Scheme
	decoder    admission.Decoder
	validators map[schema.GroupVersionKind]Validator
}

// NewOwnKinds is the handler of reviews of Flyball's own kinds, which the given validators judge.
func NewOwnKinds(scheme *runtime.Scheme, kinds []Kind) admission.Handler {
	h := &ownKinds{scheme: scheme, decoder: admission.NewDecoder(scheme), validators: map[schema.GroupVersionKind]Validator{}}
	for _, k := range kinds {
		h.validators[v1alpha1.GroupVersion.WithKind(k.Kind)] = k.Validator
	}
	return h
}

// Handle implements admission.Handler.
func (h *ownKinds) Handle(ctx context.Context, review admission.Request) admission.Response {
	kind := schema.GroupVersionKind(review.Kind)
	validator, ok := h.validators[kind]
	if !ok {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("no validator of %s is registered", kind))
	}
	req, err := h.request(review)
	if err != nil {
		return admission.Errored(http.StatusBadRequest, err)
	}
	if req.Operation == admissionv1.Update && !req.SpecChanged && isDeleting(req.New) && req.Subresource == "" {
		return admission.Allowed("")
	}
	warnings, errs, err := validator.Validate(ctx, req)
	if err != nil {
		return refusal(ctx, req, err).WithWarnings(warnings...)
	}
	if req.Operation == admissionv1.Update && !req.SpecChanged {
		errs = outsideSpec(errs)
	}
	if len(errs) > 0 {
		return invalid(req, errs).WithWarnings(warnings...)
	}
	return admission.Allowed("").WithWarnings(warnings...)
}

func (h *ownKinds) request(review admission.Request) (Request, error) {
	req := Request{
		Operation:   review.Operation,
		Kind:        schema.GroupVersionKind(review.Kind),
		Namespace:   review.Namespace,
		Name:        review.Name,
		Subresource: review.SubResource,
		User:        review.UserInfo,
		DryRun:      review.DryRun != nil && *review.DryRun,
	}
	var err error
	if req.Old, err = h.decode(req.Kind, review.OldObject); err != nil {
		return Request{}, fmt.Errorf("decode the old %s: %w", req.Kind.Kind, err)
	}
	if req.New, err = h.decode(req.Kind, review.Object); err != nil {
		return Request{}, fmt.Errorf("decode the %s: %w", req.Kind.Kind, err)
	}
	if review.Operation == admissionv1.Update && (req.Old == nil || req.New == nil) {
		return Request{}, errors.New("an update without both the old and the new object")
	}
	// The API server writes equal specs as equal texts.
	req.SpecChanged = !bytes.Equal(spec(review.OldObject.Raw), spec(review.Object.Raw))
	return req, nil
}

func spec(raw []byte) []byte { return []byte(gjson.GetBytes(raw, "spec").Raw) }

// decode makes the typed object; nil if there is none.
func (h *ownKinds) decode(kind schema.GroupVersionKind, raw runtime.RawExtension) (runtime.Object, error) {
	if len(raw.Raw) == 0 {
		return nil, nil
	}
	object, err := h.scheme.New(kind)
	if err != nil {
		return nil, err
	}
	return object, h.decoder.DecodeRaw(raw, object)
}

func isDeleting(object runtime.Object) bool {
	meta, ok := object.(metav1.Object)
	return ok && meta.GetDeletionTimestamp() != nil
}

// outsideSpec leaves out what is wrong with a spec that the request does not change: who adds a label or a finalizer to an
// object that an earlier release accepted is not to repair it first.
func outsideSpec(errs field.ErrorList) field.ErrorList {
	var rest field.ErrorList
	for _, e := range errs {
		if e.Field != "spec" && !strings.HasPrefix(e.Field, "spec.") && !strings.HasPrefix(e.Field, "spec[") {
			rest = append(rest, e)
		}
	}
	return rest
}

// invalid answers as the API server does for its own kinds: reason Invalid, and one cause per field.
func invalid(req Request, errs field.ErrorList) admission.Response {
	return status(apierrors.NewInvalid(req.Kind.GroupKind(), req.Name, errs).ErrStatus)
}

// refusal answers with the error's own API status, or as an internal error.
func refusal(ctx context.Context, req Request, err error) admission.Response {
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		return status(known.Status())
	}
	log.FromContext(ctx).Error(err, "cannot judge", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
	return admission.Errored(http.StatusInternalServerError, err)
}

func status(s metav1.Status) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &s}}
}
