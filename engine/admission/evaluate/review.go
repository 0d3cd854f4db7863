package evaluate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/workload"
)

// Kind is the kind of requests and answers.
const Kind = "FreezeReview"

// Review asks in Spec whether freezes allow a change, and answers in Status. It is never stored.
type Review struct {
	APIVersion string  `json:"apiVersion"`
	Kind       string  `json:"kind"`
	Spec       Spec    `json:"spec"`
	Status     *Answer `json:"status,omitempty"`
}

// Spec describes the change.
type Spec struct {
	// Object and Action describe an action on an object. Manifest is a manifest to apply instead.
	Object   *Object         `json:"object,omitempty"`
	Action   string          `json:"action,omitempty"`
	Manifest json.RawMessage `json:"manifest,omitempty"`
	// User and Groups are the author of the change. Empty means the caller.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// At is the time of the change. nil means now.
	At *time.Time `json:"at,omitempty"`
}

// Object is an object reference. Group is empty for the core group. Namespace is empty for cluster-scoped kinds.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// decode parses a review. Unknown fields are refused, because a misspelt field could change the question.
func decode(body []byte) (*Review, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	r := &Review{}
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("read the %s: %w", Kind, err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the %s: there is more after it", Kind)
	}
	if want := v1alpha1.GroupVersion.String(); r.APIVersion != want || r.Kind != Kind {
		return nil, fmt.Errorf("read the %s: apiVersion and kind are %q and %q, not %s and %s", Kind, r.APIVersion, r.Kind, want, Kind)
	}
	s := &r.Spec
	switch {
	case r.Status != nil:
		return nil, errors.New("status: must be empty in a request; the answer sets it")
	case len(s.Groups) > maxGroups:
		return nil, fmt.Errorf("spec.groups: there are %d, more than %d", len(s.Groups), maxGroups)
	case len(s.Groups) > 0 && s.User == "":
		return nil, errors.New("spec.groups: needs spec.user, which is missing")
	}
	return r, s.checkSubject()
}

// checkSubject returns an error if the subject of the review is invalid.
func (s *Spec) checkSubject() error {
	manifest := bytes.TrimSpace(s.Manifest)
	switch {
	case (s.Object == nil) == (s.Manifest == nil):
		return errors.New("spec: give exactly one of object and manifest")
	case s.Manifest != nil && s.Action != "":
		return errors.New("spec.action: goes with object; with manifest, the actions follow from applying it")
	case s.Manifest != nil && manifest[0] != '{':
		return errors.New("spec.manifest: must be an object")
	case s.Object != nil && s.Object.Kind == "":
		return errors.New("spec.object.kind: required")
	case s.Object != nil && s.Object.Name == "":
		return errors.New("spec.object.name: required")
	case s.Object != nil && s.Action == "":
		return errors.New("spec.action: required with object: Create, Delete, RollOut or Scale")
	}
	return nil
}

// question returns the Inquiry of a review, without its user and instant.
func (s *Spec) question(kindOf func(schema.GroupKind) (Served, bool)) (q Inquiry, err error) {
	if s.Manifest != nil {
		if rawjson.GetBytes(s.Manifest, "items").IsArray() && !rawjson.GetBytes(s.Manifest, "spec").Exists() {
			return q, errors.New("spec.manifest: is a list; ask about each of its objects")
		}
		q.Manifest = s.Manifest
		q.Target, err = TargetOf(s.Manifest, "", kindOf)
	} else if q.Action, err = ParseAction(s.Action); err == nil {
		q.Target.Ref = workload.Ref{GroupKind: schema.GroupKind{Group: s.Object.Group, Kind: s.Object.Kind}, Namespace: s.Object.Namespace,
			Name: s.Object.Name}
	} else {
		return q, fmt.Errorf("spec.action: %w", err)
	}
	if err != nil {
		return q, err
	}
	kind, adapted := kindOf(q.Target.GroupKind)
	switch {
	case !adapted && s.Object != nil:
		return q, fmt.Errorf("there is no adapter for the kind %s: nothing judges it, or its name is misspelt", q.Target.GroupKind)
	case !adapted:
		return q, nil
	}
	q.Target.Resource = kind.Resource
	switch {
	case kind.Namespaced && q.Target.Namespace == "":
		return q, fmt.Errorf("%s needs a namespace", q.Target.Ref)
	case !kind.Namespaced && q.Target.Namespace != "":
		return q, fmt.Errorf("%s is cluster-scoped and has no namespace", q.Target.Ref)
	}
	return q, nil
}
