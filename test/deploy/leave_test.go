package deploy

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/deploy/uninstall"
)

// uninstall runs what the hook's pod would run, with the rights of its account, and lets Helm go on then.
func (s *stage) uninstall() {
	s.replicas(0)
	var said lines
	hook := make(chan error, 1)
	ctx, cancel := context.WithTimeout(s.ctx, time.Minute)
	defer cancel()
	go func() {
		pod, err := s.hookPod(ctx)
		if err == nil {
			err = uninstall.Run(ctx, here.as("flyball-uninstall"), said.add)
		}
		// Helm deletes the Deployment and the rights next.
		s.stop()
		if err == nil {
			err = finish(ctx, pod)
		}
		hook <- err
	}()
	_, err := here.tool(ctx, "helm", "uninstall", release, "--namespace", namespace, "--timeout", "1m")
	if hookErr := <-hook; err != nil || hookErr != nil {
		s.Fatalf("uninstall: %v\nthe hook: %v\n%s", err, hookErr, said.String())
	}
	s.replicas(3)
	var d appsv1.Deployment
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, &d))
	if d.Annotations[v1alpha1.AnnotationLedger] != "" {
		s.Errorf("the ledger is left: %s", d.Annotations[v1alpha1.AnnotationLedger])
	}
	s.onlyPoliciesLeft()
	if !strings.Contains(said.String(), "deleted the adapter deployments.apps") {
		s.Errorf("the hook does not say what it did:\n%s", said.String())
	}
}

// onlyPoliciesLeft checks that of the release nothing is left, and that the user's objects are.
func (s *stage) onlyPoliciesLeft() {
	if left := s.adapters(); len(left) > 0 {
		s.Errorf("%d adapters are left", len(left))
	}
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "nights"}, &v1alpha1.Schedule{}))
	eventually(s.T, func() error { // by the garbage collector, after the role that it goes with
		var c admissionregistrationv1.ValidatingWebhookConfiguration
		if err := here.client.Get(s.ctx, client.ObjectKey{Name: "flyball-freeze"}, &c); !apierrors.IsNotFound(err) {
			return fmt.Errorf("the webhook configuration of freezes is left: %w", err)
		}
		return nil
	})
	for _, list := range []client.ObjectList{
		&admissionregistrationv1.ValidatingWebhookConfigurationList{}, &rbacv1.ClusterRoleList{}, &rbacv1.ClusterRoleBindingList{},
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

// nothingForbidden looks for requests that the chart's rights did not cover.
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
		if r.Response.Code == 401 || r.Response.Code == 403 {
			s.Errorf("forbidden: %s %s", r.Verb, r.URI)
		}
	}
	s.nothingIdle(used)
	if mine < 50 {
		s.Errorf("only %d requests of the manager were recorded", mine)
	}
}

// nothingIdle looks for rights that the manager has not used. Left out are the policies that this test does not have, and
// what is not seen every day: lists where a server cannot stream them, repeated events, the rotation of certificates.
func (s *stage) nothingIdle(used map[string]bool) {
	all := render(s.T, s.args...)
	rare := []string{"events.k8s.io events patch", " events patch", " secrets update"}
	own := regexp.MustCompile(`^(adapters|calendars|schedules)(/status)?$`)
	for _, role := range []string{"ClusterRole/flyball-base", "Role/flyball"} {
		kind, name, _ := strings.Cut(role, "/")
		for _, r := range rules(s.T, find(s.T, all, kind, name)) {
			for _, resource := range r.Resources {
				for _, verb := range r.Verbs {
					right := r.APIGroups[0] + " " + resource + " " + verb
					skip := verb == "list" || slices.Contains(rare, right) || r.APIGroups[0] == "flyball.dev" && !own.MatchString(resource)
					if !skip && !used[right] {
						s.Errorf("%s: the manager has not used %s", role, right)
					}
				}
			}
		}
	}
}

// sameConfiguration compares the chart's webhook with the one that a manager outside the cluster makes for itself.
func (s *stage) sameConfiguration() {
	chosen := find(s.T, render(s.T, s.args...), "ValidatingWebhookConfiguration", "flyball")
	var want admissionregistrationv1.ValidatingWebhookConfiguration
	s.must(runtime.DefaultUnstructuredConverter.FromUnstructured(chosen.Object, &want))
	stop := s.start(here.cluster.Config(), app.WebhookOptions{URL: fmt.Sprintf("https://localhost:%d", s.port)})
	defer stop()
	var got admissionregistrationv1.ValidatingWebhookConfiguration
	eventually(s.T, func() error {
		return here.client.Get(s.ctx, client.ObjectKey{Name: "flyball"}, &got)
	})
	for i := range got.Webhooks {
		got.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{}
	}
	for i := range want.Webhooks {
		want.Webhooks[i].ClientConfig = admissionregistrationv1.WebhookClientConfig{}
	}
	if diff := cmp.Diff(got.Webhooks, want.Webhooks); diff != "" {
		s.Errorf("the manager's configuration (-) and the chart's (+):\n%s", diff)
	}
}
