package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/cmd/flyball-manager/app"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// These are the freeze of the week and its exception, as in manifests/freeze.yaml and manifests/exception.yaml, in
// hours from the start. The exception begins when a user wants to make a change.
const (
	freezeFrom, freezeTo       = 2*24 + 12, 4*24 + 12
	exceptionFrom, exceptionTo = 2*24 + 14, 2*24 + 15
	freezeName                 = "holiday"
	exceptionName              = "hotfix"
)

// freezable reports whether a freeze can be shown. A remote API server cannot reach the webhook on this machine.
func (d *demo) freezable() bool { return d.place.cluster != nil }

// webhook returns the options of the webhook, on a free port.
func (d *demo) webhook(ctx context.Context) (app.WebhookOptions, error) {
	if _, err := d.place.run(ctx, "create", "namespace", harness.Namespace); err != nil {
		return app.WebhookOptions{}, err
	}
	port, err := harness.Port()
	if err != nil {
		return app.WebhookOptions{}, err
	}
	const host = "127.0.0.1"
	return app.WebhookOptions{Enabled: true, Host: host, Port: port, URL: fmt.Sprintf("https://%s:%d", host, port),
		Secret: "flyball-webhook-cert"}, nil
}

// awaitWebhook waits until the API server calls the manager and refuses a schedule with an error that only the manager
// can detect.
func (d *demo) awaitWebhook(ctx context.Context) error {
	return d.until(ctx, harness.Patience, "wait for the webhook", func() ([]string, error) {
		wrong := &v1alpha1.Schedule{}
		wrong.Namespace, wrong.Name = namespace, "wrong"
		wrong.Spec.Upscale, wrong.Spec.Downscale, wrong.Spec.TimeZone = "0 8 * * *", "0 20 * * *", "Nowhere/Land"
		if err := d.env.Client.Create(ctx, wrong, client.DryRunAll); err != nil && strings.Contains(err.Error(), "spec.timeZone") {
			return nil, nil
		}
		return []string{"an answer of the webhook"}, nil
	})
}

// newFreeze returns the track of the freeze.
func newFreeze() *track {
	return &track{target: target{kind: "ChangeFreeze", name: freezeName, resource: freezes, read: freezeLevel, pods: noPods}, state: open}
}

// freezeLevel returns the next transition of the freeze.
func freezeLevel(obj *unstructured.Unstructured) level {
	at := func(field string) string {
		// A value that is not an instant is shown unchanged.
		raw := text(obj, "spec", field)
		loc, err := time.LoadLocation(zone)
		if t, bad := time.Parse(time.RFC3339, raw); err == nil && bad == nil {
			return t.In(loc).Format("Mon 15:04")
		}
		return raw
	}
	switch text(obj, "status", "state") {
	case "Frozen":
		return level{"to " + at("endTime"), 1}
	case "Ended":
		return level{"over", 0}
	default:
		return level{"from " + at("startTime"), 0}
	}
}

// unfinished returns the transitions of the freeze that were not seen by the end.
func (d *demo) unfinished() []string {
	f := d.rec.freezeTrack()
	if f == nil {
		return nil
	}
	return slices.Concat(frozenAsDue(f, d.begin), deniedAsSeen(f, d.refused))
}

// frozenAsDue returns the differences between the seen and the due transitions of the freeze.
func frozenAsDue(f *track, begin time.Time) (wrong []string) {
	due := []change{{at: begin.Add(freezeFrom * time.Hour), state: frozen}, {at: begin.Add(freezeTo * time.Hour), state: open}}
	if len(f.history) != len(due) {
		return []string{fmt.Sprintf("%s changed %d times, not %d times", f, len(f.history), len(due))}
	}
	for i, c := range f.history {
		if late := c.at.Sub(due[i].at); c.state != due[i].state || late < 0 || late > tolerance {
			wrong = append(wrong, fmt.Sprintf("%s was %s at %s, should have been %s at %s", f, c.state, stamp(c.at), due[i].state, stamp(due[i].at)))
		}
	}
	return wrong
}

// deniedAsSeen returns the difference between the freeze's count and the refused changes.
func deniedAsSeen(f *track, refused int) []string {
	if f.latest == nil {
		return []string{fmt.Sprintf("%s was not seen", f)}
	}
	counted, last := integer(f.latest, "status", "denied", "rollOut"), text(f.latest, "status", "lastDenial", "user")
	if counted != int64(refused) || last != "alice" {
		return []string{fmt.Sprintf("%s says that it refused %d roll-outs, the last one to %q; it was %d to %q", f, counted, last, refused,
			"alice")}
	}
	return nil
}

// transitionsIn returns the number of Deployments' transitions due during the freeze, and the number seen.
func transitionsIn(tracks []track) (due, seen int) {
	for i := range tracks {
		t := &tracks[i]
		if t.week == nil || t.resource != deployments {
			continue
		}
		for n, hour := range t.week.transitions() {
			if hour < freezeFrom || hour >= freezeTo {
				continue
			}
			due++
			if n < len(t.history) {
				seen++
			}
		}
	}
	return due, seen
}
