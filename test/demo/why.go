package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// explained is the object whose explanation is shown. Two schedules select it.
const explained = "checkout"

// why shows kubectl flyball explain for one object at the end, and compares the predicted transitions of every object
// with the table of the week.
func (d *demo) why(ctx context.Context) error {
	tracks := d.rec.snapshot()
	var wrong []string
	shown := ""
	for i := range tracks {
		t := &tracks[i].target
		args := []string{"explain", t.resource.GroupResource().String() + "/" + t.name, "--namespace", namespace}
		told, err := d.flyball(ctx, append(args, "--output", "json")...)
		if err != nil {
			return err
		}
		var story struct {
			Next []struct {
				At time.Time `json:"at"`
			} `json:"next"`
		}
		if err := json.Unmarshal([]byte(told), &story); err != nil {
			return fmt.Errorf("read the story of %s: %w", t, err)
		}
		due := t.week.sleeps(d.begin)
		switch {
		case due.IsZero() && len(story.Next) > 0:
			wrong = append(wrong, fmt.Sprintf("%s is never to change, and is told to at %s", t, stamp(story.Next[0].At.In(d.begin.Location()))))
		case !due.IsZero() && (len(story.Next) == 0 || !story.Next[0].At.Equal(due)):
			wrong = append(wrong, fmt.Sprintf("%s sleeps next at %s, and is told %v", t, stamp(due), story.Next))
		}
		if t.resource == deployments && t.name == explained {
			if shown, err = d.flyball(ctx, args...); err != nil {
				return err
			}
		}
	}
	d.screen.printf("\n%s\n\n", d.screen.in(bold, "Why it is as it is, and what comes next"))
	d.screen.printf("  %s\n", d.screen.in(cyan, "$ kubectl flyball explain deployment/"+explained+" --namespace "+namespace))
	d.screen.printf("  %s\n\n", strings.ReplaceAll(strings.TrimSpace(shown), "\n", "\n  "))
	d.tell(len(wrong) == 0, "Explained %d of %d truly: the next change by the table of the week", len(tracks)-len(wrong), len(tracks))
	for _, w := range wrong {
		d.screen.printf("     %s\n", w)
	}
	if len(wrong) > 0 {
		return errNotKept
	}
	return nil
}

// sleeps returns the time at which a target next sleeps after the last Monday morning, by Tuesday's hours: on the first
// Monday an Override is in force. Zero means never.
func (w *week) sleeps(begin time.Time) time.Time {
	if w == nil {
		return time.Time{}
	}
	_, to, _ := strings.Cut(w[1], "-")
	hour, _ := strconv.Atoi(to) // a mistake in the table would fail its test
	return begin.AddDate(0, 0, days).Add(time.Duration(hour) * time.Hour)
}

// flyball runs kubectl flyball by the demo's clock and returns its output.
func (d *demo) flyball(ctx context.Context, args ...string) (string, error) {
	var out, words bytes.Buffer
	args = append(args, "--time-zone", zone)
	if d.place.cluster != nil { // otherwise KUBECONFIG names it, possibly with several files
		args = append(args, "--kubeconfig", d.place.kubeconfig)
	}
	code := cli.Run(ctx, args, factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &words},
		Now: d.clock.Now})
	if code != 0 {
		return "", fmt.Errorf("kubectl flyball %s ended with %d: %s", strings.Join(args, " "), code, strings.TrimSpace(words.String()))
	}
	return out.String(), nil
}
