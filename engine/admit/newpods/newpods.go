// Package newpods changes pods as they are created, so that they start with the requests that are recommended for what they belong to. It
// denies nothing, asks nobody, and has no effect besides its answer: a pod of which nothing is known, or that cannot be read, passes as it is.
//
// Decisions (docs/decisions): 0036.
package newpods

import (
	"context"
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"github.com/tidwall/gjson"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/fleet/newpod"
	"flyball.dev/flyball/engine/fleet/room"
	"flyball.dev/flyball/engine/workload"
)

// Result is what became of a pod.
type Result string

// Results.
const (
	// Tuned pods were changed, Right ones had what is recommended.
	Tuned Result = "tuned"
	Right Result = "right"
	// Untuned pods belong to nothing that is tuned, or to something that gets nothing now.
	Untuned Result = "untuned"
	// Unfit pods belong to something that is tuned, and their namespace has no room for what is recommended.
	Unfit Result = "unfit"
	// Unknown pods belong to what is not known here yet.
	Unknown Result = "unknown"
	// Unreadable pods, or reviews, cannot be read or changed.
	Unreadable Result = "unreadable"
)

// Results returns all of them.
func Results() []Result { return []Result{Tuned, Right, Untuned, Unfit, Unknown, Unreadable} }

// Wants knows what pods get as they are created. All of it is in memory.
type Wants interface {
	// Want is what pods that an object of some UID owns are to have; without it, the result says why nothing is.
	Want(ctx context.Context, owner workload.Ref, uid string) (newpod.Want, Result)
	// Room is what pods of a namespace have to fit into.
	Room(namespace string) room.Room
}

// Handler answers reviews of pods that are being created.
type Handler struct {
	Wants Wants
	// Note is told what became of each pod that is no dry run. It must be quick.
	Note func(Result)
	Log  logr.Logger
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := limits.ReadBody(w, req)
	if err != nil {
		h.Note(Unreadable)
		http.Error(w, err.Error(), limits.CodeOf(err))
		return
	}
	if !gjson.ValidBytes(body) {
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
	if err := (limits.Answer{Allowed: true, Patch: patch}).Write(w, r.uid.Str); err != nil {
		h.Log.V(1).Info("the API server has not waited for the answer", "reason", err.Error())
	}
}

func (h *Handler) unreadable(w http.ResponseWriter) {
	h.Note(Unreadable)
	http.Error(w, "the admission review cannot be read", http.StatusBadRequest)
}

// review is what is read of one, in one walk: a pod may be long.
type review struct{ uid, operation, resource, subResource, namespace, object, dryRun gjson.Result }

func reviewOf(body []byte) (r review) {
	gjson.GetBytes(body, "request").ForEach(func(key, v gjson.Result) bool {
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

// patch is how the pod of a review is changed; nil: it passes as it is.
func (h *Handler) patch(ctx context.Context, r *review) ([]byte, Result) {
	if r.operation.Str != "CREATE" || r.resource.Str != "pods" || r.subResource.Str != "" || !r.object.IsObject() {
		return nil, Unreadable
	}
	owner, uid := ownerOf(r.object, r.namespace.Str)
	if uid == "" {
		return nil, Untuned
	}
	want, result := h.Wants.Want(ctx, owner, uid)
	if result != Tuned {
		return nil, result
	}
	patch, err := newpod.Patch(r.object, want)
	switch {
	case err != nil:
		h.Log.V(1).Info("a pod is created as it is", "owner", owner.String(), "reason", err.Error())
		return nil, Unreadable
	case patch == nil:
		return nil, Right
	}
	why, err := h.refuses(r, patch)
	if why != "" && want.Boost != nil {
		h.Log.Info("a pod starts without a boost: its namespace has no room for it", "owner", owner.String(), "reason", why)
		want.Boost = nil
		if patch, err = newpod.Patch(r.object, want); patch == nil || err != nil {
			return nil, Right
		}
		why, err = h.refuses(r, patch)
	}
	switch {
	case err != nil:
		return nil, Unreadable
	case why != "":
		h.Log.Info("a pod is created with what its template requests: its namespace has no room for what is recommended", "owner", owner.String(), "reason", why)
		patch, err = newpod.Patch(r.object, want.Variables())
		if err != nil {
			return nil, Unreadable
		}
		return patch, Unfit
	}
	return patch, Tuned
}

// refuses says why the namespace of a pod has no room for it once it is changed; empty: it has.
func (h *Handler) refuses(r *review, patch []byte) (string, error) {
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

// ownerOf is what controls a pod, and its UID; empty: nothing does.
func ownerOf(pod gjson.Result, namespace string) (ref workload.Ref, uid string) {
	pod.Get("metadata.ownerReferences").ForEach(func(_, r gjson.Result) bool {
		gv, err := schema.ParseGroupVersion(r.Get("apiVersion").Str)
		if err != nil || r.Get("controller").Type != gjson.True {
			return true
		}
		ref, uid = workload.Ref{GroupKind: gv.WithKind(r.Get("kind").String()).GroupKind(), Namespace: namespace, Name: r.Get("name").String()}, r.Get("uid").String()
		return false
	})
	return ref, uid
}
