package deploy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestInstallation takes the chart through its life: install, sleep and wake with the chart's rights and webhook only,
// upgrade, uninstall while something is asleep.
func TestInstallation(t *testing.T) {
	s := &stage{T: t, ctx: t.Context(), clock: clocktesting.NewFakeClock(evening.Add(-time.Hour)), port: freePort(t), stop: func() {}}
	// Pods that find no node leave it to this test to do what they would.
	s.args = []string{"--namespace", namespace, "--set", "nodeSelector.example\\.com/none=yes,networkPolicy.enabled=true,metrics.dashboard.enabled=true",
		"--set", "webhook.servicePort=" + strconv.Itoa(s.port)}
	defer func() { s.stop() }()
	for _, part := range []struct {
		name string
		run  func(*stage)
	}{
		{"install", (*stage).install},
		{"adapters become ready", (*stage).adaptersReady},
		{"a schedule sleeps and wakes", (*stage).sleepAndWake},
		{"the webhook answers", (*stage).webhookAnswers},
		{"the documented kind works", (*stage).documentedKind},
		{"a freeze denies", (*stage).freeze},
		{"upgrade", (*stage).upgrade},
		{"uninstall wakes what is asleep", (*stage).uninstall},
		{"nothing was forbidden", (*stage).nothingForbidden},
		{"the webhook's configuration is the manager's", (*stage).sameConfiguration},
	} {
		if !t.Run(part.name, func(t *testing.T) {
			s.T = t
			part.run(s)
		}) {
			t.Logf("the manager said:\n%s", s.log.String())
			break
		}
	}
}

func (s *stage) install() {
	must(s.T, "helm", append([]string{"install", release, chart, "--create-namespace"}, s.args...)...)
	s.redirect()
	s.stop = s.start(here.as("flyball"), app.WebhookOptions{Service: "flyball-webhook", ServicePort: int32(s.port)})
}

func (s *stage) adaptersReady() {
	if n := len(s.adapters()); n != 7 {
		s.Errorf("the chart installed %d adapters, want the 7 of Kubernetes itself", n)
	}
	eventually(s.T, func() error {
		for _, a := range s.adapters() {
			if !meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.ConditionReady) {
				return fmt.Errorf("%s is not ready: %+v", a.Name, a.Status.Conditions)
			}
		}
		return nil
	})
}

func (s *stage) sleepAndWake() {
	s.must(here.client.Create(s.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	app := map[string]string{"app": "web"}
	s.must(here.client.Create(s.ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: new(int32(3)), Selector: &metav1.LabelSelector{MatchLabels: app},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: app},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/app:1"}}},
			},
		},
	}))
	calendar := &v1alpha1.Calendar{ObjectMeta: metav1.ObjectMeta{Name: "holidays"}}
	calendar.Spec.Yearly = []v1alpha1.CalendarYearly{{Month: 12, Day: 25}}
	// The webhook is reached once its certificate is known to the API server.
	eventually(s.T, func() error { return client.IgnoreAlreadyExists(here.client.Create(s.ctx, calendar.DeepCopy())) })
	nights := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "nights"}}
	nights.Spec.Upscale, nights.Spec.Downscale = "0 8 * * *", "0 20 * * *"
	nights.Spec.Calendars = []v1alpha1.CalendarRef{{Name: "holidays", Effect: v1alpha1.EffectAsleep}}
	nights.Spec.DownscaleRateLimit = &v1alpha1.RateLimit{BatchSize: 5, DelayBetweenBatches: "1s"}
	s.must(here.client.Create(s.ctx, nights))
	s.clock.SetTime(evening)
	s.replicas(0)
	s.clock.SetTime(evening.Add(12 * time.Hour))
	s.replicas(3)
	s.clock.SetTime(evening.Add(24 * time.Hour))
	s.replicas(0)
	eventually(s.T, func() error {
		var events eventsv1.EventList
		if err := here.client.List(s.ctx, &events, client.InNamespace("shop")); err != nil {
			return err
		}
		if !slices.ContainsFunc(events.Items, func(e eventsv1.Event) bool { return e.Reason == "Asleep" && e.Regarding.Name == "nights" }) {
			return fmt.Errorf("no event tells that the schedule is asleep: %d events", len(events.Items))
		}
		return nil
	})
}

func (s *stage) webhookAnswers() {
	bad := &v1alpha1.Schedule{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "bad"}}
	bad.Spec.Upscale, bad.Spec.Downscale, bad.Spec.TimeZone = "0 8 * * *", "0 20 * * *", "Europe/Skopia"
	if err := here.client.Create(s.ctx, bad); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.timeZone") {
		s.Errorf("a schedule in Europe/Skopia: got %v, want it refused with the field named", err)
	}
	// Who may write adapters but not pods must not make Flyball write pods.
	s.must(here.client.Create(s.ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "adapter-author"},
		Rules: []rbacv1.PolicyRule{{APIGroups: []string{"flyball.dev"}, Resources: []string{"adapters"}, Verbs: []string{"create"}}}}))
	s.must(here.client.Create(s.ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "adapter-author"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "adapter-author"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "developers"}}}))
	alice, err := client.New(here.cluster.ConfigFor("alice"), client.Options{Scheme: here.client.Scheme()})
	s.must(err)
	eventually(s.T, func() error {
		pods := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: "replicationcontrollers"}}
		pods.Spec.Target = v1alpha1.AdapterTarget{Kind: "ReplicationController", Versions: []string{"v1"}}
		if err := alice.Create(s.ctx, pods); !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "must be allowed to patch replicationcontrollers") {
			return fmt.Errorf("an adapter by somebody without rights on its kind: got %w, want it forbidden by the webhook", err)
		}
		return nil
	})
}

// documentedKind follows docs/adapters.md: it applies the objects of its steps in their order, with the installed manager, and
// looks whether the oven goes out at night and is lit in the morning.
func (s *stage) documentedKind() {
	_, steps, _ := strings.Cut(read(s.T, "docs/adapters.md")["../../docs/adapters.md"], "## Step by step")
	steps, _, _ = strings.Cut(steps, "## Capabilities")
	file := filepath.Join(s.TempDir(), "step.yaml")
	blocks := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```").FindAllStringSubmatch(steps, -1)
	if len(blocks) != 4 {
		s.Fatalf("found %d steps with objects, want 4", len(blocks))
	}
	for _, block := range blocks {
		s.must(os.WriteFile(file, []byte(block[1]), 0o600))
		eventually(s.T, func() error {
			_, err := here.tool(s.ctx, "kubectl", "apply", "-f", file)
			return err
		})
	}
	lit := func(want string) {
		eventually(s.T, func() error {
			out, err := here.tool(s.ctx, "kubectl", "-n", "bakery", "get", "ovens.bakery.example.com", "stone", "-o", "jsonpath={.spec.lit}")
			if err == nil && out != want {
				err = fmt.Errorf("lit is %s, want %s", out, want)
			}
			return err
		})
	}
	lit("false")
	if out := must(s.T, "kubectl", "get", "adapters.flyball.dev", "ovens.bakery.example.com"); !strings.Contains(out, `["scale","suspend","hold","annotate"]`) {
		s.Errorf("the adapter is not as documented:\n%s", out)
	}
	s.clock.SetTime(evening.Add(36 * time.Hour))
	lit("true")
	s.clock.SetTime(evening.Add(48 * time.Hour))
	lit("false")
}

// freeze has a freeze deny an edit, with a webhook configuration that the manager makes by the chart's rights and that is left to
// the uninstallation.
func (s *stage) freeze() {
	f := &v1alpha1.ChangeFreeze{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "year-end"}}
	f.Spec.StartTime, f.Spec.EndTime = metav1.Time{Time: evening}, metav1.Time{Time: evening.Add(1000 * time.Hour)}
	f.Spec.Deny = []v1alpha1.Action{"RollOut"}
	s.must(here.client.Create(s.ctx, f))
	eventually(s.T, func() error {
		_, err := here.tool(s.ctx, "kubectl", "-n", "shop", "set", "image", "deployment/web", "main=example.com/app:2", "--dry-run=server")
		if err == nil || !strings.Contains(err.Error(), "year-end") {
			return fmt.Errorf("a new image: got %w, want it denied by the freeze year-end", err)
		}
		return nil
	})
	var c admissionregistrationv1.ValidatingWebhookConfiguration
	s.must(here.client.Get(s.ctx, client.ObjectKey{Name: "flyball-freeze"}, &c))
	if len(c.OwnerReferences) != 1 || c.OwnerReferences[0].Kind != "ClusterRole" || c.OwnerReferences[0].Name != "flyball" {
		s.Errorf("the configuration of freezes does not go with the release: %+v", c.OwnerReferences)
	}
}

// upgrade turns adapters off: not one whose objects sleep, but one that is idle. The webhook keeps the caBundle that the manager set.
func (s *stage) upgrade() {
	before := s.configuration().Webhooks[0].ClientConfig.CABundle
	if len(before) == 0 {
		s.Fatal("the manager has set no caBundle")
	}
	s.replicas(0)
	_, err := here.tool(s.ctx, "helm", append([]string{"upgrade", release, chart, "--set-json", `adapters={"deployments.apps":{"enabled":false}}`}, s.args...)...)
	if err == nil || !strings.Contains(err.Error(), "kubectl delete adapters.flyball.dev deployments.apps") {
		s.Fatalf("turning the adapter of sleeping objects off: got %v, want to be told what to do first", err)
	}
	must(s.T, "helm", append([]string{"upgrade", release, chart, "--set-json", `adapters={"jobs.batch":{"enabled":false}}`}, s.args...)...)
	s.redirect()
	if !bytes.Equal(before, s.configuration().Webhooks[0].ClientConfig.CABundle) {
		s.Error("the upgrade has changed the caBundle")
	}
	eventually(s.T, func() error {
		if n := len(s.adapters()); n != 7 {
			return fmt.Errorf("there are %d adapters, want 6 of the chart and 1 of the documents", n)
		}
		return nil
	})
	s.adaptersStillReady()
}

func (s *stage) adaptersStillReady() {
	for _, a := range s.adapters() {
		if !meta.IsStatusConditionTrue(a.Status.Conditions, v1alpha1.ConditionReady) {
			s.Errorf("%s is not ready after the upgrade", a.Name)
		}
	}
}
