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
)

// AdmissionPolicy is a ValidatingAdmissionPolicy with its binding. The API server evaluates it, so no running replica
// is needed.
type AdmissionPolicy struct {
	Policy  *admissionregistrationv1.ValidatingAdmissionPolicy
	Binding *admissionregistrationv1.ValidatingAdmissionPolicyBinding
}

// AdmissionPolicies returns Flyball's admission policies. The chart installs them, and a manager outside the cluster
// creates them.
func AdmissionPolicies() []AdmissionPolicy { return []AdmissionPolicy{LedgerPolicy(), GuardPolicy()} }

// newPolicy returns a policy that refuses requests unless the validation holds. All fields with API defaults are set.
func newPolicy(name string, rules []admissionregistrationv1.RuleWithOperations, conditions []admissionregistrationv1.MatchCondition,
	holds admissionregistrationv1.Validation) AdmissionPolicy {
	meta := metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}}
	matches := &admissionregistrationv1.MatchResources{
		MatchPolicy: new(admissionregistrationv1.Equivalent), NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{},
	}
	for _, r := range rules {
		matches.ResourceRules = append(matches.ResourceRules, admissionregistrationv1.NamedRuleWithOperations{RuleWithOperations: r})
	}
	holds.Reason = new(metav1.StatusReasonForbidden)
	return AdmissionPolicy{
		Policy: &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: meta, Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail), MatchConstraints: matches, MatchConditions: conditions,
			Validations: []admissionregistrationv1.Validation{holds},
		}},
		Binding: &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: meta,
			Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
				PolicyName: name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			}},
	}
}

// PolicyKeeper keeps the policies up to date if no chart does.
type PolicyKeeper struct {
	Policies admissionregistrationclient.ValidatingAdmissionPolicyInterface
	Bindings admissionregistrationclient.ValidatingAdmissionPolicyBindingInterface
}

// Keep creates or corrects the policies and their bindings.
func (k *PolicyKeeper) Keep(ctx context.Context) error {
	var errs []error
	for _, want := range AdmissionPolicies() {
		errs = append(errs, k.keepPolicy(ctx, want.Policy), k.keepBinding(ctx, want.Binding))
	}
	return errors.Join(errs...)
}

func (k *PolicyKeeper) keepPolicy(ctx context.Context, want *admissionregistrationv1.ValidatingAdmissionPolicy) error {
	live, err := k.Policies.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = k.Policies.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	case err == nil && !equality.Semantic.DeepEqual(live.Spec, want.Spec):
		live.Spec = want.Spec
		_, err = k.Policies.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	return kept(err, "ValidatingAdmissionPolicy", want.Name)
}

func (k *PolicyKeeper) keepBinding(ctx context.Context, want *admissionregistrationv1.ValidatingAdmissionPolicyBinding) error {
	live, err := k.Bindings.Get(ctx, want.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		_, err = k.Bindings.Create(ctx, want, metav1.CreateOptions{FieldManager: FieldManager})
	case err == nil && !equality.Semantic.DeepEqual(live.Spec, want.Spec):
		live.Spec = want.Spec
		_, err = k.Bindings.Update(ctx, live, metav1.UpdateOptions{FieldManager: FieldManager})
	}
	return kept(err, "ValidatingAdmissionPolicyBinding", want.Name)
}

// kept wraps the error of writing an object. It returns nil if a different replica was first.
func kept(err error, kind, name string) error {
	if err == nil || apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("keep the %s %s: %w", kind, name, err)
}

// Watch notifies when a policy or its binding changes.
func (k *PolicyKeeper) Watch(ctx context.Context, log logr.Logger, notify chan<- struct{}) error {
	var errs []error
	for _, want := range AdmissionPolicies() {
		errs = append(errs,
			WatchNamed(ctx, k.Policies, want.Policy.Name, &admissionregistrationv1.ValidatingAdmissionPolicy{}, log, notify),
			WatchNamed(ctx, k.Bindings, want.Binding.Name, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{}, log, notify))
	}
	return errors.Join(errs...)
}
