package main

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/workload"
)

const (
	zonesNamespace = "flyball-demo-zones"
	zoneLabel      = "topology.kubernetes.io/zone"
	zonePods       = 18
	// zoneMost is the maximum difference between zones after a Deployment with deletion costs is scaled down.
	zoneMost = 1
)

// zonesText has two equal Deployments, and a policy for one of them.
const zonesText = `
apiVersion: v1
kind: Namespace
metadata: {name: ` + zonesNamespace + `}
---
%s---
%s---
apiVersion: flyball.dev/v1alpha1
kind: DeletionCost
metadata: {namespace: ` + zonesNamespace + `, name: even-zones}
spec:
  target: {names: [with]}
  writesPerSecond: 100
`

const zonesDeployment = `apiVersion: apps/v1
kind: Deployment
metadata: {namespace: ` + zonesNamespace + `, name: %[1]s}
spec:
  replicas: %[2]d
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s}}
    spec:
      terminationGracePeriodSeconds: 0
      containers: [{name: main, image: "example.com/app:1"}]
`

// zones scales down two Deployments, one of them with deletion costs, and counts the pods in each zone.
func (d *demo) zones(ctx context.Context) error {
	d.screen.printf("\n%s\n", d.screen.in(bold, "Scaling down, with deletion costs and without"))
	text := fmt.Sprintf(zonesText, fmt.Sprintf(zonesDeployment, "with", zonePods), fmt.Sprintf(zonesDeployment, "without", zonePods))
	if err := d.applyText(ctx, text); err != nil {
		return err
	}
	of, err := d.zonesOfNodes(ctx)
	if err != nil {
		return err
	}
	d.screen.printf("\n     %-6s  %-28s  %s\n", "pods", "without", "with")
	worst := map[string]int{}
	for n := zonePods; n > 0; n -= zonePods / 6 {
		if err := d.scaleZones(ctx, n); err != nil {
			return err
		}
		shown := map[string]string{}
		for _, app := range []string{"without", "with"} {
			count, err := d.countZones(ctx, app, of)
			if err != nil {
				return err
			}
			var parts []string
			for _, zone := range slices.Sorted(maps.Keys(count)) {
				parts = append(parts, fmt.Sprintf("%-7s", strings.Repeat("█", count[zone])))
			}
			shown[app] = strings.Join(parts, " ")
			numbers := slices.Collect(maps.Values(count))
			if n < zonePods {
				worst[app] = max(worst[app], slices.Max(numbers)-slices.Min(numbers))
			}
		}
		d.screen.printf("     %-6d  %s       %s\n", n, shown["without"], shown["with"])
	}
	ok := worst["with"] <= zoneMost
	d.screen.printf("\n")
	d.tell(ok, "Zones     differ by at most %d with deletion costs, by %d without", worst["with"], worst["without"])
	if !ok {
		return errNotKept
	}
	return nil
}

// runQuietly runs a command; its error has the command's output.
func runQuietly(cmd *exec.Cmd) error {
	var words bytes.Buffer
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, strings.TrimSpace(words.String()))
	}
	return nil
}

// zonesOfNodes returns the zone of each node.
func (d *demo) zonesOfNodes(ctx context.Context) (map[string]string, error) {
	var nodes corev1.NodeList
	if err := d.env.Client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	of := map[string]string{}
	for i := range nodes.Items {
		of[nodes.Items[i].Name] = nodes.Items[i].Labels[zoneLabel]
	}
	return of, nil
}

// scaleZones scales both Deployments and waits until all their pods are ready, and before the first scale-down also
// until the deletion costs are set.
func (d *demo) scaleZones(ctx context.Context, n int) error {
	for _, app := range []string{"with", "without"} {
		if _, err := d.place.run(ctx, "--namespace", zonesNamespace, "scale", "deployment", app, fmt.Sprintf("--replicas=%d", n)); err != nil {
			return err
		}
	}
	return d.until(ctx, time.Minute, "zones", func() ([]string, error) {
		var missing []string
		for _, app := range []string{"with", "without"} {
			pods, err := d.zonePods(ctx, app)
			if err != nil {
				return nil, err
			}
			ready, costed := 0, 0
			for i := range pods {
				if isReady(&pods[i]) {
					ready++
				}
				if pods[i].Annotations[workload.CostAnnotation] != "" {
					costed++
				}
			}
			if len(pods) != n || ready != n {
				missing = append(missing, fmt.Sprintf("%s: %d of %d pods", app, ready, n))
			}
			// One pod in each of three zones needs no cost, because it is deleted last.
			if app == "with" && n == zonePods && costed < n-3 {
				missing = append(missing, fmt.Sprintf("deletion costs: %d of %d pods", costed, n-3))
			}
		}
		return missing, nil
	})
}

func isReady(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// zonePods returns the pods of one Deployment that are not being deleted.
func (d *demo) zonePods(ctx context.Context, app string) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := d.env.Client.List(ctx, &list, client.InNamespace(zonesNamespace), client.MatchingLabels{"app": app}); err != nil {
		return nil, fmt.Errorf("list the pods of %s: %w", app, err)
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.DeletionTimestamp != nil }), nil
}

// countZones returns the number of pods of one Deployment in each zone, including empty zones.
func (d *demo) countZones(ctx context.Context, app string, of map[string]string) (map[string]int, error) {
	pods, err := d.zonePods(ctx, app)
	if err != nil {
		return nil, err
	}
	count := map[string]int{}
	for _, zone := range of {
		count[zone] += 0
	}
	for i := range pods {
		count[of[pods[i].Spec.NodeName]]++
	}
	return count, nil
}
