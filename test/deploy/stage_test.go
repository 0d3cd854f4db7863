package deploy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// evening is half an hour into the night of the test's schedule.
var evening = time.Date(2026, 3, 2, 20, 30, 0, 0, time.UTC)

// stage is one installation of the chart. The manager runs in this process under the chart's service account, because
// no pods run here.
type stage struct {
	*testing.T
	// whole is the parent test of T. A manager outlives the subtest that started it.
	whole *testing.T
	ctx   context.Context
	clock *clocktesting.FakeClock
	port  int
	args  []string
	stop  func()
	// log is the manager's log, shown after a failure.
	log lines
}

// lines is a buffer for several writers.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) add(line string) { _, _ = l.Write([]byte(line + "\n")) }

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (s *stage) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// redirect makes the webhook's Service lead to this process, because API servers resolve the name of such a Service
// themselves.
func (s *stage) redirect() {
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "flyball-webhook"}}
	s.must(here.client.Patch(s.ctx, service, client.RawPatch(types.MergePatchType,
		[]byte(`{"spec":{"type":"ExternalName","externalName":"localhost","clusterIP":null,"clusterIPs":null,"selector":null}}`))))
}

// start runs the manager with the flags of the chart's Deployment. The returned function stops it.
func (s *stage) start(config *rest.Config, webhook app.WebhookOptions) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	webhook.Enabled, webhook.Host, webhook.Port, webhook.Secret, webhook.Owner = true, "localhost", s.port, "flyball-webhook-cert", "flyball"
	done := make(chan error, 1)
	log := zap.New(zap.WriteTo(&s.log))
	ctrl.SetLogger(log)
	go func() {
		done <- restarted(ctx, func() error {
			return app.Run(ctx, config, app.Options{
				MetricsAddress: "0", HealthAddress: "0", LeaderElection: true, Namespace: namespace, Workers: 16, QPS: -1,
				ShutdownTimeout: 10 * time.Second, Log: log, Clock: s.clock, Registry: prometheus.NewRegistry(), Webhook: webhook,
			})
		})
	}()
	var once sync.Once
	return func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				s.whole.Errorf("the manager ended: %v", err)
			}
		})
	}
}

// restarted runs a manager again after it has lost its lease, as the kubelet restarts its container. A manager loses
// its lease if the API server is too busy for ten seconds. Any other error ends the loop and is returned.
func restarted(ctx context.Context, run func() error) error {
	for ctx.Err() == nil {
		if err := run(); err == nil || !strings.Contains(err.Error(), "leader election lost") {
			return err
		}
	}
	return nil
}

// entitled waits until the manager's account has the rights of all aggregated roles. A controller aggregates the roles,
// and the API server sees the result later. Until then requests of a manager may be forbidden, as in a real
// installation.
func (s *stage) entitled() {
	var roles rbacv1.ClusterRoleList
	s.must(here.client.List(s.ctx, &roles, client.MatchingLabels{"flyball.dev/aggregate-to-manager": "true"}))
	if len(roles.Items) == 0 {
		s.Error("the release has no role that its own gathers")
	}
	for _, role := range roles.Items {
		s.awaitRights("", role.Rules)
	}
	var own rbacv1.Role
	s.must(here.client.Get(s.ctx, client.ObjectKey{Namespace: namespace, Name: "flyball"}, &own))
	s.awaitRights(namespace, own.Rules)
}

// awaitRights waits until the manager's account has rights in a namespace or, if namespace is empty, in all.
func (s *stage) awaitRights(namespace string, rules []rbacv1.PolicyRule) {
	for _, r := range rules {
		for _, verb := range r.Verbs {
			attributes := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: verb, Group: r.APIGroups[0]}
			attributes.Resource, attributes.Subresource, _ = strings.Cut(r.Resources[0], "/")
			if len(r.ResourceNames) > 0 {
				attributes.Name = r.ResourceNames[0]
			}
			if err := harness.Poll(s.ctx, harness.Patience, func() error { return s.allowed(attributes) }); err != nil {
				s.Error(err)
			}
		}
	}
}

// allowed returns nil if the manager's account has a right.
func (s *stage) allowed(what authorizationv1.ResourceAttributes) error {
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + namespace + ":flyball", ResourceAttributes: &what,
	}}
	if err := here.client.Create(s.ctx, review); err != nil {
		return err
	}
	if !review.Status.Allowed {
		return fmt.Errorf("the manager may not %s %s.%s", what.Verb, what.Resource, what.Group)
	}
	return nil
}

func (s *stage) adapters() []v1alpha1.Adapter {
	var list v1alpha1.AdapterList
	s.must(here.client.List(s.ctx, &list))
	return list.Items
}

func (s *stage) replicas(want int32) {
	s.Helper()
	eventually(s.T, func() error {
		var d appsv1.Deployment
		if err := here.client.Get(s.ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, &d); err != nil {
			return err
		}
		if *d.Spec.Replicas != want {
			return fmt.Errorf("shop/web has %d replicas, want %d", *d.Spec.Replicas, want)
		}
		return nil
	})
}

func (s *stage) configuration() *admissionregistrationv1.ValidatingWebhookConfiguration {
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	s.must(here.client.Get(s.ctx, client.ObjectKey{Name: "flyball"}, &c))
	return &c
}

// hookPod waits for the pod of a hook's Job.
func (s *stage) hookPod(ctx context.Context, hook string) (*corev1.Pod, error) {
	for {
		var pods corev1.PodList
		err := here.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app.kubernetes.io/name": "flyball-" + hook})
		if err == nil && len(pods.Items) > 0 {
			return &pods.Items[0], nil
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// finish writes the status that a kubelet reports for a pod whose program succeeded.
func finish(ctx context.Context, pod *corev1.Pod) error {
	name := pod.Spec.Containers[0].Name
	return here.client.Status().Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(fmt.Sprintf(
		`{"status":{"phase":"Succeeded","containerStatuses":[{"name":%q,"image":"x","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":0}}}]}}`, name))))
}
