package registration

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-logr/logr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionregistrationclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"

	"flyball.dev/flyball/crds/v1alpha1"
)

// LedgerPolicyName is the ValidatingAdmissionPolicy that guards the ledger, and its binding.
const LedgerPolicyName = "flyball-ledger"

// ledgerOf is the ledger of an object in CEL, if it has one.
func ledgerOf(object string) string {
	return object + ".?metadata.?annotations[?'" + v1alpha1.AnnotationLedger + "']"
}

// LedgerPolicy makes the policy by which the ledger cannot be changed through a subresource: /status of the built-in kinds takes
// annotations, and so do a few others, and a Binding gives its own to the Pod. Who may only report what an object does, or schedule it,
// must not say what Flyball gives back to it. The API server decides by itself, so the guard holds while no replica
// runs. Every field that the API server would fill in is given.
func LedgerPolicy() (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	meta := metav1.ObjectMeta{Name: LedgerPolicyName, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}}
	rule := func(group string, operation admissionregistrationv1.OperationType, resources ...string) admissionregistrationv1.NamedRuleWithOperations {
		operations := []admissionregistrationv1.OperationType{operation}
		return admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: ruleOf(operations, group, []string{"*"}, resources...)}
	}
	return &admissionregistrationv1.ValidatingAdmissionPolicy{
			ObjectMeta: meta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
				FailurePolicy: new(admissionregistrationv1.Fail),
				MatchConstraints: &admissionregistrationv1.MatchResources{
					MatchPolicy:       new(admissionregistrationv1.Equivalent),
					NamespaceSelector: &metav1.LabelSelector{},
					ObjectSelector:    &metav1.LabelSelector{},
					ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{
						rule("*", admissionregistrationv1.Update, "*/status", "*/approval", "namespaces/finalize"),
						rule("", admissionregistrationv1.Create, "bindings", "pods/binding"),
					},
				},
				Validations: []admissionregistrationv1.Validation{{
					Expression: ledgerOf("object") + " == (oldObject == null ? optional.none() : " + ledgerOf("oldObject") + ")",
					Message:    "the annotation " + v1alpha1.AnnotationLedger + " is changed with the object itself, not through a subresource",
					Reason:     new(metav1.StatusReasonForbidden),
				}},
			},
		}, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: meta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: LedgerPolicyName, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			},
		}
}

// LedgerGuard keeps the policy where no chart does.
type LedgerGuard struct {
	Policies admissionregistrationclient.ValidatingAdmissionPolicyInterface
	Bindings admissionregistrationclient.ValidatingAdmissionPolicyBindingInterface
}

// Keep makes or corrects the policy and its binding.
func (g *LedgerGuard) Keep(ctx context.Context) error {
	policy, binding := LedgerPolicy()
	live, err := g.Policies.Get(ctx, policy.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = g.Policies.Create(ctx, policy, metav1.CreateOptions{FieldManager: FieldManager})
	case err == nil && !equality.Semantic.DeepEqual(live.Spec, policy.Spec):
		live.Spec = policy.Spec
		_, err = g.Policies.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("keep the ValidatingAdmissionPolicy %s: %w", policy.Name, err)
	}
	bound, err := g.Bindings.Get(ctx, binding.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = g.Bindings.Create(ctx, binding, metav1.CreateOptions{FieldManager: FieldManager})
	case err == nil && !equality.Semantic.DeepEqual(bound.Spec, binding.Spec):
		bound.Spec = binding.Spec
		_, err = g.Bindings.Update(ctx, bound, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	if err != nil && !apierrors.IsAlreadyExists(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("keep the ValidatingAdmissionPolicyBinding %s: %w", binding.Name, err)
	}
	return nil
}

// Watch notifies when the policy or its binding changes.
func (g *LedgerGuard) Watch(ctx context.Context, log logr.Logger, notify chan<- struct{}) error {
	return errors.Join(
		WatchNamed(ctx, g.Policies, LedgerPolicyName, &admissionregistrationv1.ValidatingAdmissionPolicy{}, log, notify),
		WatchNamed(ctx, g.Bindings, LedgerPolicyName, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, log, notify),
	)
}
