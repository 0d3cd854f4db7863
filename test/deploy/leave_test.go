package deploy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/deploy/hooks"
	"flyball.dev/flyball/test/harness"
)

// uninstall runs the program of the hook's pod with the rights of its account, and then lets Helm continue.
func (s *stage) uninstall() {
	s.replicas(0)
	var said lines
	hook := make(chan error, 1)
	ctx, cancel := context.WithTimeout(s.ctx, 2*time.Minute)
	defer cancel()
	go func() {
		pod, err := s.hookPod(ctx, "uninstall")
		if err == nil {
			err = hooks.Uninstall(ctx, here.as("flyball-uninstall"), said.add)
		}
		// Helm deletes the Deployment and the rights next.
		s.stop()
		if err == nil {
			err = finish(ctx, pod)
		}
		hook <- err
	}()
	_, err := here.tool(ctx, "helm", "uninstall", release, "--namespace", namespace, "--timeout", "2m")
	if hookErr := <-hook; err != nil || hookErr != nil {
		s.Fatalf("uninstall: %v\nthe hook: %v\n%s", err, hookErr, said.String())
	}
	s.replicas(3)
	var d appsv1.Deployment
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, &d))
	if d.Annotations[v1alpha1.AnnotationLedger] != "" {
		s.Errorf("the ledger is left: %s", d.Annotations[v1alpha1.AnnotationLedger])
	}
	s.onlyForeignCosts()
	s.onlyPoliciesLeft()
	s.policiesCanGo()
	if !strings.Contains(said.String(), "deleted the adapter deployments.apps") {
		s.Errorf("the hook does not say what it did:\n%s", said.String())
	}
}

// onlyPoliciesLeft checks that no object of the release is left, but all objects of the user.
func (s *stage) onlyPoliciesLeft() {
	if left := s.adapters(); len(left) > 0 {
		s.Errorf("%d adapters are left", len(left))
	}
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "nights"}, &v1alpha1.Schedule{}))
	eventually(s.T, func() error { // the garbage collector deletes the webhook configurations later than their owner, a role
		lease, secret := &coordinationv1.Lease{}, &corev1.Secret{}
		for obj, name := range map[client.Object]string{lease: "flyball-manager", secret: "flyball-webhook-cert"} {
			if err := here.client.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: name}, obj); !apierrors.IsNotFound(err) {
				return fmt.Errorf("%T %s is left: %w", obj, name, err)
			}
		}
		for _, name := range []string{"flyball", "flyball-freeze"} {
			var c admissionregistrationv1.ValidatingWebhookConfiguration
			if err := here.client.Get(s.ctx, client.ObjectKey{Name: name}, &c); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the webhook configuration %s is left: %w", name, err)
			}
		}
		return nil
	})
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, &admissionregistrationv1.MutatingWebhookConfigurationList{},
		&rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
		&rbacv1.RoleList{}, &appsv1.DeploymentList{}, &corev1.ServiceList{}, &batchv1.JobList{}, &corev1.ServiceAccountList{},
	} {
		s.must(here.client.List(s.ctx, list))
		s.must(meta.EachListItem(list, func(o runtime.Object) error {
			obj := o.(client.Object)
			if strings.HasPrefix(obj.GetName(), "flyball") && !strings.Contains(obj.GetName(), "bakery") && obj.GetDeletionTimestamp() == nil {
				s.Errorf("%T %s is left", obj, obj.GetName())
			}
			return nil
		}))
	}
}

// policiesCanGo deletes a namespace with a policy while no manager runs. Then it deletes a namespace with a policy that
// still has its finalizer, with the command from the documents.
func (s *stage) policiesCanGo() {
	gone := func(name string) {
		// The namespace controller retries after half of the pods' termination time.
		s.must(harness.Poll(s.ctx, 2*harness.Patience, func() error {
			if err := here.client.Get(s.ctx, client.ObjectKey{Name: name}, &corev1.Namespace{}); !apierrors.IsNotFound(err) {
				return fmt.Errorf("the namespace %s is left: %w", name, err)
			}
			return nil
		}))
	}
	s.must(here.client.Delete(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	gone("shop")
	s.must(here.client.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stuck"}}))
	nights := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "stuck", Name: "nights",
		Finalizers: []string{v1alpha1.FinalizerRestore}}}
	nights.Spec.Upscale, nights.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	s.must(here.client.Create(s.ctx, nights))
	fleet := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "stuck", Finalizers: []string{v1alpha1.FinalizerRestore}}}
	fleet.Spec.Target.Namespaces = []string{"stuck"}
	fleet.Spec.Upscale, fleet.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	s.must(here.client.Create(s.ctx, fleet))
	others := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "others",
		Finalizers: []string{v1alpha1.FinalizerRestore, "example.com/backup"}}, Spec: fleet.Spec}
	s.must(here.client.Create(s.ctx, others))
	s.must(here.client.Delete(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "stuck"}}))
	s.must(here.client.Delete(s.ctx, fleet))
	command := regexp.MustCompile(`(?m)^\$ (kubectl get flyball .*\| sh)$`).FindStringSubmatch(read(s.T,
		"docs/operations.md")["../../docs/operations.md"])
	if command == nil {
		s.Fatal("the documents have no command that takes finalizers off")
	}
	if out, err := here.shell(s.ctx, command[1]); err != nil {
		s.Fatalf("%v\n%s", err, out)
	}
	gone("stuck")
	if err := here.client.Get(s.ctx, client.ObjectKeyFromObject(fleet), fleet); !apierrors.IsNotFound(err) {
		s.Errorf("the schedule of the cluster is left: %v", err)
	}
	s.must(here.client.Get(s.ctx, client.ObjectKeyFromObject(others), others))
	if len(others.Finalizers) != 1 || others.Finalizers[0] != "example.com/backup" {
		s.Errorf("of Flyball's finalizer and another one these are left: %v", others.Finalizers)
	}
	s.must(here.client.Patch(s.ctx, others, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))
	s.must(here.client.Delete(s.ctx, others))
}

// nothingForbidden checks that the chart's rights covered every request.
func (s *stage) nothingForbidden() {
	requests, err := here.cluster.Audit()
	s.must(err)
	mine, used := 0, map[string]bool{}
	for _, r := range requests {
		if !strings.HasPrefix(r.UserAgent, "flyball-manager") && !strings.Contains(r.UserAgent, "leader-election") {
			continue
		}
		mine++
		if r.Object != nil {
			used[r.Object.APIGroup+" "+strings.TrimSuffix(r.Object.Resource+"/"+r.Object.Subresource, "/")+" "+r.Verb] = true
		}
		// The webhook must deny the probe of a freeze.
		if (r.Response.Code == 401 || r.Response.Code == 403) && !strings.Contains(r.URI, "fieldManager=flyball-probe-") {
			s.Errorf("forbidden: %s %s by %s: %s", r.Verb, r.URI, r.User.Username, r.Response.Message)
		}
	}
	s.nothingIdle(used)
	for _, resource := range []string{"pods", "nodes"} {
		// Pods and nodes are watched, and the costs of pods are patched. No decision reads pods or nodes individually.
		if used[" "+resource+" get"] || used[" "+resource+" list"] || !used[" "+resource+" watch"] {
			s.Errorf("%s are read one by one or listed, or not watched", resource)
		}
	}
	if mine < 50 {
		s.Errorf("only %d requests of the manager were recorded", mine)
	}
}

// nothingIdle checks that the manager has used all its rights. Some rights are excepted. They belong to policies that
// this test does not have, or to rare events: lists without streaming support, repeated events, certificate rotation.
// The verb override is excepted too, because the API server only checks the right and no request has this verb.
func (s *stage) nothingIdle(used map[string]bool) {
	all := render(s.T, s.args...)
	// the last four belong to Tortoises, as do mutating webhooks
	rare := []string{"events.k8s.io events patch", " events patch",
		"admissionregistration.k8s.io validatingwebhookconfigurations override", " pods/resize patch", "policy poddisruptionbudgets watch",
		" limitranges watch", " resourcequotas watch",
		" pods get", "apps replicasets get"} // for a manager that looks for its own Deployment; this one runs in no pod
	own := regexp.MustCompile(`^(adapters|calendars|schedules)(/status)?$`)
	for _, role := range []string{"ClusterRole/flyball-base", "Role/flyball"} {
		kind, name, _ := strings.Cut(role, "/")
		for _, r := range rules(s.T, find(s.T, all, kind, name)) {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					right := r.APIGroups[0] + " " + resource + " " + verb
					skip := verb == "list" || slices.Contains(rare, right) || resource == "mutatingwebhookconfigurations" ||
						r.APIGroups[0] == "flyball.dev" && !own.MatchString(resource)
					if !skip && !used[right] {
						s.Errorf("%s: the manager has not used %s", role, right)
					}
				}
			}
		}
	}
}
