package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

const (
	tunedNamespace = "flyball-demo-tuning"
	tunedApp       = "shopfront"
	// These are the owner's values: a core and a GiB per pod, 5 to 20 pods, and a target utilisation of 50 %.
	tunedMilli, tunedMin, tunedMax, tunedTarget = 1000, 5, 20, 50
	// tunedMemory is the memory usage of a pod, in bytes.
	tunedMemory = 300 << 20
	// tunedStep is the time between two measurements of the simulated load.
	tunedStep = 2 * time.Minute
)

// tunedText is a Deployment with an autoscaler.
const tunedText = `
{apiVersion: v1, kind: Namespace, metadata: {name: %[1]s}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  replicas: %[4]d
  selector: {matchLabels: {app: %[2]s}}
  template:
    metadata: {labels: {app: %[2]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1", resources: {requests: {cpu: %[3]dm, memory: 1Gi}}}]
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {namespace: %[1]s, name: %[2]s}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: %[2]s}
  minReplicas: %[4]d
  maxReplicas: %[5]d
  metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: %[6]d}}}]
`

// load returns the app's demand over all pods at an instant, in milli-CPU. It is half a core at three at night and four
// cores in the afternoon, and less at weekends.
func load(at time.Time) float64 {
	hour := float64(at.Hour()) + float64(at.Minute())/60
	need := 2250 - 1750*math.Cos(2*math.Pi*(hour-3)/24)
	if day := at.Weekday(); day == time.Saturday || day == time.Sunday {
		need *= 0.6
	}
	return need
}

// setting has the values of the Deployment and its autoscaler.
type setting struct {
	milliCPU, memory          int64
	minimum, maximum, percent int32
}

// pods returns the number of pods that an autoscaler sets for a load, with a minimum.
func (s setting) pods(milli float64, minimum int32) float64 {
	wanted := math.Ceil(milli * 100 / float64(s.milliCPU) / float64(s.percent))
	return min(max(wanted, float64(minimum)), float64(s.maximum))
}

// costs are the costs of the day ahead: the requests, and the used fraction of the CPU.
type costs struct{ coreHours, gibHours, used float64 }

// day sums up the 24 hours from an instant on; minima returns the minimum of each hour.
func (s setting) day(from time.Time, minima func(hour int) int32) (c costs) {
	need := 0.0
	for at := from; at.Before(from.Add(24 * time.Hour)); at = at.Add(tunedStep) {
		pods := s.pods(load(at), minima(int(at.Sub(from)/time.Hour)))
		c.coreHours += pods * float64(s.milliCPU) / 1000 * tunedStep.Hours()
		c.gibHours += pods * float64(s.memory) / (1 << 30) * tunedStep.Hours()
		need += load(at) / 1000 * tunedStep.Hours()
	}
	c.used = need / c.coreHours
	return c
}

// tune tunes a Deployment over the week by its usage, shows the values before and after, and restores it.
func (d *demo) tune(ctx context.Context) error {
	d.screen.printf("\n%s\n\n", d.screen.in(bold, "A Deployment tuned over the week, by its simulated load"))
	if err := d.applyText(ctx, fmt.Sprintf(tunedText, tunedNamespace, tunedApp, tunedMilli, tunedMin, tunedMax, tunedTarget)); err != nil {
		return err
	}
	before, err := d.settingNow(ctx)
	if err != nil {
		return err
	}
	t, st, err := d.tuned(ctx, before)
	if err != nil {
		return err
	}
	after, err := d.settingNow(ctx)
	if err != nil {
		return err
	}
	hours := st.Autoscaler.MinByHour
	was := before.day(d.clock.Now(), func(int) int32 { return before.minimum })
	is := after.day(d.clock.Now(), func(hour int) int32 { return hours[min(hour, len(hours)-1)] })
	d.compare(before, after, was, is, slices.Min(hours), slices.Max(hours))
	restored, err := d.untuned(ctx, t, before)
	if err != nil {
		return err
	}
	ok := restored && is.coreHours < was.coreHours && is.gibHours < was.gibHours
	d.tell(ok, "Tuned     %.0f %% fewer core hours and %.0f %% fewer GiB hours for the same load; given back exactly",
		100-100*is.coreHours/was.coreHours, 100-100*is.gibHours/was.gibHours)
	if !ok {
		return errNotKept
	}
	return nil
}

// compare prints the values before and after, and their effect on the day ahead.
func (d *demo) compare(before, after setting, was, is costs, lowest, highest int32) {
	row := func(what, a, b string) { d.say("%-34s %-10s %s", what, a, b) }
	row("", "before", "after")
	row("a pod requests", fmt.Sprintf("%dm", before.milliCPU), fmt.Sprintf("%dm", after.milliCPU))
	row("", fmt.Sprintf("%dMi", before.memory>>20), fmt.Sprintf("%dMi", after.memory>>20))
	row("pods at least, over the day ahead", fmt.Sprint(before.minimum), fmt.Sprintf("%d to %d", lowest, highest))
	row("another pod above", fmt.Sprintf("%d %%", before.percent), fmt.Sprintf("%d %%", after.percent))
	row("core hours of the day ahead", fmt.Sprintf("%.0f", was.coreHours), fmt.Sprintf("%.0f", is.coreHours))
	row("of which are used", fmt.Sprintf("%.0f %%", 100*was.used), fmt.Sprintf("%.0f %%", 100*is.used))
	row("GiB hours", fmt.Sprintf("%.0f", was.gibHours), fmt.Sprintf("%.0f", is.gibHours))
	d.screen.printf("\n")
}

// tuned tunes the simulated app over the week, then creates the Tortoise, which continues from there, and waits until
// all its recommendations are applied.
func (d *demo) tuned(ctx context.Context, before setting) (*v1alpha1.Tortoise, v1alpha1.RecommendationStatus, error) {
	t := &v1alpha1.Tortoise{ObjectMeta: metav1.ObjectMeta{Namespace: tunedNamespace, Name: tunedApp}}
	t.Spec.Target.Kinds = []v1alpha1.KindRef{{Group: "apps", Kind: "Deployment"}}
	t.Spec.Mode = v1alpha1.TortoiseAuto
	learner, days, err := tunedWeek(t, before, d.begin, d.clock.Now())
	if err != nil {
		return nil, v1alpha1.RecommendationStatus{}, err
	}
	d.showDays(days)
	t.Spec.Vertical.MaxStepDown = "80%" // from here on in one step, since the clock stands
	if err := d.remember(ctx, learner); err != nil {
		return nil, v1alpha1.RecommendationStatus{}, err
	}
	if err := d.env.Client.Create(ctx, t); err != nil {
		return nil, v1alpha1.RecommendationStatus{}, fmt.Errorf("create the Tortoise: %w", err)
	}
	var r v1alpha1.Recommendation
	err = d.until(ctx, harness.Patience, "tuning", func() ([]string, error) {
		err := d.env.Client.Get(ctx, client.ObjectKey{Namespace: tunedNamespace, Name: "deployment.apps-" + tunedApp}, &r)
		if client.IgnoreNotFound(err) != nil {
			return nil, err
		}
		c, a := r.Status.Containers, r.Status.Autoscaler
		if len(c) != 1 || c[0].CPU == nil || !c[0].CPU.Applied || c[0].Memory == nil || !c[0].Memory.Applied ||
			a == nil || !a.Min.Applied || a.Utilisation == nil || !a.Utilisation.Applied || len(a.MinByHour) == 0 {
			return []string{"what is recommended to be in place"}, nil
		}
		return nil, nil
	})
	return t, r.Status, err
}

// untuned deletes the Tortoise, and reports whether everything was restored.
func (d *demo) untuned(ctx context.Context, t *v1alpha1.Tortoise, before setting) (bool, error) {
	if err := d.env.Client.Delete(ctx, t); err != nil {
		return false, fmt.Errorf("delete the Tortoise: %w", err)
	}
	now := setting{}
	err := d.until(ctx, harness.Patience, "giving back", func() ([]string, error) {
		err := d.env.Client.Get(ctx, client.ObjectKeyFromObject(t), t)
		if apierrors.IsNotFound(err) {
			now, err = d.settingNow(ctx)
			return nil, err
		}
		return []string{"the Tortoise to go"}, err
	})
	return now == before, err
}

// settingNow returns the current values.
func (d *demo) settingNow(ctx context.Context) (setting, error) {
	var app appsv1.Deployment
	var scaler autoscalingv2.HorizontalPodAutoscaler
	at := client.ObjectKey{Namespace: tunedNamespace, Name: tunedApp}
	if err := errors.Join(d.env.Client.Get(ctx, at, &app), d.env.Client.Get(ctx, at, &scaler)); err != nil {
		return setting{}, fmt.Errorf("read what is set: %w", err)
	}
	requests := app.Spec.Template.Spec.Containers[0].Resources.Requests
	return setting{
		milliCPU: requests.Cpu().MilliValue(), memory: requests.Memory().Value(),
		minimum: *scaler.Spec.MinReplicas, maximum: scaler.Spec.MaxReplicas, percent: *scaler.Spec.Metrics[0].Resource.Target.AverageUtilization,
	}, nil
}

// applyText applies objects with kubectl, again while the manager's webhook asks for that, as on a busy machine.
func (d *demo) applyText(ctx context.Context, text string) error {
	return d.until(ctx, harness.Patience, "apply objects", func() ([]string, error) {
		apply := d.place.command(ctx, "apply", "-f", "-")
		apply.Stdin = strings.NewReader(text)
		err := runQuietly(apply)
		if err != nil && strings.Contains(err.Error(), "nothing is changed, try again") {
			return []string{"answers of the API server to the webhook"}, nil
		}
		return nil, err
	})
}
