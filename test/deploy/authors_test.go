package deploy

import (
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
)

// authors creates a schedule as two users. One user has the cluster's role edit in a namespace, which the chart
// extends. The other user has only the right to write schedules there.
func (s *stage) authors() {
	const ns = "shop"
	s.must(here.client.Create(s.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "planner"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"flyball.dev"}, Resources: []string{"schedules"}, Verbs: []string{"create"}}}}))
	for user, role := range map[string]string{"ed": "edit", "pat": "planner"} {
		s.must(here.client.Create(s.ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: user},
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}}}))
	}
	try := func(user string) error {
		as, err := client.New(here.cluster.Impersonate(user, "system:authenticated"), client.Options{Scheme: here.client.Scheme()})
		s.must(err)
		everything := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "everything"}}
		everything.Spec.Upscale, everything.Spec.Downscale = "0 8 * * *", "0 20 * * *"
		return as.Create(s.ctx, everything, client.DryRunAll)
	}
	eventually(s.T, func() error { return try("ed") })
	eventually(s.T, func() error {
		if err := try("pat"); !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), "may not patch cronjobs.batch, daemonsets.apps, deployments.apps") {
			return fmt.Errorf("a schedule by somebody without rights on workloads: got %w, want it forbidden by the webhook", err)
		}
		return nil
	})
}
