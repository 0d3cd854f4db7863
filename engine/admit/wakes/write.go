package wakes

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/engine/admit/freezecheck"
	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
)

const (
	// fieldManager is the field manager of the annotations.
	fieldManager = "flyball-wake"
	// reporter is the reporter of events. It is the same in all parts of the manager. maxNote is the API server's limit
	// for the text of an event, in bytes.
	reporter = "flyball"
	maxNote  = 1024
)

// resource returns a client for the objects beside a place.
func resource(client dynamic.Interface, p wake.Place) dynamic.ResourceInterface {
	if p.Namespace == "" {
		return client.Resource(p.Resource)
	}
	return client.Resource(p.Resource).Namespace(p.Namespace)
}

// write annotates the place with the manager's rights, if no freeze refuses the same edit by the caller.
func (a *api) write(ctx context.Context, caller *authenticationv1.UserInfo, place wake.Place, r *Request) error {
	patch := wake.Patch(r.end, r.Reason)
	if err := a.judge(ctx, caller, place, patch); err != nil {
		return err
	}
	written, err := resource(a.Client, place).Patch(ctx, place.Name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: fieldManager})
	status := apierrors.APIStatus(nil)
	switch {
	case apierrors.IsNotFound(err):
		return limits.Faultf(http.StatusNotFound, "there is no %s", place)
	case errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError:
		return limits.Faultf(http.StatusUnprocessableEntity, "Flyball may not annotate %s: %v", place, err)
	case err != nil:
		return fmt.Errorf("annotate %s: %w", place, err)
	}
	reason, action := "KeptAwake", "Wake"
	text := fmt.Sprintf("user %q keeps %s awake until %s", caller.Username, place, r.end.UTC().Format(time.RFC3339))
	if r.end.IsZero() {
		reason, action = "WakeEnded", "Sleep"
		text = fmt.Sprintf("user %q lets schedules decide about %s again", caller.Username, place)
	}
	if r.Reason != "" {
		text += ": " + r.Reason
	}
	a.Log.Info("The wake API was used", "user", caller.Username, "place", place.String(), "namespace", place.Namespace, "until",
		r.end, "reason", r.Reason)
	a.announce(ctx, written, reason, action, text)
	return nil
}

// judge returns an error if a freeze refuses the edit by the caller. Freezes judge annotations of objects only: those of
// namespaces and policies are free.
func (a *api) judge(ctx context.Context, caller *authenticationv1.UserInfo, place wake.Place, patch []byte) error {
	if place.Object.Name == "" {
		return nil
	}
	answer, err := a.Court.Answer(ctx, freezecheck.Request{
		Target: freezecheck.Target{Ref: place.Object, Resource: place.Resource}, Patch: patch,
		User: freezecheck.User{Name: caller.Username, Groups: caller.Groups}, At: a.Clock.Now(),
	})
	if wrong := (*freezecheck.UnanswerableError)(nil); errors.As(err, &wrong) {
		return limits.Faultf(http.StatusNotFound, "there is no %s", place.Object)
	}
	if err != nil {
		return fmt.Errorf("judge the annotation of %s: %w", place.Object, err)
	}
	if !answer.Allowed {
		return limits.Faultf(http.StatusForbidden, "%s", answer.Message)
	}
	return nil
}

// announce creates an event on the annotated object. Each wake is an event of its own, because a series would keep only
// the first user and reason.
func (a *api) announce(ctx context.Context, on *unstructured.Unstructured, reason, action, text string) {
	namespace := on.GetNamespace()
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	event := &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "flyball-wake-", Namespace: namespace},
		EventTime:  metav1.NowMicro(), ReportingController: reporter, ReportingInstance: reporter, Reason: reason, Action: action,
		Type: corev1.EventTypeNormal, Note: workload.OneLine(text, maxNote),
		Regarding: corev1.ObjectReference{APIVersion: on.GetAPIVersion(), Kind: on.GetKind(), Namespace: on.GetNamespace(), Name: on.GetName(),
			UID: on.GetUID(), ResourceVersion: on.GetResourceVersion()},
	}
	if _, err := a.Events(namespace).Create(ctx, event, metav1.CreateOptions{FieldManager: fieldManager}); err != nil {
		a.Log.Error(err, "Failed to create the event of a wake; it is not tried again", "place", on.GetKind()+"/"+on.GetName())
	}
}
