package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
)

// Request is a request for one of Flyball's own kinds.
type Request struct {
	// Operation is CREATE, UPDATE or DELETE.
	Operation admissionv1.Operation
	Kind      schema.GroupVersionKind
	// Name is empty for a creation with generateName.
	Namespace, Name string
	// Old is nil for CREATE. New is nil for DELETE. Both have the Go type of the kind, for example *v1alpha1.Adapter.
	Old, New runtime.Object
	// Subresource is status, or empty for the object itself.
	Subresource string
	// SpecChanged is false for an update that leaves the spec unchanged.
	SpecChanged bool
	// User is the requesting user.
	User authenticationv1.UserInfo
	// DryRun means that nothing is stored. The answer is the same, but nothing is counted or recorded.
	DryRun bool
}

// Validator judges the objects of a kind.
type Validator interface {
	// Validate returns warnings for an admitted request, and the faults of the object with their fields. Other faults
	// are errors: an error with an API status (apierrors.NewForbidden) becomes the answer, any other is an internal
	// error. Both refuse the request.
	Validate(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error)
}

// ValidatorFunc is a function as a Validator.
type ValidatorFunc func(ctx context.Context, req Request) (warnings []string, errs field.ErrorList, err error)

// Validate calls the function. The errors are the function's.
func (f ValidatorFunc) Validate(ctx context.Context, req Request) ([]string, field.ErrorList, error) {
	return f(ctx, req)
}

// OwnKind is one of Flyball's own kinds in version v1alpha1. Creations and updates are validated.
type OwnKind struct {
	// Kind is the name of the kind, for example Adapter. Resource is its plural name, for example adapters.
	Kind, Resource string
	Validator      Validator
	// Deletions is true if deletions are validated too.
	Deletions bool
	// Status is true for a kind with fields of the status for Flyball alone. The API server then sends writes of such fields too.
	Status bool
}

// ownKinds handles reviews of Flyball's own kinds.
type ownKinds struct {
	scheme     *runtime.Scheme
	decoder    admission.Decoder
	validators map[schema.GroupVersionKind]Validator
}

// NewOwnKinds returns the handler for reviews of Flyball's own kinds, with the given validators.
func NewOwnKinds(scheme *runtime.Scheme, kinds []OwnKind) admission.Handler {
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
	if req.Operation == admissionv1.Update && !req.SpecChanged && IsDeleting(req.New) && req.Subresource == "" {
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
	// The API server encodes equal specs as equal texts.
	req.SpecChanged = !bytes.Equal(spec(review.OldObject.Raw), spec(review.Object.Raw))
	return req, nil
}

func spec(raw []byte) []byte { return []byte(rawjson.GetBytes(raw, "spec").Raw) }

// decode returns the typed object, or nil if there is none.
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

// IsDeleting reports whether an object is being deleted.
func IsDeleting(object runtime.Object) bool {
	meta, ok := object.(metav1.Object)
	return ok && meta.GetDeletionTimestamp() != nil
}

// outsideSpec removes errors in an unchanged spec. A label or finalizer can thus be set on an object that an earlier
// release accepted, without a repair of its spec.
func outsideSpec(errs field.ErrorList) field.ErrorList {
	var rest field.ErrorList
	for _, e := range errs {
		if e.Field != "spec" && !strings.HasPrefix(e.Field, "spec.") && !strings.HasPrefix(e.Field, "spec[") {
			rest = append(rest, e)
		}
	}
	return rest
}

// invalid returns the response in the API server's own form: reason Invalid, and one cause per field.
func invalid(req Request, errs field.ErrorList) admission.Response {
	return status(apierrors.NewInvalid(req.Kind.GroupKind(), req.Name, errs).ErrStatus)
}

// refusal returns the error's own API status, or an internal error.
func refusal(ctx context.Context, req Request, err error) admission.Response {
	if known := apierrors.APIStatus(nil); errors.As(err, &known) {
		return status(known.Status())
	}
	log.FromContext(ctx).Error(err, "Failed to validate an object", "kind", req.Kind.Kind, "namespace", req.Namespace, "name", req.Name)
	return admission.Errored(http.StatusInternalServerError, err)
}

func status(s metav1.Status) admission.Response {
	return admission.Response{AdmissionResponse: admissionv1.AdmissionResponse{Allowed: false, Result: &s}}
}
