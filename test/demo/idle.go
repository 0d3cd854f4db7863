package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/test/harness"
)

const idleNamespace = "flyball-demo-idle"

// idleText is an app, and a schedule by the requests for it.
const idleText = `
{apiVersion: v1, kind: Namespace, metadata: {name: ` + idleNamespace + `}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: ` + idleNamespace + `, name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {terminationGracePeriodSeconds: 0, containers: [{name: main, image: "example.com/app:1"}]}
---
apiVersion: flyball.dev/v1alpha1
kind: ClusterSchedule
metadata: {name: ` + idleNamespace + `}
spec:
  target: {namespaces: [` + idleNamespace + `]}
  idle: {demand: %q, asleepAfter: 10s, interval: 2s}
`

// haproxy returns the path of HAProxy, or "" without one. The demo installs nothing.
func haproxy() string {
	for _, name := range []string{"haproxy", "/usr/sbin/haproxy"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// idle lets an app behind a real HAProxy sleep without requests, as a real Prometheus counts them, and wakes it by a request. It runs last,
// because a manager on the machine's clock takes over.
func (d *demo) idle(ctx context.Context) error {
	d.screen.printf("\n%s\n\n", d.screen.in(bold, "Asleep while nobody asks, awake at the first request"))
	if haproxy() == "" {
		d.say("Left out: it needs HAProxy (the package haproxy), which is not installed.")
		return nil
	}
	dir, err := os.MkdirTemp("", "flyball-demo-idle-")
	if err != nil {
		return fmt.Errorf("make a directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	front, stopFront, err := harness.StartFront(haproxy(), dir, idleNamespace, "web", d.log)
	if err != nil {
		return err
	}
	defer stopFront()
	url, stopPrometheus, err := harness.Prometheus{Binary: d.place.cluster.Bin("prometheus"),
		Config: harness.ScrapeFronts(front.Metrics)}.Run(dir, d.log)
	if err != nil {
		return err
	}
	defer stopPrometheus()
	if d.manager != nil {
		if err := d.manager.Stop(); err != nil {
			return fmt.Errorf("stop the manager: %w", err)
		}
	}
	d.manager = d.env.Start(harness.Options{Log: d.log, Config: d.place.config, Webhook: d.hook,
		Prometheus: app.PrometheusOptions{Address: url}})
	if d.hook.Enabled {
		if err := d.awaitWebhook(ctx); err != nil {
			return err
		}
	}
	if err := d.applyText(ctx, fmt.Sprintf(idleText, harness.FrontDemand)); err != nil {
		return err
	}
	serving, stopApp := context.WithCancel(ctx)
	served := make(chan error, 1)
	web := client.ObjectKey{Namespace: idleNamespace, Name: "web"}
	go func() { served <- d.env.ServeApp(serving, web, front.App) }()
	err = d.idleTimes(ctx, web, front)
	stopApp()
	return errors.Join(err, <-served)
}

// idleTimes uses the app, leaves it alone, and asks for it again. It prints the times.
func (d *demo) idleTimes(ctx context.Context, web client.ObjectKey, front harness.Front) error {
	page := func(want string) error {
		return d.until(ctx, harness.Patience, "ask for the app", func() ([]string, error) {
			if got, err := front.Get(ctx); err != nil || !strings.Contains(got, want) {
				return []string{want}, nil //nolint:nilerr // HAProxy is starting
			}
			return nil, nil
		})
	}
	replicas := func(want int32) error {
		return d.until(ctx, harness.Patience, "wait for the app", func() ([]string, error) {
			var found appsv1.Deployment
			if err := d.env.Client.Get(ctx, web, &found); err != nil {
				return nil, err
			}
			if *found.Spec.Replicas != want {
				return []string{fmt.Sprintf("%d replicas", want)}, nil
			}
			return nil, nil
		})
	}
	if err := page("the app"); err != nil {
		return err
	}
	last := time.Now()
	d.say("$ curl %s   ->  the app", front.URL)
	if err := replicas(0); err != nil {
		return err
	}
	slept := time.Since(last)
	asked := time.Now()
	if err := page("waking up"); err != nil {
		return err
	}
	d.say("$ curl %s   ->  503, the app is waking up", front.URL)
	if err := replicas(2); err != nil {
		return err
	}
	woke := time.Since(asked)
	if err := page("the app"); err != nil {
		return err
	}
	d.say("$ curl %s   ->  the app", front.URL)
	d.tell(true, "Idle      asleep %.1f s after its last request, awake %.1f s after the next one, served after %.1f s",
		slept.Seconds(), woke.Seconds(), time.Since(asked).Seconds())
	return nil
}
