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

	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// TestChartInstallsUpgradesAndUninstalls takes the chart through its life: install, sleep and wake, upgrade, and
// uninstall while a target is
// asleep. The manager has only the rights and the webhook of the chart.
func TestChartInstallsUpgradesAndUninstalls(t *testing.T) {
	s := &stage{T: t, whole: t, ctx: t.Context(), clock: clocktesting.NewFakeClock(evening.Add(-time.Hour)), port: harness.FreePort(t),
		stop: func() {}}
	// The pods find no node, so the test does their work.
	s.args = []string{"--namespace", namespace, "--set",
		"nodeSelector.example\\.com/none=yes,networkPolicy.enabled=true,metrics.dashboard.enabled=true,evaluate.enabled=true",
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
		{"a schedule does no more than its author may", (*stage).authors},
		{"a developer uses the command", (*stage).developer},
		{"the documented kind works", (*stage).documentedKind},
		{"pipelines ask the evaluate API", (*stage).pipelinesAsk},
		{"a bot wakes a namespace", (*stage).botWakes},
		{"a freeze denies", (*stage).freeze},
		{"pods get deletion costs", (*stage).podsGetCosts},
		{"webhook configurations come back", (*stage).configurationsComeBack},
		{"upgrade", (*stage).upgrade},
		{"an installation over leftovers", (*stage).installOver},
		{"uninstall wakes what is asleep", (*stage).uninstall},
		{"nothing was forbidden", (*stage).nothingForbidden},
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
	// An older version with fewer values, which the upgrade below replaces.
	must(s.T, "helm", append([]string{"install", release, olderChart(s.T), "--create-namespace"}, s.args...)...)
	s.redirect()
	s.entitled()
	s.stop = s.start(here.as("flyball"), app.WebhookOptions{Service: "flyball-webhook", ServicePort: int32(s.port),
		Evaluate: app.APIOptions{Enabled: true}})
}

// live returns an object of the release from the cluster.
func (s *stage) live(kind string) []*unstructured.Unstructured {
	return objects(s.T, must(s.T, "kubectl", "get", kind, "flyball", "--namespace", namespace, "-o", "yaml", "--show-managed-fields=false"))
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
	// The webhook is reachable once the API server knows its certificate.
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
	// A user with rights on adapters but not on pods must not be able to make Flyball write pods.
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
		if err := alice.Create(s.ctx, pods); !apierrors.IsForbidden(err) ||
			!strings.Contains(err.Error(), "must be allowed to patch replicationcontrollers") {
			return fmt.Errorf("an adapter by somebody without rights on its kind: got %w, want it forbidden by the webhook", err)
		}
		return nil
	})
}

// documentedKind follows docs/adapters.md: it applies the objects of the steps in order, with the installed manager,
// and checks that the oven goes out at night and is lit in the morning.
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
	if out := must(s.T, "kubectl", "get", "adapters.flyball.dev", "ovens.bakery.example.com"); !strings.Contains(out,
		`["scale","suspend","hold","annotate"]`) {
		s.Errorf("the adapter is not as documented:\n%s", out)
	}
	s.clock.SetTime(evening.Add(36 * time.Hour))
	lit("true")
	s.clock.SetTime(evening.Add(48 * time.Hour))
	lit("false")
}

// freeze checks that a freeze denies an edit, with a webhook configuration that the manager creates with the chart's
// rights and that the uninstallation must delete.
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
}

// configurationsComeBack edits and deletes the webhook configurations. The manager restores them with the chart's
// rights, and they are deleted with the release.
func (s *stage) configurationsComeBack() {
	for _, name := range []string{"flyball", "flyball-freeze"} {
		key := client.ObjectKey{Name: name}
		var before admissionregistrationv1.ValidatingWebhookConfiguration
		s.must(here.client.Get(s.ctx, key, &before))
		back := func() error {
			var c admissionregistrationv1.ValidatingWebhookConfiguration
			if err := here.client.Get(s.ctx, key, &c); err != nil {
				return err
			}
			if diff := cmp.Diff(before.Webhooks, c.Webhooks) + cmp.Diff(before.OwnerReferences, c.OwnerReferences) +
				cmp.Diff(before.Annotations, c.Annotations); diff != "" {
				return fmt.Errorf("the configuration %s (-before +now):\n%s", name, diff)
			}
			return nil
		}
		if owners := before.OwnerReferences; len(owners) != 1 || owners[0].Kind != "ClusterRole" || owners[0].Name != "flyball" {
			s.Errorf("the configuration %s does not go with the release: %+v", name, owners)
		}
		edited := before.DeepCopy()
		edited.Webhooks[0].FailurePolicy, edited.Webhooks[0].ClientConfig.CABundle = new(admissionregistrationv1.Ignore), nil
		s.must(here.client.Update(s.ctx, edited))
		eventually(s.T, back)
		s.must(here.client.Delete(s.ctx, edited))
		eventually(s.T, back)
	}
}

// upgrade disables an idle adapter, but no adapter with sleeping objects. The webhook keeps the manager's caBundle.
func (s *stage) upgrade() {
	before := s.configuration().Webhooks[0].ClientConfig.CABundle
	if len(before) == 0 {
		s.Fatal("the manager has set no caBundle")
	}
	s.replicas(0)
	_, err := here.tool(s.ctx, "helm", append([]string{"upgrade", release, chart, "--set-json",
		`adapters={"deployments.apps":{"enabled":false}}`}, s.args...)...)
	if err == nil || !strings.Contains(err.Error(), "kubectl delete adapters.flyball.dev deployments.apps") {
		s.Fatalf("turning the adapter of sleeping objects off: got %v, want to be told what to do first", err)
	}
	// Given values are kept and new values have their defaults. Helm's second way works as well.
	for _, way := range [][2]string{{"--reuse-values", "7"}, {"--reset-then-reuse-values", "16"}} {
		how, workers := way[0], way[1]
		must(s.T, "helm", "upgrade", release, chart, "--namespace", namespace, how, "--set-json", `adapters={"jobs.batch":{"enabled":false}}`)
		s.redirect()
		pod := deployment(s.T, s.live("Deployment")).Spec.Template.Spec
		if got := last(pod.Containers[0].Args, "--workers="); got != workers || pod.NodeSelector["example.com/none"] != "yes" ||
			*pod.SecurityContext.RunAsUser != 65532 {
			s.Errorf("%s: the manager has %s workers, want %s, on nodes %v, as %v", how, got, workers, pod.NodeSelector,
				pod.SecurityContext.RunAsUser)
		}
	}
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
