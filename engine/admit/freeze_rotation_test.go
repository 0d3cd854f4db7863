package admit_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	certutil "k8s.io/client-go/util/cert"

	"flyball.dev/flyball/engine/admit/registration"
	"flyball.dev/flyball/engine/admit/server"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/test/harness"
)

var admissionClient = admissionregistrationv1.WebhookClientConfig{URL: new("https://127.0.0.1:1" + registration.JudgePath)}

const defaultFreeze = `{metadata: {name: long}, spec: {target: {namespaces: [default]}, startTime: 2020-01-01T00:00:00Z, endTime: 2090-01-01T00:00:00Z, deny: [Scale]}}`

// judging starts a server that judges Deployments in the namespace default, and creates its configuration.
func judging(t *testing.T, lifetimes func(*server.Options)) {
	t.Helper()
	opts := options(t)
	opts.OwnConfiguration, opts.Configurations = "", []string{registration.FreezeConfigurationName}
	lifetimes(&opts)
	server, err := server.New(api.Config(), opts)
	if err != nil {
		t.Fatal(err)
	}
	j := judge(t, freezes(t, defaultFreeze), nil)
	server.HandleHTTP(registration.JudgePath, j)
	serve(t, server, opts)
	eventually(t, "ready", func() error { return server.Ready(&http.Request{}) })
	rules := []registration.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeScale}}
	wrote, err := registration.FreezeHook{Client: configurations()}.Keep(t.Context(),
		registration.FreezeConfiguration(server.Client(registration.JudgePath), rules, registration.FreezeScope{}), true)
	if err != nil || !wrote {
		t.Fatalf("make the configuration: wrote %t, %v", wrote, err)
	}
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
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	load, begin := harness.StartLoad(200, try), time.Now()
	authorities := map[string]bool{}
	for ; ctx.Err() == nil && (len(authorities) < 2 || time.Since(begin) < 20*time.Second); time.Sleep(50 * time.Millisecond) {
		live, err := configurations().Get(t.Context(), registration.FreezeConfigurationName, metav1.GetOptions{})
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
	}
	failures, summary := load.Stop()
	t.Logf("%s, %d authorities", summary, len(authorities))
	for _, f := range failures {
		t.Error(f.Err)
	}
	if load.Asked() < 500 || len(authorities) < 2 {
		t.Errorf("%d requests and %d authorities", load.Asked(), len(authorities))
	}
}

// Keep creates, corrects and removes the configuration, and writes nothing without a difference.
func TestFreezeHookKeeps(t *testing.T) {
	judging(t, func(*server.Options) {})
	hook := registration.FreezeHook{Client: configurations()}
	live, err := configurations().Get(t.Context(), registration.FreezeConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	client := live.Webhooks[0].ClientConfig
	client.CABundle = nil
	rules := []registration.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeScale}}
	for _, step := range []struct {
		reason string
		rules  []registration.FreezeRule
		wrote  bool
	}{
		{"nothing has changed", rules, false},
		{"another kind", append(rules, registration.FreezeRule{Group: "batch", Resource: "jobs", Versions: []string{"v1"},
			Actions: workload.ChangeDelete}), true},
		{"nothing is left", nil, true},
		{"nothing still", nil, false},
	} {
		wrote, err := hook.Keep(t.Context(), registration.FreezeConfiguration(client, step.rules, registration.FreezeScope{}), true)
		if err != nil || wrote != step.wrote {
			t.Errorf("%s: wrote %t, %v", step.reason, wrote, err)
		}
		got, err := configurations().Get(t.Context(), registration.FreezeConfigurationName, metav1.GetOptions{})
		switch {
		case step.rules == nil && !apierrors.IsNotFound(err):
			t.Errorf("%s: it is still there: %v", step.reason, err)
		case step.rules != nil && (err != nil || string(got.Webhooks[0].ClientConfig.CABundle) != string(live.Webhooks[0].ClientConfig.CABundle)):
			t.Errorf("%s: the authorities have changed: %v", step.reason, err)
		}
	}
}

// A deletion or edit of the configuration is noticed at once, so that it can be restored without polling.
func TestFreezeHookNoticesChanges(t *testing.T) {
	judging(t, func(*server.Options) {})
	hook := registration.FreezeHook{Client: configurations()}
	changed, err := hook.Changed(t.Context(), testr.New(t))
	if err != nil {
		t.Fatal(err)
	}
	live, err := configurations().Get(t.Context(), registration.FreezeConfigurationName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	rules := []registration.FreezeRule{{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeScale}}
	keeping := make(chan struct{})
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		defer close(keeping)
		for {
			select {
			case <-ctx.Done():
				return
			case <-changed:
			}
			if _, err := hook.Keep(ctx, registration.FreezeConfiguration(live.Webhooks[0].ClientConfig, rules, registration.FreezeScope{}),
				true); err != nil && ctx.Err() == nil {
				t.Errorf("keep: %v", err)
			}
		}
	}()
	defer func() { stop(); <-keeping }()
	back := func() error {
		now, err := configurations().Get(t.Context(), registration.FreezeConfigurationName, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *now.Webhooks[0].FailurePolicy != admissionregistrationv1.Fail {
			return errors.New("it fails open")
		}
		return nil
	}
	for range 3 {
		if err := configurations().Delete(t.Context(), registration.FreezeConfigurationName, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "what was deleted is back", back)
		patch := []byte(`[{"op":"replace","path":"/webhooks/0/failurePolicy","value":"Ignore"}]`)
		if _, err := configurations().Patch(t.Context(), registration.FreezeConfigurationName, types.JSONPatchType, patch,
			metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
		eventually(t, "what was edited is back", back)
	}
}
