package freeze

import (
	"context"
	"errors"
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Exempt returns the namespaces in which changes are never judged, so the cluster and Flyball itself can be
// repaired. namespace is the namespace of Flyball.
func Exempt(namespace string) []string { return []string{metav1.NamespaceSystem, namespace} }

// Ask judges an AdmissionReview of an adapted kind at an instant, exactly as the server does, for callers without HTTP.
// It records nothing. The verdict in the judgement includes the warnings. A body that is no review, a review of a
// namespace, and a review without a verdict are errors.
func (j *Judge) Ask(ctx context.Context, body []byte, now time.Time) (Judgement, error) {
	r, err := review.Read(body)
	if err != nil {
		return Judgement{}, err
	}
	if isNamespace(&r) {
		return Judgement{}, errors.New("judge a review: namespaces are judged by the server only")
	}
	a, done := j.judge(ctx, &r, now)
	done.Verdict.Warnings = a.Warnings
	return done, done.Err
}

// Question asks about actions on an existing object, without a concrete edit.
type Question struct {
	Resource schema.GroupVersionResource
	// Object is the current object as JSON.
	Object  []byte
	Actions workload.Change
	User    string
	Groups  []string
	Now     time.Time
}

// AskActions judges actions as the server would judge an edit with these actions. An action on an autoscaler also
// counts as a scale of its target. A kind without an adapter is an error, and so is a fault while objects are read.
func (j *Judge) AskActions(ctx context.Context, q Question) (Judgement, error) {
	object := rawjson.ParseBytes(q.Object)
	r := review.Review{
		Resource: q.Resource, Operation: admissionv1.Update, User: q.User, Groups: q.Groups, Object: object, OldObject: object,
		Namespace: object.Get("metadata.namespace").String(), Name: object.Get("metadata.name").String(),
	}
	found := j.Freezes.Adapter(q.Resource.GroupResource())
	if found == nil {
		return Judgement{}, fmt.Errorf("judge actions on %s: there is no adapter of it", q.Resource.GroupResource())
	}
	set := j.Freezes.Set()
	req, _, err := j.request(ctx, &r, set, q.Now)
	if err != nil {
		return Judgement{Request: req}, err
	}
	req.Actions = q.Actions
	if req.Finishing, err = j.finishing(ctx, &r, set, found, req); err != nil {
		return Judgement{Request: req}, err
	}
	done := Judgement{Request: req, Verdict: set.Decide(req)}
	if !done.Verdict.Allowed || !found.CanGovern() {
		return done, nil
	}
	projected, err := found.Project(q.Object)
	if err != nil {
		return done, err
	}
	if target, governs := found.Governs(projected); governs {
		err = j.addScaling(ctx, []workload.Ref{target}, set, &done.Verdict, req)
	}
	return done, err
}
