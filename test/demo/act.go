package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/test/harness"
)

// frozenApp is the Deployment to change, with its current image, the image it gets, and an image it does not get.
const (
	frozenApp  = "web"
	imageOld   = "nginx:stable"
	imageFixed = "nginx:mainline"
	imageLate  = "nginx:alpine"
)

// refusal is the content of the message for a refused user: the policy, the reason, the contact, and the next allowed
// time.
var refusal = []string{
	`freeze.flyball.dev" denied the request`,
	"change of Deployment.apps/" + namespace + "/" + frozenApp + " refused",
	"ChangeFreeze/" + namespace + "/" + freezeName + " denies RollOut",
	"no changes around the holiday",
	"contact #release",
	"Next allowed: 2037-05-15T12:00:00+02:00 (" + zone + ")",
}

// reading is the time for which output stays unchanged on a terminal, so that a person can read it.
const reading = 2 * time.Second

// beat is one command of the act, as typed after kubectl.
type beat struct {
	// hour is the time of the command, from the start.
	hour    int
	says    string
	command string
	// refused means that the freeze must refuse the command. Otherwise it must succeed.
	refused bool
	// image is the Deployment's image afterwards. It is empty if the command does not change the Deployment.
	image string
}

func setImage(image string) string {
	return "-n " + namespace + " --as alice set image deployment/" + frozenApp + " main=" + image
}

// act returns the commands during the freeze.
func act() []beat {
	return []beat{
		{exceptionFrom, "Since 12:00 nobody may change a Deployment. alice, a developer, tries to. (The clock waits.)", setImage(imageFixed),
			true, imageOld},
		{exceptionFrom, "A vulnerability cannot wait. erin is on call and has the verb except: until 15:00 she lets alice do it.",
			"-n " + namespace + " --as erin apply -f " + manifest("exception.yaml"), false, ""},
		{exceptionFrom, "", "-n " + namespace + " get freezeexceptions.flyball.dev", false, ""},
		{exceptionFrom, "The same command again.", setImage(imageFixed), false, imageFixed},
		{exceptionTo, "The exception is over. alice tries one more.", setImage(imageLate), true, imageFixed},
	}
}

// freeze plays the act: the clock runs to each command and stops there.
func (d *demo) freeze(ctx context.Context, v *view) error {
	if err := d.runTo(ctx, exceptionFrom); err != nil {
		return err
	}
	return v.aside(func() error {
		err := d.until(ctx, harness.Patience, "wait for the freeze", func() ([]string, error) {
			if d.rec.freezeTrack().state != frozen {
				return []string{"ChangeFreeze/" + freezeName + " to be Frozen"}, nil
			}
			return nil, nil
		})
		if err != nil {
			return err
		}
		for i, b := range act() {
			if i > 0 && b.says != "" {
				d.letRead(ctx)
			}
			if err := d.play(ctx, b); err != nil {
				return err
			}
		}
		d.letRead(ctx)
		d.narrate(fmt.Sprintf("Frozen until %s. Schedules go on: what is frozen still sleeps and wakes.", stamp(d.begin.Add(freezeTo*time.Hour))))
		return nil
	})
}

// play runs one command, prints the output as on a terminal, and checks it.
func (d *demo) play(ctx context.Context, b beat) error {
	if err := d.runTo(ctx, b.hour); err != nil {
		return err
	}
	if b.image != "" {
		if err := d.awaitVerdict(ctx, b); err != nil {
			return err
		}
	}
	if b.says != "" {
		d.narrate(b.says)
	}
	d.screen.printf("     %s\n", d.screen.in(cyan, "$ kubectl "+b.command))
	printed, well, err := d.place.try(ctx, strings.Fields(b.command)...)
	if err != nil {
		return err
	}
	how := plain
	if !well {
		how = red
	}
	width, _ := d.screen.size()
	for _, line := range output(printed, well, width-6) {
		d.say("%s", d.screen.in(how, line))
	}
	if err := judged(b, printed, well); err != nil {
		return err
	}
	return d.consequence(ctx, b)
}

// letRead pauses on a terminal so that the user can read. No check depends on the pause.
func (d *demo) letRead(ctx context.Context) {
	if !d.screen.live {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(reading):
	}
}

// narrate prints the next event, with the demo's time.
func (d *demo) narrate(text string) {
	before := stamp(d.clock.Now())
	width, _ := d.screen.size()
	d.screen.printf("\n")
	for _, line := range wrap(text, width-7-len(before)) {
		d.say("%s  %s", before, d.screen.in(bold, line))
		before = fit("", len(before))
	}
}

// output fits kubectl's output to a width: errors are prose and wrapped, anything else may be a table and is cut.
func output(printed string, well bool, width int) []string {
	if !well {
		return wrap(printed, width)
	}
	var out []string
	for line := range strings.Lines(printed) {
		out = append(out, strings.TrimRight(fit(strings.TrimSpace(line), width), " "))
	}
	return out
}

// judged returns an error if a command did not have the expected result.
func judged(b beat, printed string, well bool) error {
	switch {
	case !b.refused && !well:
		return fmt.Errorf("kubectl %s: should have passed", b.command)
	case b.refused && well:
		return fmt.Errorf("kubectl %s: should have been refused", b.command)
	case !b.refused:
		return nil
	}
	flat := strings.Join(strings.Fields(printed), " ")
	for _, part := range refusal {
		if !strings.Contains(flat, part) {
			return fmt.Errorf("kubectl %s: the refusal does not say %q", b.command, part)
		}
	}
	return nil
}

// awaitVerdict waits until a dry run gets the expected verdict. Dry runs are not counted.
func (d *demo) awaitVerdict(ctx context.Context, b beat) error {
	args := append(strings.Fields(b.command), "--dry-run=server")
	missing := []string{"the exception to let it pass"}
	if b.refused {
		missing = []string{"the freeze to refuse it"}
	}
	answer := ""
	err := d.until(ctx, harness.Patience, "try kubectl "+strings.Join(args, " "), func() ([]string, error) {
		printed, well, err := d.place.try(ctx, args...)
		if err != nil || judged(b, printed, well) == nil {
			return nil, err
		}
		answer = printed
		return missing, nil
	})
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("%w; kubectl says:\n%s", err, answer)
	}
	return err
}

// consequence checks, or waits for, the effect of a command.
func (d *demo) consequence(ctx context.Context, b beat) error {
	switch {
	case b.image == "" && !strings.Contains(b.command, " apply "):
		return nil
	case b.image == "":
		return d.until(ctx, harness.Patience, "wait for the exception", func() ([]string, error) {
			var e v1alpha1.FreezeException
			err := d.env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: exceptionName}, &e)
			if err == nil && (!e.Status.Active || e.Status.CreatedBy != "erin") {
				return []string{"FreezeException/" + exceptionName + " to be Active, made by erin"}, nil
			}
			return nil, err
		})
	}
	var live appsv1.Deployment
	if err := d.env.Client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: frozenApp}, &live); err != nil {
		return fmt.Errorf("read Deployment/%s: %w", frozenApp, err)
	}
	if got := live.Spec.Template.Spec.Containers[0].Image; got != b.image {
		return fmt.Errorf("kubectl %s: the image of Deployment/%s is %s, should be %s", b.command, frozenApp, got, b.image)
	}
	if b.refused {
		d.refused++
		return nil
	}
	d.passed++
	return d.rec.permit(deployments, frozenApp, withImage(b.image))
}

// withImage sets the image of a Deployment with one container, and increments its revision as Kubernetes does.
func withImage(image string) func(*unstructured.Unstructured) error {
	return func(obj *unstructured.Unstructured) error {
		containers, _, err := unstructured.NestedSlice(obj.Object, "spec", "template", "spec", "containers")
		if err != nil || len(containers) != 1 {
			return fmt.Errorf("read the containers of %s: %d found: %w", obj.GetName(), len(containers), err)
		}
		container, ok := containers[0].(map[string]any)
		if !ok {
			return errors.New("a container is no object")
		}
		container["image"] = image
		if err := unstructured.SetNestedSlice(obj.Object, containers, "spec", "template", "spec", "containers"); err != nil {
			return err
		}
		const counter = "deployment.kubernetes.io/revision"
		annotations := obj.GetAnnotations()
		revision, err := strconv.Atoi(annotations[counter])
		if err != nil {
			return fmt.Errorf("read the revision of %s: %w", obj.GetName(), err)
		}
		annotations[counter] = strconv.Itoa(revision + 1)
		obj.SetAnnotations(annotations)
		return nil
	}
}
