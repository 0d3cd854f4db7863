// Command pictures makes the pictures of the pages for the documents, light and dark, from the demo's objects on a local control plane
// with the real manager. Its arguments are the repository's root and the directory of the pictures
// below that.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/browser/chrome"
	"flyball.dev/flyball/test/harness"
	"flyball.dev/flyball/test/local"
)

// picture is a page as a browser of some size shows it.
type picture struct {
	name, path    string
	width, height int64
}

// pictures are pages of the demo's week, as they look on Wednesday, in the demo's freeze.
var pictures = []picture{
	{"week", "/", 1440, 900}, {"week-narrow", "/", 390, 1000},
	{"target", "/target/Deployment.apps/shop/web", 1440, 900}, {"freezes", "/freezes?may=rollout&object=deployment/api&in=shop", 1440, 1000},
	{"savings", "/savings", 1440, 900},
}

// afternoon is the instant of the pictures.
var afternoon = time.Date(2037, 5, 13, 12, 30, 0, 0, time.UTC)

func main() {
	if err := run(context.Background(), os.Args[1], os.Args[2]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// run makes the pictures in a directory below the repository's root.
func run(ctx context.Context, root, dir string) (err error) {
	if err := os.Chdir(root); err != nil {
		return fmt.Errorf("go to the repository's root: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	program, err := chrome.Find(ctx, ".")
	if err != nil {
		return err
	}
	env, err := harness.Up(ctx, local.Options{Level: local.LevelMetrics, Log: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Cluster.Stop()) }()
	usage, err := env.ServeUsage(ctx)
	if err != nil {
		return err
	}
	defer usage.Close()
	if err := install(ctx, env); err != nil {
		return err
	}
	port, err := harness.Port()
	if err != nil {
		return err
	}
	manager := env.Start(harness.Options{Clock: clocktesting.NewFakeClock(afternoon), Webhook: app.WebhookOptions{Enabled: true,
		Host: "127.0.0.1", Port: port, URL: fmt.Sprintf("https://127.0.0.1:%d", port), Secret: "flyball-webhook-cert"}})
	defer func() { err = errors.Join(err, manager.Stop()) }()
	if err := settle(ctx, env); err != nil {
		return err
	}
	address, err := open(ctx, env)
	if err != nil {
		return err
	}
	tab, end, err := chrome.Open(ctx, program, func(string, ...any) {})
	if err != nil {
		return err
	}
	defer end()
	if err := tab.Run(chromedp.Navigate(strings.TrimSpace(address)), chromedp.WaitVisible("main .cards")); err != nil {
		return fmt.Errorf("open the pages: %w", err)
	}
	at, _, _ := strings.Cut(address, "/?")
	for _, scheme := range []string{"light", "dark"} {
		for _, p := range pictures {
			if err := p.take(tab, at, scheme, dir); err != nil {
				return err
			}
		}
	}
	return nil
}

// open serves the pages of the cluster until the program ends, and returns their first address.
func open(ctx context.Context, env *harness.Env) (address string, err error) {
	read, write := io.Pipe()
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: os.Stderr}
		code := cli.Run(ctx, []string{"ui", "--no-browser", "-n", "shop", "--kubeconfig", env.Cluster.Kubeconfig, "--time-zone=Europe/Berlin",
			"--price=cpu=3.1,memory=0.4,currency=EUR"}, factory.Env{IOStreams: streams, Now: func() time.Time { return afternoon }})
		_ = write.CloseWithError(fmt.Errorf("the server has ended with code %d", code))
	}()
	return bufio.NewReader(read).ReadString('\n')
}

// take makes a picture in a colour scheme. The names of dark pictures end in -dark.
func (p picture) take(tab *chrome.Tab, root, scheme, dir string) error {
	var png []byte
	if err := tab.Run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}),
		chromedp.EmulateViewport(p.width, p.height), chromedp.Navigate(root+p.path), chromedp.WaitVisible("main h1"),
		chromedp.WaitVisible("#live.good"), chromedp.CaptureScreenshot(&png)); err != nil {
		return fmt.Errorf("make the picture %s: %w", p.name, err)
	}
	if scheme == "dark" {
		p.name += "-dark"
	}
	if err := os.WriteFile(filepath.Join(dir, p.name+".png"), png, 0o644); err != nil {
		return fmt.Errorf("write the picture: %w", err)
	}
	return nil
}

// kinds are the CRDs and adapters of the demo's kinds outside Kubernetes, and its calendar.
var kinds = []string{"test/demo/manifests/cnpg-crd.yaml", "test/demo/manifests/kubevirt-crd.yaml", "samples/adapter-own-kind/1-crd.yaml"}

// install applies the demo's objects in the namespace shop, with a few roll-outs of web behind them.
func install(ctx context.Context, env *harness.Env) error {
	if err := env.ApplyFiles(ctx, kinds...); err != nil {
		return err
	}
	if err := env.AwaitCRDs(ctx); err != nil {
		return err
	}
	if err := env.InstallAdapters(ctx, "deployments.apps", "daemonsets.apps", "statefulsets.apps", "replicasets.apps", "cronjobs.batch",
		"jobs.batch", "horizontalpodautoscalers.autoscaling", "clusters.postgresql.cnpg.io", "virtualmachines.kubevirt.io"); err != nil {
		return err
	}
	if err := env.ApplyFiles(ctx, "samples/adapter-own-kind/2-adapter.yaml", "samples/calendars/german-holidays.yaml"); err != nil {
		return err
	}
	if err := env.Apply(ctx, []byte("{apiVersion: v1, kind: Namespace, metadata: {name: shop}}")); err != nil {
		return err
	}
	for _, name := range []string{"workloads", "hpa", "cnpg", "kubevirt", "renderfarm", "shop", "policies", "freeze", "exception"} {
		text, err := os.ReadFile(filepath.Join("test", "demo", "manifests", name+".yaml"))
		if err != nil {
			return fmt.Errorf("read the demo: %w", err)
		}
		objects, err := harness.Objects(text)
		if err != nil {
			return err
		}
		for _, obj := range objects {
			obj.SetNamespace("shop")
			if name == "hpa" {
				obj.Object["spec"].(map[string]any)["minReplicas"] = int64(1)
				obj.Object["spec"].(map[string]any)["metrics"] = measured
			}
			if err := env.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(obj), client.FieldOwner("demo")); err != nil {
				return fmt.Errorf("apply %s %s: %w", obj.GetKind(), obj.GetName(), err)
			}
		}
	}
	if err := env.Apply(ctx, []byte(more)); err != nil {
		return err
	}
	return rollOut(ctx, env)
}

// more are objects besides those of the demo: an evening of work, and the next freeze.
const more = `
apiVersion: flyball.dev/v1alpha1
kind: Override
metadata: {name: release, namespace: shop}
spec:
  {effect: Awake, until: "2037-05-13T23:00", timeZone: Europe/Berlin, reason: the release, target: {selector: {matchLabels: {tier: app}}}}
---
apiVersion: flyball.dev/v1alpha1
kind: ClusterChangeFreeze
metadata: {name: year-end}
spec:
  target: {namespaces: [shop]}
  startTime: "2037-12-20T00:00:00+01:00"
  endTime: "2038-01-03T00:00:00+01:00"
  message: {reason: the end of the year}
`

// measured are metrics that the cluster has, in place of the demo's external ones.
var measured = []any{map[string]any{"type": "Resource", "resource": map[string]any{"name": "cpu",
	"target": map[string]any{"type": "AverageValue", "averageValue": "500m"}}}}

// rollOut changes the image of web, so that it has several ReplicaSets.
func rollOut(ctx context.Context, env *harness.Env) error {
	for _, image := range []string{"nginx:1.28", "nginx:1.29", "nginx:1.30"} {
		web := &appsv1.Deployment{}
		web.Namespace, web.Name = "shop", "web"
		if err := env.Patch(ctx, web, `{"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "`+image+`"}]}}}}`); err != nil {
			return err
		}
		if err := harness.Poll(ctx, harness.Patience, func() error {
			if err := env.Client.Get(ctx, client.ObjectKeyFromObject(web), web); err != nil {
				return err
			}
			if web.Status.ObservedGeneration != web.Generation || web.Status.AvailableReplicas != 3 || web.Status.Replicas != 3 {
				return errors.New("web is not rolled out")
			}
			return nil
		}); err != nil {
			return err
		}
	}
	return nil
}

// settle waits until the manager has counted the targets of each schedule and enforces the freezes, and the autoscaler has metrics.
func settle(ctx context.Context, env *harness.Env) error {
	return harness.Poll(ctx, harness.Patience, func() error {
		var all v1alpha1.ScheduleList
		if err := env.Client.List(ctx, &all, client.InNamespace("shop")); err != nil {
			return err
		}
		for _, s := range all.Items {
			if !meta.IsStatusConditionTrue(s.Status.Conditions, v1alpha1.ConditionReady) || s.Status.Targets == nil {
				return fmt.Errorf("the schedule %s is not ready", s.Name)
			}
		}
		var freeze v1alpha1.ChangeFreeze
		if err := env.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "holiday"}, &freeze); err != nil {
			return err
		}
		var yearEnd v1alpha1.ClusterChangeFreeze
		if err := env.Client.Get(ctx, client.ObjectKey{Name: "year-end"}, &yearEnd); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(freeze.Status.Conditions, v1alpha1.ConditionReady) ||
			!meta.IsStatusConditionTrue(yearEnd.Status.Conditions, v1alpha1.ConditionReady) {
			return errors.New("the freezes are not in force")
		}
		var hpa autoscalingv2.HorizontalPodAutoscaler
		if err := env.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "api"}, &hpa); err != nil {
			return err
		}
		if !slices.ContainsFunc(hpa.Status.Conditions, func(c autoscalingv2.HorizontalPodAutoscalerCondition) bool {
			return c.Type == autoscalingv2.ScalingActive && c.Status == corev1.ConditionTrue
		}) {
			return fmt.Errorf("the autoscaler has no metrics yet: %v", hpa.Status.Conditions)
		}
		return nil
	})
}
