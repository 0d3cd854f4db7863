package freeze

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

// Freezes has the policies and adapters for judging changes. All of it is in memory.
type Freezes interface {
	// Set returns the current policies.
	Set() *freeze.Set
	// Adapter returns the adapter that classifies changes of a resource. It returns nil for a resource whose changes
	// are not judged.
	Adapter(resource schema.GroupResource) *adapter.Adapter
	// Resource returns the served resource of the adapted kind in a reference (workload.Names). It returns false if the
	// kind has no adapter.
	Resource(kind schema.GroupKind) (schema.GroupVersionResource, bool)
	// Namespace returns the label sets of a namespace, and whether it is being deleted. It returns false if the
	// namespace is not known yet.
	Namespace(name string) (labels []workload.Pairs, terminating, known bool)
}

// Lookups reads data missing in a review from the API server: the labels of an object scaled through its /scale
// subresource, the labels of a very new namespace, and the owner of an object.
type Lookups interface {
	Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata, error)
	// Whole returns an object as JSON. An absent object is a NotFound error.
	Whole(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) ([]byte, error)
}

// Judgement is one judged request.
type Judgement struct {
	Request freeze.UserChange
	Verdict freeze.Verdict
	// Object is the object in question, or nil if it does not exist yet.
	Object *corev1.ObjectReference
	// Escaped are the policies that no longer select the object, or the namespace, because of an edit of labels.
	Escaped []workload.Policy
	// Overridden means that the edit of labels was admitted because the user has the verbs for all policies in Escaped.
	Overridden bool
	Took       time.Duration
	// Err is the reason why there is no verdict.
	Err error
}

// Judge answers admission reviews of adapted kinds. It refuses changes that policies deny. If it cannot judge a change,
// it returns a server error, and the failurePolicy of the webhook configuration decides.
type Judge struct {
	Freezes Freezes
	Objects Lookups
	// Served returns the served resource of a kind without an adapter. If nil, owner references of pods are not
	// followed through such kinds.
	Served func(schema.GroupKind) (schema.GroupVersionResource, bool)
	// Rights checks the right to override. If nil, no rights are checked and namespaces are not guarded.
	Rights rights.AccessReviewer
	Clock  clock.PassiveClock
	// Ready returns the reason why no change can be judged yet. It may be nil.
	Ready func(*http.Request) error
	// DryRun admits denied changes with a warning.
	DryRun bool
	// Note is called for every judged request, except dry runs. It must return quickly, and may be nil.
	Note func(Judgement)
	Log  logr.Logger
}

// ServeHTTP implements http.Handler.
func (j *Judge) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	begin := j.Clock.Now()
	if j.Ready != nil {
		if err := j.Ready(req); err != nil {
			// API servers retry only after this response. On a new connection the retry may reach a different replica.
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
	}
	body, err := review.ReadBody(w, req)
	if err != nil {
		http.Error(w, err.Error(), review.CodeOf(err))
		return
	}
	r, err := review.Read(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var a review.Answer
	var done Judgement
	if isNamespace(&r) {
		a, done = j.guardNamespace(req.Context(), &r, begin)
	} else {
		a, done = j.judge(req.Context(), &r, begin)
	}
	if j.DryRun {
		a = a.AsWarning()
	}
	if done.Err != nil {
		j.Log.Error(done.Err, "Failed to judge an admission review", "resource", r.Resource.String(), "namespace", r.Namespace, "name", r.Name)
		http.Error(w, done.Err.Error(), http.StatusInternalServerError)
	} else if err := a.Write(w, r.UID); err != nil {
		j.Log.V(1).Info("Failed to send the answer: the API server closed the connection", "reason", err.Error())
	}
	if j.Note != nil && !r.DryRun {
		done.Took = j.Clock.Since(begin)
		j.Note(recorded(done))
	}
}

// judge returns the verdict on a review.
func (j *Judge) judge(ctx context.Context, r *review.Review, now time.Time) (review.Answer, Judgement) {
	set := j.Freezes.Set()
	req, uid, err := j.request(ctx, r, set, now)
	if err != nil {
		return review.Answer{}, Judgement{Request: req, Err: err}
	}
	owners, err := j.ownersOf(ctx, r)
	if err != nil {
		return review.Answer{}, Judgement{Request: req, Err: err}
	}
	if len(owners) > 0 {
		req.Actions = 0 // the resize is judged below, as a scale of the pod's owners
	}
	done := Judgement{Request: req, Verdict: set.Decide(req)}
	if len(owners) > 0 {
		req.Actions = workload.ChangeScale
		if err := j.addScaling(ctx, owners, set, &done.Verdict, req); err != nil {
			return review.Answer{}, Judgement{Request: req, Err: err}
		}
	} else if done.Verdict.Allowed {
		if err := j.addGoverned(ctx, r, set, &done.Verdict, req); err != nil {
			return review.Answer{}, Judgement{Request: req, Err: err}
		}
	}
	if uid != "" {
		done.Object = &corev1.ObjectReference{
			APIVersion: r.Resource.GroupVersion().String(), Kind: req.Kind.Kind, Namespace: req.Namespace, Name: req.Name, UID: types.UID(uid),
		}
	}
	v := &done.Verdict
	a := review.Answer{Allowed: v.Allowed, Warnings: v.Warnings, Audit: annotations(v)}
	if !v.Allowed {
		a.Code, a.Reason, a.Message = http.StatusForbidden, metav1.StatusReasonForbidden, v.Message
		return a, done
	}
	for _, rule := range set.Escapes(req) {
		done.Escaped = append(done.Escaped, rule.ID())
		a.Warnings = append(a.Warnings, fmt.Sprintf("this edit takes %s/%s out of %s, which is active", req.Kind.Kind, req.Name, rule.ID()))
	}
	a.Audit = with(a.Audit, "escaped", names(done.Escaped))
	return a, done
}

// request returns the pure request of a review, and the UID of the object if it exists.
func (j *Judge) request(ctx context.Context, r *review.Review, set *freeze.Set, now time.Time) (
	req freeze.UserChange, uid string, err error) {
	req = freeze.UserChange{Namespace: r.Namespace, Name: r.Name, User: r.User, Groups: r.Groups, Now: now, DryRun: r.DryRun}
	found := j.Freezes.Adapter(r.Resource.GroupResource())
	if found == nil {
		return req, "", nil
	}
	req.Kind = found.GroupKind()
	switch {
	case r.Subresource == "" || r.Subresource == "status" || slices.Contains(found.Subresources(), r.Subresource):
		req.Actions = classify(r, found)
		uid = facts(r, set.AnnotationKeys(), &req)
	case r.Subresource == "scale":
		// A Scale omits a count of 0.
		if r.Object.Get("spec.replicas").Int() == r.OldObject.Get("spec.replicas").Int() {
			return req, "", nil
		}
		req.Actions = workload.ChangeScale
		if uid, err = j.scaled(ctx, r, &req); err != nil {
			return req, "", err
		}
	}
	if err := j.inNamespace(ctx, &req); err != nil {
		return req, uid, err
	}
	req.Finishing, err = j.finishing(ctx, r, set, found, req)
	return req, uid, err
}

// classify returns the actions in a review with the whole object. A delete request without an old object counts as a
// deletion of the named object.
func classify(r *review.Review, by *adapter.Adapter) workload.Change {
	before, after := []byte(r.OldObject.Raw), []byte(r.Object.Raw)
	switch {
	case r.Operation == admissionv1.Delete && len(before) == 0:
		return workload.ChangeDelete
	case r.Operation == admissionv1.Delete:
		return by.Classify(before, nil)
	case r.Operation == admissionv1.Update:
		return by.Classify(before, after) | adapter.LedgerEditMeans(before, after)
	}
	return by.Classify(before, after)
}

// facts adds the facts of the object before and after the change, and returns the UID of an existing object. In a
// creation with generateName or the deletion of a collection, the review itself has no name.
func facts(r *review.Review, wanted []string, req *freeze.UserChange) (uid string) {
	old, cur := readMetadata(r.OldObject, wanted), readMetadata(r.Object, wanted)
	req.Deleting = old.deleting
	req.Name = cmp.Or(cur.name, old.name, r.Name, cur.generateName)
	if r.OldObject.Exists() {
		req.Old = &freeze.Facts{Labels: old.labels, Annotations: old.annotations}
	}
	if r.Object.Exists() && r.Operation != admissionv1.Delete {
		req.New = &freeze.Facts{Labels: cur.labels, Annotations: cur.annotations}
	}
	return old.uid
}

// scaled adds the facts of an object that is scaled through /scale, because a Scale has no labels. An object deleted
// meanwhile has no facts; the API server then reports that itself.
func (j *Judge) scaled(ctx context.Context, r *review.Review, req *freeze.UserChange) (uid string, err error) {
	object, err := j.Objects.Metadata(ctx, r.Resource, r.Namespace, r.Name)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read the labels of %s %s/%s: %w", r.Resource.Resource, r.Namespace, r.Name, err)
	}
	req.New = &freeze.Facts{Labels: workload.NewPairs(object.Labels), Annotations: workload.NewPairs(object.Annotations)}
	req.Old = req.New
	return string(object.UID), nil
}

// inNamespace adds the facts of the request's namespace.
func (j *Judge) inNamespace(ctx context.Context, req *freeze.UserChange) error {
	if req.Namespace == "" {
		return nil
	}
	var known bool
	if req.NamespaceLabels, req.Terminating, known = j.Freezes.Namespace(req.Namespace); known {
		return nil
	}
	namespace, err := j.Objects.Metadata(ctx, namespaces, "", req.Namespace)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the labels of namespace %s: %w", req.Namespace, err)
	}
	req.NamespaceLabels = []workload.Pairs{workload.NewPairs(namespace.Labels)}
	req.Terminating = namespace.DeletionTimestamp != nil
	return nil
}

// recorded returns a judgement for statuses, events and labels. Names are cut to the lengths that Kubernetes allows and
// reduced to one printable line.
func recorded(j Judgement) Judgement {
	r := &j.Request
	r.Namespace, r.Name, r.User = workload.OneLine(r.Namespace, review.MaxNamespace), workload.OneLine(r.Name, review.MaxName),
		workload.OneLine(r.User, review.MaxUser)
	r.Kind.Group, r.Kind.Kind = workload.OneLine(r.Kind.Group, review.MaxName), workload.OneLine(r.Kind.Kind, review.MaxNamespace)
	r.Groups = nil
	if j.Object != nil {
		object := *j.Object
		object.Namespace, object.Name, object.UID = r.Namespace, r.Name, types.UID(workload.OneLine(string(object.UID), review.MaxNamespace))
		object.APIVersion = workload.OneLine(object.APIVersion, review.MaxName)
		j.Object = &object
	}
	return j
}

// annotations returns the annotations for the audit log: the policies that denied or would have denied the change, and
// the exceptions used.
func annotations(v *freeze.Verdict) map[string]string {
	var all map[string]string
	for _, e := range []v1alpha1.Enforcement{v1alpha1.EnforcementDeny, v1alpha1.EnforcementWarn, v1alpha1.EnforcementAudit} {
		var texts []string
		for _, d := range v.Of(e) {
			texts = append(texts, d.Policy.String()+": "+strings.Join(d.Names(), ","))
		}
		key := map[v1alpha1.Enforcement]string{
			v1alpha1.EnforcementDeny: "denied", v1alpha1.EnforcementWarn: "warned", v1alpha1.EnforcementAudit: "would-deny",
		}[e]
		all = with(all, key, texts)
	}
	var lifted []string
	for _, l := range v.Lifts {
		lifted = append(lifted, fmt.Sprintf("%s by %s: %s", l.Policy, l.Exception, strings.Join(l.Actions.Names(), ",")))
	}
	var finished []string
	for _, f := range v.Finishes {
		finished = append(finished, f.Policy.String()+": "+strings.Join(f.Actions.Names(), ","))
	}
	return with(with(all, "lifted", lifted), "finished", finished)
}

func with(all map[string]string, key string, texts []string) map[string]string {
	if len(texts) == 0 {
		return all
	}
	if all == nil {
		all = map[string]string{}
	}
	if more := len(texts) - review.MaxListed; more > 0 {
		texts = append(slices.Clone(texts[:review.MaxListed]), fmt.Sprintf("and %d more", more))
	}
	all[key] = strings.Join(texts, "; ")
	return all
}

func names(policies []workload.Policy) []string {
	out := make([]string, len(policies))
	for i, p := range policies {
		out[i] = p.String()
	}
	return out
}
