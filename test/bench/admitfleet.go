package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// admitNow is the instant at which all changes are judged here. It lies in the freezes.
var admitNow = time.Date(2026, 12, 24, 12, 0, 0, 0, time.UTC)

// freezes has the input of judgements: policies, one adapter, one namespace.
type freezes struct {
	set     *freeze.Set
	adapter *adapter.Adapter
}

// Set implements admit.Freezes.
func (f freezes) Set() *freeze.Set { return f.set }

// Adapter implements admit.Freezes.
func (f freezes) Adapter(schema.GroupResource) *adapter.Adapter { return f.adapter }

// Resource implements admit.Freezes.
func (f freezes) Resource(schema.GroupKind) (schema.GroupVersionResource, bool) {
	return schema.GroupVersionResource{}, false
}

// Namespace implements admit.Freezes.
func (f freezes) Namespace(string) ([]workload.Pairs, bool, bool) {
	return []workload.Pairs{workload.NewPairs(map[string]string{"env": "prod", "team": "shop"})}, false, true
}

// freezeFleet returns n policies like the policies of a large organisation. Four of them concern every change of
// Deployments in the given namespace, with an exception for roll-outs by some groups. Each of the others is for another
// namespace, team, label or name, or is over.
func freezeFleet(n int, namespace string) (*freeze.Set, error) {
	s := &freeze.Set{}
	var rules []*freeze.Rule
	var exceptions []*freeze.Exception
	for i := range n {
		rule, exception, errs := freeze.CompileObject(freezePolicy(i, namespace),
			freeze.Context{Scope: selector.Scope{Protected: sets.New("kube-system")}})
		if len(errs) > 0 {
			return nil, fmt.Errorf("compile policy %d: %w", i, errs.ToAggregate())
		}
		if rule != nil {
			rules = append(rules, rule)
		} else {
			exceptions = append(exceptions, exception)
		}
	}
	return s.With(rules...).WithExceptions(exceptions...), nil
}

func freezePolicy(i int, namespace string) any {
	meta := metav1.ObjectMeta{Name: fmt.Sprintf("policy-%d", i)}
	during := v1alpha1.FreezePeriod{Period: v1alpha1.Period{
		StartTime: metav1.NewTime(admitNow.AddDate(0, 0, -4)), EndTime: metav1.NewTime(admitNow.AddDate(0, 0, 10))}}
	before := v1alpha1.FreezePeriod{Period: v1alpha1.Period{StartTime: metav1.NewTime(admitNow.AddDate(-1, 0, -4)),
		EndTime: metav1.NewTime(admitNow.AddDate(-1, 0, 10))}}
	rules := v1alpha1.FreezeRules{Deny: []v1alpha1.Action{v1alpha1.ActionRollOut, v1alpha1.ActionScale},
		Message: &v1alpha1.FreezeMessage{Reason: "year-end", Contact: "#release"}}
	var spec v1alpha1.ClusterTargetSelector
	spec.Exclude = &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelExclude: "true"}}
	labels := func(k, v string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{k: v}}
	}
	meta2 := meta
	switch {
	case i == 0:
		spec.NamespaceSelector = labels("env", "prod")
	case i == 1:
		spec.Namespaces, spec.Kinds = []string{namespace}, []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	case i == 2:
		spec.NamespaceSelector = labels("team", "shop")
		return &v1alpha1.ClusterMaintenanceWindow{ObjectMeta: meta, Spec: v1alpha1.ClusterMaintenanceWindowSpec{Target: spec, FreezeRules: rules,
			Windows: []v1alpha1.Window{{From: "02:00", To: "04:00"}}}}
	case i == 3:
		meta2.Namespace = namespace
		return &v1alpha1.ChangeFreeze{ObjectMeta: meta2, Spec: v1alpha1.ChangeFreezeSpec{FreezePeriod: during, FreezeRules: rules}}
	case i == 4:
		spec.Namespaces = []string{namespace}
		return &v1alpha1.ClusterFreezeException{ObjectMeta: meta,
			Spec: v1alpha1.ClusterFreezeExceptionSpec{Target: spec, ExceptionRules: v1alpha1.ExceptionRules{
				ActiveFrom: during.StartTime, ActiveTo: during.EndTime, Allow: []v1alpha1.Action{v1alpha1.ActionRollOut}, Reason: "pipeline",
				Constraints: &v1alpha1.ExceptionConstraints{AllowedGroups: []string{"ci", "system:masters"}},
			}}}
	case i%5 == 0:
		meta2.Namespace = fmt.Sprintf("team-%d", i)
		return &v1alpha1.ChangeFreeze{ObjectMeta: meta2, Spec: v1alpha1.ChangeFreezeSpec{FreezePeriod: during, FreezeRules: rules}}
	case i%5 == 1:
		spec.NamespaceSelector = labels("team", meta.Name)
	case i%5 == 2:
		meta2.Namespace = namespace
		return &v1alpha1.ChangeFreeze{ObjectMeta: meta2,
			Spec: v1alpha1.ChangeFreezeSpec{Target: v1alpha1.TargetSelector{Selector: labels("app", meta.Name)}, FreezePeriod: during,
				FreezeRules: rules}}
	case i%5 == 3:
		spec.NamespaceSelector, during = labels("env", "prod"), before
	default:
		spec.NamespaceSelector, spec.Names = labels("env", "prod"), []string{meta.Name}
	}
	return &v1alpha1.ClusterChangeFreeze{ObjectMeta: meta, Spec: v1alpha1.ClusterChangeFreezeSpec{Target: spec, FreezePeriod: during,
		FreezeRules: rules}}
}

// reviewSize is the size of an object in a review, in bytes of JSON.
const reviewSize = 10 << 10

// rollOutReview returns the review of a roll-out of an ordinary Deployment. managedFields fill it up to the wanted
// size.
func (s *sizes) rollOutReview() ([]byte, error) {
	stage := &stage{sizes: *s}
	d := stage.deployment(0)
	d.UID, d.ResourceVersion = "8a9b2c1e-0000-4000-8000-000000000000", "4711"
	object := func(image string) (json.RawMessage, error) {
		d.Spec.Template.Spec.Containers[0].Image = image
		d.ManagedFields = nil
		bare, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		fields := `{"f:spec":{"f:note":"` + strings.Repeat("x", max(0, reviewSize-len(bare)-150)) + `"}}`
		d.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl", Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "apps/v1",
			FieldsType: "FieldsV1",
			FieldsV1:   metav1.NewFieldsV1(fields)}}
		return json.Marshal(d)
	}
	old, err := object("registry.example.com/shop/web:1.27.3")
	if err != nil {
		return nil, fmt.Errorf("encode the old object: %w", err)
	}
	cur, err := object("registry.example.com/shop/web:1.28.0")
	if err != nil {
		return nil, fmt.Errorf("encode the object: %w", err)
	}
	kind := map[string]string{"group": "apps", "version": "v1", "kind": "Deployment"}
	resource := map[string]string{"group": "apps", "version": "v1", "resource": "deployments"}
	return json.Marshal(map[string]any{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": map[string]any{
		"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "kind": kind, "requestKind": kind, "resource": resource, "requestResource": resource,
		"namespace": d.Namespace, "name": d.Name, "operation": "UPDATE", "dryRun": false,
		"userInfo": map[string]any{"username": "pipeline", "groups": []string{"ci", "system:authenticated"}},
		"object":   cur, "oldObject": old, "options": map[string]string{"apiVersion": "meta.k8s.io/v1", "kind": "UpdateOptions",
			"fieldManager": "kubectl"},
	}})
}
