package measure

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

const (
	kindName, plural = "VerticalPodAutoscaler", "verticalpodautoscalers"
	// pageSize is the number of objects in a page.
	pageSize = 500
)

// verticalGroup is the API group of VerticalPodAutoscalers.
var verticalGroup = schema.GroupVersion{Group: "autoscaling.k8s.io", Version: "v1"}

// Verticals reads the VerticalPodAutoscalers (autoscaling.k8s.io/v1) of a cluster as data, without their Go types, because
// a cluster may not serve the kind. One request reads a page over all namespaces. It creates and deletes
// VerticalPodAutoscalers that only recommend.
type Verticals struct {
	client rest.Interface
	// timeout is the longest time of one request.
	timeout time.Duration
}

// NewVerticals returns Verticals with a timeout for each request. A rest.Config without a usable API server is an error.
func NewVerticals(config *rest.Config, timeout time.Duration) (*Verticals, error) {
	client, err := clientOf(config, verticalGroup)
	if err != nil {
		return nil, fmt.Errorf("make the client of VerticalPodAutoscalers: %w", err)
	}
	return &Verticals{client: client, timeout: timeout}, nil
}

// AllVerticals are the VerticalPodAutoscalers of a cluster.
type AllVerticals struct {
	// Served reports whether the cluster has the kind.
	Served bool
	// Made are the VerticalPodAutoscalers that Flyball has created.
	Made []MadeVertical
	of   map[workload.Ref][]policy.SeenVertical
	made map[workload.Ref]int
}

// MadeVertical is a VerticalPodAutoscaler that Flyball has created.
type MadeVertical struct {
	Namespace, Name string
	UID             types.UID
	// Target is the target.
	Target workload.Ref
}

// Of returns the VerticalPodAutoscalers of a target, in the order of their names.
func (a *AllVerticals) Of(ref workload.Ref) []policy.SeenVertical {
	if a == nil {
		return nil
	}
	return a.of[ref]
}

// HasOthers reports whether a target has a VerticalPodAutoscaler that Flyball has not created.
func (a *AllVerticals) HasOthers(ref workload.Ref) bool { return len(a.of[ref]) > a.made[ref] }

// List returns all VerticalPodAutoscalers, or none if the cluster does not have the kind. A refused read is an error.
func (c *Verticals) List(ctx context.Context) (*AllVerticals, error) {
	all := &AllVerticals{of: map[workload.Ref][]policy.SeenVertical{}, made: map[workload.Ref]int{}}
	for next := ""; ; {
		raw, err := rawOf(c.client.Get().Resource(plural).Param("limit", strconv.Itoa(pageSize)).Param("continue",
			next).Timeout(c.timeout).Do(ctx))
		if apierrors.IsNotFound(err) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read VerticalPodAutoscalers (%s): %w", verticalGroup, err)
		}
		all.Served = true
		if next, err = all.add(raw); err != nil {
			return nil, fmt.Errorf("read VerticalPodAutoscalers (%s): %w", verticalGroup, err)
		}
		if next == "" {
			return all, nil
		}
	}
}

// verticalList has the read fields of a page.
type verticalList struct {
	Metadata struct {
		Continue string `json:"continue"`
	} `json:"metadata"`
	Items []json.RawMessage `json:"items"`
}

// verticalObject has the read fields of a VerticalPodAutoscaler. Fields of other types, such as instants, are read as texts:
// they are not evaluated, and the schema of a cluster may allow invalid values.
type verticalObject struct {
	Metadata struct {
		Namespace string            `json:"namespace"`
		Name      string            `json:"name"`
		UID       types.UID         `json:"uid"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		TargetRef struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Name       string `json:"name"`
		} `json:"targetRef"`
		UpdatePolicy struct {
			UpdateMode string `json:"updateMode"`
		} `json:"updatePolicy"`
		ResourcePolicy struct {
			ContainerPolicies []struct {
				ContainerName       string              `json:"containerName"`
				Mode                string              `json:"mode"`
				ControlledResources []workload.Resource `json:"controlledResources"`
			} `json:"containerPolicies"`
		} `json:"resourcePolicy"`
	} `json:"spec"`
	Status struct {
		Conditions []struct {
			Type    string                 `json:"type"`
			Status  metav1.ConditionStatus `json:"status"`
			Message string                 `json:"message"`
		} `json:"conditions"`
		Recommendation struct {
			Containers []recommendation `json:"containerRecommendations"`
		} `json:"recommendation"`
	} `json:"status"`
}

type recommendation struct {
	ContainerName string  `json:"containerName"`
	Target        amounts `json:"target"`
	Lower         amounts `json:"lowerBound"`
	Upper         amounts `json:"upperBound"`
	Uncapped      amounts `json:"uncappedTarget"`
}

// defaultMode is the update mode of a VerticalPodAutoscaler without a mode. In this mode it changes pods.
const defaultMode = "Recreate"

// add adds a page, and returns the start of the next page. Unreadable objects are left out.
func (a *AllVerticals) add(raw []byte) (next string, err error) {
	var page verticalList
	if err := json.Unmarshal(raw, &page); err != nil {
		return "", err
	}
	for _, item := range page.Items {
		var o verticalObject
		if json.Unmarshal(item, &o) != nil {
			continue
		}
		gv, err := schema.ParseGroupVersion(o.Spec.TargetRef.APIVersion)
		if err != nil {
			continue // the object selects no target
		}
		ref := workload.Ref{GroupKind: schema.GroupKind{Group: gv.Group, Kind: o.Spec.TargetRef.Kind}, Namespace: o.Metadata.Namespace,
			Name: o.Spec.TargetRef.Name}
		// A copy made by a different writer has the label too. It has another name, and must not be removed.
		if o.Metadata.Labels[v1alpha1.LabelMade] == "true" && o.Metadata.Name == workload.CompanionName(ref) {
			a.Made = append(a.Made, MadeVertical{Namespace: o.Metadata.Namespace, Name: o.Metadata.Name, UID: o.Metadata.UID, Target: ref})
			a.made[ref]++
		}
		a.of[ref] = append(a.of[ref], o.seen())
		slices.SortFunc(a.of[ref], func(x, y policy.SeenVertical) int { return strings.Compare(x.Name, y.Name) })
	}
	return page.Metadata.Continue, nil
}

// seen returns the VerticalPodAutoscaler in the form that policies read.
func (o *verticalObject) seen() policy.SeenVertical {
	v := policy.SeenVertical{Name: o.Metadata.Name, Mode: o.Spec.UpdatePolicy.UpdateMode, Recommended: map[string]policy.VerticalRequests{}}
	if v.Mode == "" {
		v.Mode = defaultMode
	}
	for _, c := range o.Spec.ResourcePolicy.ContainerPolicies {
		v.Containers = append(v.Containers, policy.VerticalRule{Container: c.ContainerName, Off: c.Mode == policy.VerticalOff,
			Resources: c.ControlledResources})
	}
	for _, c := range o.Status.Conditions {
		is := c.Status == metav1.ConditionTrue
		switch {
		case c.Type == "RecommendationProvided" && !is && v.Message == "", c.Type == "ConfigUnsupported" && is, c.Type == "NoPodsMatched" && is:
			v.Message = workload.OneLine(c.Message, mostMessage)
		}
		v.NoPods = v.NoPods || c.Type == "NoPodsMatched" && is
		v.LowConfidence = v.LowConfidence || c.Type == "LowConfidence" && is
	}
	for _, c := range o.Status.Recommendation.Containers {
		if r := (policy.VerticalRequests{Target: c.Target.requests(), Lower: c.Lower.requests(), Upper: c.Upper.requests(),
			Uncapped: c.Uncapped.requests()}); r.Target != (workload.Requests{}) {
			v.Recommended[c.ContainerName] = r
		}
	}
	return v
}

// mostMessage is the longest kept message in bytes. most is the largest valid amount, which is more than any node has.
const (
	mostMessage = 256
	most        = 1 << 50
)

func (a amounts) requests() workload.Requests {
	var r workload.Requests
	if q, ok := a.positive(workload.CPU); ok {
		r.MilliCPU = q.MilliValue()
	}
	if q, ok := a.positive(workload.Memory); ok {
		r.MemoryBytes = q.Value()
	}
	return r
}

func (a amounts) positive(of workload.Resource) (resource.Quantity, bool) {
	q, ok := a.quantity(string(of))
	return q, ok && q.Sign() > 0 && q.CmpInt64(most) < 0
}

// TargetRef is the object that a VerticalPodAutoscaler is created for.
type TargetRef struct{ APIVersion, Kind, Name string }

// Make creates a VerticalPodAutoscaler that only recommends. A refused write is an error.
func (c *Verticals) Make(ctx context.Context, meta metav1.ObjectMeta, of TargetRef) error {
	body, err := json.Marshal(map[string]any{
		"apiVersion": verticalGroup.String(), "kind": kindName,
		"metadata": map[string]any{"namespace": meta.Namespace, "name": meta.Name, "labels": map[string]string{v1alpha1.LabelMade: "true"},
			"ownerReferences": meta.OwnerReferences},
		"spec": map[string]any{
			"targetRef":    map[string]any{"apiVersion": of.APIVersion, "kind": of.Kind, "name": of.Name},
			"updatePolicy": map[string]any{"updateMode": policy.VerticalOff},
		},
	})
	if err == nil {
		err = c.client.Post().Namespace(meta.Namespace).Resource(plural).Param("fieldManager",
			workload.FieldManager).Body(body).Timeout(c.timeout).Do(ctx).Error()
	}
	if err != nil {
		return fmt.Errorf("make a VerticalPodAutoscaler: %w", err)
	}
	return nil
}

// Remove deletes a VerticalPodAutoscaler that Flyball has created. A missing object and a different UID are no errors. A
// refused delete is an error.
func (c *Verticals) Remove(ctx context.Context, m MadeVertical) error {
	body, err := json.Marshal(metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		Preconditions: &metav1.Preconditions{UID: &m.UID}})
	if err == nil {
		err = c.client.Delete().Namespace(m.Namespace).Resource(plural).Name(m.Name).Body(body).Timeout(c.timeout).Do(ctx).Error()
	}
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("remove VerticalPodAutoscaler %s/%s: %w", m.Namespace, m.Name, err)
	}
	return nil
}
