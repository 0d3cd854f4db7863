package resize

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// Result is the outcome for a pod.
type Result string

// Results.
const (
	// Tuned pods were changed. Right pods had the recommended requests already.
	Tuned Result = "tuned"
	Right Result = "right"
	// Untuned pods belong to no tuned object, or to an object without numbers at present.
	Untuned Result = "untuned"
	// Unfit pods belong to a tuned object, but their namespace has no room for the recommended requests.
	Unfit Result = "unfit"
	// Unknown pods belong to an object that is not known here yet.
	Unknown Result = "unknown"
	// Unreadable pods, or reviews, cannot be read or changed.
	Unreadable Result = "unreadable"
)

// Results returns all results.
func Results() []Result { return []Result{Tuned, Right, Untuned, Unfit, Unknown, Unreadable} }

// Wants returns the wanted resources of created pods, from memory.
type Wants interface {
	// Want returns the wanted resources for the pods of the owner with this UID. If there are no wanted resources, the
	// Result has the reason.
	Want(ctx context.Context, owner workload.Ref, uid string) (podsize.NewPod, Result)
	// Room returns the free room of a namespace.
	Room(namespace string) podsize.Room
}

// Handler answers reviews of created pods.
type Handler struct {
	Wants Wants
	// Note is called with the result of each pod that is no dry run. It must be quick.
	Note func(Result)
	Log  logr.Logger
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := review.ReadBody(w, req)
	if err != nil {
		h.Note(Unreadable)
		http.Error(w, err.Error(), review.CodeOf(err))
		return
	}
	if !rawjson.ValidBytes(body) {
		h.unreadable(w)
		return
	}
	r := reviewOf(body)
	if r.uid.Str == "" {
		h.unreadable(w)
		return
	}
	patch, result := h.patch(req.Context(), &r)
	if !r.dryRun.Bool() {
		h.Note(result)
	}
	if err := (review.Answer{Allowed: true, Patch: patch}).Write(w, r.uid.Str); err != nil {
		h.Log.V(1).Info("Failed to answer: the API server has not waited", "reason", err.Error())
	}
}

func (h *Handler) unreadable(w http.ResponseWriter) {
	h.Note(Unreadable)
	http.Error(w, "the admission review cannot be read", http.StatusBadRequest)
}

// question has the read fields of an admission review. They are read in one walk, because a pod may be long.
type question struct{ uid, operation, resource, subResource, namespace, object, dryRun rawjson.Value }

func reviewOf(body []byte) (r question) {
	rawjson.GetBytes(body, "request").ForEach(func(key, v rawjson.Value) bool {
		switch key.Str {
		case "uid":
			r.uid = v
		case "operation":
			r.operation = v
		case "resource":
			r.resource = v.Get("resource")
		case "subResource":
			r.subResource = v
		case "namespace":
			r.namespace = v
		case "object":
			r.object = v
		case "dryRun":
			r.dryRun = v
		}
		return true
	})
	return r
}

// patch returns the patch of the reviewed pod, or nil if the pod passes unchanged.
func (h *Handler) patch(ctx context.Context, r *question) ([]byte, Result) {
	if r.operation.Str != "CREATE" || r.resource.Str != "pods" || r.subResource.Str != "" || !r.object.IsObject() {
		return nil, Unreadable
	}
	owner, uid := controllerOf(r.object, r.namespace.Str)
	if uid == "" {
		return nil, Untuned
	}
	want, result := h.Wants.Want(ctx, owner, uid)
	if result != Tuned {
		return nil, result
	}
	patch, err := podsize.PatchNewPod(r.object, want)
	switch {
	case err != nil:
		h.Log.V(1).Info("Failed to read or change a pod; it is created unchanged", "owner", owner.String(), "reason", err.Error())
		return nil, Unreadable
	case patch == nil:
		return nil, Right
	}
	why, err := h.refuses(r, patch)
	if why != "" && want.Boost != nil {
		h.Log.Info("A pod starts without a boost: its namespace has no room for the boost", "owner", owner.String(), "reason", why)
		want.Boost = nil
		if patch, err = podsize.PatchNewPod(r.object, want); patch == nil || err != nil {
			return nil, Right
		}
		why, err = h.refuses(r, patch)
	}
	switch {
	case err != nil:
		return nil, Unreadable
	case why != "":
		h.Log.Info("A pod keeps its template's requests: its namespace has no room for the recommended ones", "owner", owner.String(), "reason",
			why)
		patch, err = podsize.PatchNewPod(r.object, want.Variables())
		if err != nil {
			return nil, Unreadable
		}
		return patch, Unfit
	}
	return patch, Tuned
}

// refuses returns the reason why the namespace has no room for the changed pod, or "" if it has.
func (h *Handler) refuses(r *question, patch []byte) (string, error) {
	space := h.Wants.Room(r.namespace.Str)
	if !space.IsBounded() {
		return "", nil
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return "", fmt.Errorf("read the patch of a pod: %w", err)
	}
	pod, err := p.Apply([]byte(r.object.Raw))
	if err != nil {
		return "", fmt.Errorf("change a pod: %w", err)
	}
	return space.Refuses(pod)
}

// controllerOf returns the controller of a pod and its UID, or zero values if the pod has none.
func controllerOf(pod rawjson.Value, namespace string) (ref workload.Ref, uid string) {
	pod.Get("metadata.ownerReferences").ForEach(func(_, r rawjson.Value) bool {
		gv, err := schema.ParseGroupVersion(r.Get("apiVersion").Str)
		if err != nil || r.Get("controller").Type != rawjson.True {
			return true
		}
		ref, uid = workload.Ref{GroupKind: gv.WithKind(r.Get("kind").String()).GroupKind(), Namespace: namespace, Name: r.Get("name").String()},
			r.Get("uid").String()
		return false
	})
	return ref, uid
}
