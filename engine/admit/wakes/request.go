package wakes

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admit/freezecheck"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/timeline"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
)

// maxReason is the maximum length of a reason in bytes.
const maxReason = 256

// Request asks to keep something awake, or to end that. It has exactly one of Target, Namespace and Policy. To keep
// something awake, it has exactly one of For and Until.
type Request struct {
	Target    *Object `json:"target,omitempty"`
	Namespace string  `json:"namespace,omitempty"`
	Policy    *Policy `json:"policy,omitempty"`

	For    string     `json:"for,omitempty"`
	Until  *time.Time `json:"until,omitempty"`
	Reason string     `json:"reason,omitempty"`
	// Wait is true if the answer goes on until the targets are ready.
	Wait bool `json:"wait,omitempty"`

	// end is the instant until which the place is kept awake. It is zero if the wake ends.
	end time.Time
}

// Object is an object reference. Group is empty for the core group. Namespace is empty for cluster-scoped kinds.
type Object struct {
	Group     string `json:"group,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Policy is the name of a Schedule, or of a ClusterSchedule, which has no namespace.
type Policy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// decode parses a request. Unknown fields are refused, because a misspelt field could change the meaning.
func decode(method string, body []byte, now time.Time) (*Request, error) {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	r := &Request{}
	if err := decoder.Decode(r); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read the request: there is more after the object")
	}
	places := 0
	for _, given := range []bool{r.Target != nil, r.Namespace != "", r.Policy != nil} {
		if given {
			places++
		}
	}
	if places != 1 {
		return nil, errors.New("give exactly one of target, namespace and policy")
	}
	if method == http.MethodDelete {
		if r.For != "" || r.Until != nil || r.Reason != "" || r.Wait {
			return nil, errors.New("for, until, reason and wait go with POST; DELETE takes target, namespace or policy alone")
		}
		return r, nil
	}
	if err := r.checkReason(); err != nil {
		return nil, err
	}
	return r, r.setEnd(now)
}

// setEnd sets the end from the fields for and until.
func (r *Request) setEnd(now time.Time) error {
	switch {
	case (r.For == "") == (r.Until == nil):
		return errors.New("give exactly one of for, such as 2h, and until, such as 2037-05-11T22:00:00+02:00")
	case r.Until != nil:
		if r.end = r.Until.Truncate(time.Second); !r.end.After(now) {
			return fmt.Errorf("until: %s is over", r.Until.Format(time.RFC3339))
		}
		return nil
	}
	span, err := timeline.ParseDuration(r.For)
	if err != nil {
		return fmt.Errorf("for: %w", err)
	}
	if r.end = now.Add(span).Truncate(time.Second); !r.end.After(now) || r.end.UTC().Year() > 9999 {
		return fmt.Errorf("for: %s is too short or too long", r.For)
	}
	return nil
}

// checkReason refuses a reason that a page, a log or a chat could show as something else.
func (r *Request) checkReason() error {
	if len(r.Reason) > maxReason {
		return fmt.Errorf("reason: has %d bytes, more than %d", len(r.Reason), maxReason)
	}
	for _, c := range r.Reason {
		if !strconv.IsPrint(c) {
			return fmt.Errorf("reason: the character %U is not printable: write one line of text", c)
		}
	}
	return nil
}

// place returns the place to annotate. It does not look whether the place exists.
func (r *Request) place(kindOf func(schema.GroupKind) (freezecheck.Kind, bool)) (wake.Place, error) {
	switch {
	case r.Namespace != "":
		return wake.OfNamespace(r.Namespace), nil
	case r.Policy != nil:
		p, schedules := wake.OfPolicy(workload.Policy{Kind: r.Policy.Kind, Namespace: r.Policy.Namespace, Name: r.Policy.Name})
		switch {
		case !schedules:
			return p, fmt.Errorf("policy.kind: %q is no kind of schedules: write Schedule or ClusterSchedule", r.Policy.Kind)
		case r.Policy.Name == "":
			return p, errors.New("policy.name: required")
		case (p.Kind == schedule.ClusterKind) != (r.Policy.Namespace == ""):
			return p, errors.New("policy.namespace: a Schedule needs it, and a ClusterSchedule has none")
		}
		return p, nil
	}
	t := r.Target
	gk := schema.GroupKind{Group: t.Group, Kind: t.Kind}
	kind, adapted := kindOf(gk)
	switch {
	case t.Kind == "" || t.Name == "":
		return wake.Place{}, errors.New("target: kind and name are required")
	case !adapted:
		return wake.Place{}, fmt.Errorf("target: there is no adapter for the kind %s: nothing puts it to sleep, or its name is misspelt", gk)
	case kind.Namespaced != (t.Namespace != ""):
		return wake.Place{}, fmt.Errorf("target.namespace: namespaced kinds need it, and cluster-scoped kinds have none (%s)", gk)
	}
	return wake.OfObject(kind.Resource, workload.Ref{GroupKind: gk, Namespace: t.Namespace, Name: t.Name}), nil
}
