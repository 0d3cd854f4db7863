package admission_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"

	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/admission/serve"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
)

const defaultFreeze = `{metadata: {name: long}, spec: {target: {namespaces: [default]}, startTime: 2020-01-01T00:00:00Z, endTime: ` +
	`2090-01-01T00:00:00Z, deny: [Scale]}}`

// judging starts a server that judges Deployments in the namespace default, and creates its configuration.
func judging(t *testing.T, lifetimes func(*serve.Options)) {
	t.Helper()
	opts := options(t)
	opts.OwnConfiguration = ""
	lifetimes(&opts)
	server, err := serve.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	j := judge(t, freezes(t, defaultFreeze), nil)
	server.HandleHTTP(register.JudgePath, j)
	serving(t, server, opts)
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	keepFreezes(t, server)
}

// keepFreezes keeps the configuration of freezes for Deployments, as a manager does, until the end of the test.
func keepFreezes(t *testing.T, server *serve.Server) {
	t.Helper()
	k, rules := keeper(t), []register.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"},
		Actions: workload.ChangeScale}}
	keep := func() error {
		_, err := k.Keep(context.Background(), register.FreezeConfiguration(server.Client(register.JudgePath), rules,
			register.FreezeScope{}))
		return err
	}
	eventually(t, "the configuration is made", keep)
	done, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			replaced, again := server.Replaced(), (<-chan time.Time)(nil)
			if keep() != nil {
				again = time.After(100 * time.Millisecond) // a conflict with another replica is resolved then
			}
			select {
			case <-done:
				return
			case <-replaced:
			case <-again:
			}
		}
	}()
	t.Cleanup(func() { close(done); <-stopped })
}

// frozenDeployment creates a Deployment and returns a function that tries to scale it.
func frozenDeployment(t *testing.T) (try func(context.Context) error) {
	t.Helper()
	deployments := kubernetes.NewForConfigOrDie(api.Config()).AppsV1().Deployments("default")
	name := objectName(t)
	labels := map[string]string{"app": name}
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels},
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
	}}
	if _, err := deployments.Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func(ctx context.Context) error {
		_, err := deployments.Patch(ctx, name, types.MergePatchType, []byte(`{"spec":{"replicas":7}}`),
			metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil && apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ClusterChangeFreeze/long denies Scale") {
			return nil
		}
		return errors.Join(errors.New("not refused by the freeze"), err)
	}
}

// Certificates rotate every few seconds during 200 changes a second. Every change gets its verdict.
func TestJudgeThroughRotation(t *testing.T) {
	judging(t, rotateFast)
	try := frozenDeployment(t)
	eventually(t, "the API server asks", func() error { return try(t.Context()) })
	load := harness.StartLoad(200, try)
	authorities := map[string]bool{}
	eventually(t, "the authority is replaced, in the middle of many requests", func() error {
		live, err := configurations().Get(t.Context(), register.FreezeConfigurationName, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		known, err := certutil.ParseCertsPEM(live.Webhooks[0].ClientConfig.CABundle)
		if err != nil {
			t.Fatal(err)
		}
		for _, ca := range known {
			authorities[fmt.Sprint(ca.SerialNumber)] = true
		}
		if load.Asked() < 500 || len(authorities) < 3 { // the first two are trusted from the beginning
			return fmt.Errorf("%d requests and %d authorities", load.Asked(), len(authorities))
		}
		return nil
	})
	failures, summary := load.Stop()
	t.Logf("%s, %d authorities", summary, len(authorities))
	for _, f := range failures {
		t.Error(f.Err)
	}
}

// deadClient is the client configuration of a server that does not exist.
var deadClient = admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1" + register.JudgePath)}

// noServer returns the configuration of freezes for some rules, and removes it at the end of the test.
func noServer(t *testing.T, rules ...register.FreezeRule) *admissionregistrationv1.ValidatingWebhookConfiguration {
	t.Cleanup(func() { removeConfigurations(t, serve.Options{}) })
	return register.FreezeConfiguration(deadClient, rules, register.FreezeScope{})
}

// Keep creates and corrects the configuration, Delete removes it, and neither writes without a difference.
func TestKeeperWritesDifferences(t *testing.T) {
	k := keeper(t)
	scales := register.FreezeRule{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeScale}
	jobs := register.FreezeRule{Group: "batch", Resource: "jobs", Versions: []string{"v1"}, Actions: workload.ChangeDelete}
	for _, step := range []struct {
		reason string
		want   *admissionregistrationv1.ValidatingWebhookConfiguration
		wrote  bool
	}{
		{"there was none", noServer(t, scales), true},
		{"nothing has changed", noServer(t, scales), false},
		{"another kind", noServer(t, scales, jobs), true},
		{"nothing is left", nil, true},
		{"nothing still", nil, false},
	} {
		var wrote bool
		var err error
		if step.want != nil {
			wrote, err = k.Keep(t.Context(), step.want)
		} else {
			wrote, err = k.Delete(t.Context(), noServer(t, scales))
		}
		if err != nil || wrote != step.wrote {
			t.Errorf("%s: wrote %t, %v", step.reason, wrote, err)
		}
		switch got, err := configurations().Get(t.Context(), register.FreezeConfigurationName, metav1.GetOptions{}); {
		case step.want == nil && !apierrors.IsNotFound(err):
			t.Errorf("%s: it is still there: %v", step.reason, err)
		case step.want != nil && (err != nil || len(got.Webhooks[0].Rules) != len(step.want.Webhooks[0].Rules) || got.Labels == nil):
			t.Errorf("%s: %v, %v", step.reason, got, err)
		}
	}
}

// A deletion or edit of the configuration is noticed at once, so that it can be restored without polling.
func TestKeeperNoticesChanges(t *testing.T) {
	k := keeper(t)
	want := noServer(t, register.FreezeRule{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeScale})
	keeping, changed := make(chan struct{}), make(chan struct{}, 1)
	ctx, stop := context.WithCancel(t.Context())
	if err := k.Watch(ctx, changed, want); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(keeping)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			if _, err := k.Keep(ctx, want); err != nil && ctx.Err() == nil {
				t.Errorf("keep: %v", err)
			}
		}
	}()
	defer func() { stop(); <-keeping }()
	back := func() error {
		now, err := configurations().Get(t.Context(), register.FreezeConfigurationName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *now.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail {
			return errors.New("it fails open")
		}
		return nil
	}
	eventually(t, "it is made", back)
	for range 3 {
		if err := configurations().Delete(t.Context(), register.FreezeConfigurationName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "what was deleted is back", back)
		patch := []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
		if _, err := configurations().Patch(t.Context(), register.FreezeConfigurationName, types.JSONPatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "what was edited is back", back)
	}
}
