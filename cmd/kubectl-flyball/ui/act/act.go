// Package act prepares the actions of the pages. An action is an edit as by the verbs wake, sleep, except, pause or
// resume, and uses the code of these verbs. Its effect and its command are known before anything is written.
package act

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"

	"flyball.dev/flyball/cmd/kubectl-flyball/except"
	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/wake"
	"flyball.dev/flyball/engine/admit/freezecheck"
)

// Around is the environment in which an action is prepared.
type Around struct {
	World *source.World
	// User is the person whose changes the freezes judge.
	User             freezecheck.User
	Now              time.Time
	Zone             *time.Location
	FlyballNamespace string
	// DryRun is true if the API server only checks the edit and writes nothing.
	DryRun bool
}

// Action is an edit with its effect.
type Action struct {
	// Command is the kubectl command that does the same.
	Command string
	Effect  report.Finding
	// Form has the fields of the action. Its instants are absolute, so that the form means the same when it is sent again.
	Form url.Values

	write func(ctx context.Context, client dynamic.Interface, manager string) error
}

// Write makes the edit. If the action was prepared as a dry run, the API server only checks it.
func (a *Action) Write(ctx context.Context, client dynamic.Interface, manager string) error {
	return a.write(ctx, client, manager)
}

func (in Around) dryRun() []string {
	if in.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// Of returns the action of a form. The form's fields have the names of the verb's flags, and the field on has
// KIND/NAME.
func Of(ctx context.Context, in Around, form url.Values) (*Action, error) {
	switch verb := form.Get("verb"); verb {
	case "wake", "sleep":
		return in.wake(ctx, verb, form)
	case "except":
		return in.except(ctx, form)
	case "pause", "resume":
		return in.pause(verb, form)
	default:
		return nil, fmt.Errorf("there is no action %q", verb)
	}
}

// fixed returns a form with the verb, the object and the namespace of the given form.
func fixed(verb string, form url.Values) url.Values {
	return url.Values{"verb": {verb}, "on": {form.Get("on")}, "namespace": {form.Get("namespace")}}
}

func (in Around) wake(ctx context.Context, verb string, form url.Values) (*Action, error) {
	on, namespace, reason := form.Get("on"), form.Get("namespace"), form.Get("reason")
	var until time.Time
	a := &Action{Form: fixed(verb, form)}
	words := []string{verb, on}
	if verb == "wake" {
		span := form.Get("for")
		if form.Get("until") != "" {
			span = ""
		}
		var err error
		if until, err = wake.End(span, form.Get("until"), in.Now, in.Zone); err != nil {
			return nil, err
		}
		text := until.UTC().Format(time.RFC3339)
		a.Form.Set("until", text)
		a.Form.Set("reason", reason)
		words = append(words, "--until", text)
		if reason != "" {
			words = append(words, "--reason", reason)
		}
	}
	place, err := wake.Find(in.World, on, namespace)
	if err != nil {
		return nil, err
	}
	places := []wake.Place{place}
	effect, err := wake.Awake.Of(ctx, in.World, places, until, reason, in.Now, in.Zone)
	if err != nil {
		return nil, err
	}
	effect.DryRun = in.DryRun
	a.Effect, a.Command = effect, Command(place.Namespace, words...)
	a.write = func(ctx context.Context, client dynamic.Interface, manager string) error {
		return wake.Awake.Write(ctx, client, places, until, reason, metav1.PatchOptions{FieldManager: manager, DryRun: in.dryRun()})
	}
	return a, nil
}

func (in Around) except(ctx context.Context, form url.Values) (*Action, error) {
	on, from := form.Get("on"), in.Now
	if text := form.Get("from"); text != "" {
		var err error
		if from, err = instant.Parse(text, in.Now, in.Zone); err != nil {
			return nil, err
		}
	}
	spec := except.ExceptionSpec{Namespace: form.Get("namespace"), Cluster: form.Get("cluster") != "", Reason: form.Get("reason"),
		Ticket: form.Get("ticket")}
	if err := spec.Read(form["allow"], from, form.Get("for")); err != nil {
		return nil, err
	}
	if err := spec.Select(in.World, []string{on}); err != nil {
		return nil, err
	}
	preview, err := except.Foresee(ctx, in.World, spec, in.User, in.FlyballNamespace, in.Zone)
	if err != nil {
		return nil, err
	}
	if why := preview.Useless(); why != "" {
		return nil, fmt.Errorf("the exception would lift nothing, so it is not made: %s", why)
	}
	preview.DryRun = in.DryRun
	a := &Action{Effect: preview, Form: fixed("except", form)}
	words := []string{"except", on, "--allow", strings.Join(form["allow"], ","), "--for", form.Get("for"), "--reason", spec.Reason}
	if spec.Ticket != "" {
		words = append(words, "--ticket", spec.Ticket)
	}
	if spec.Cluster {
		words = append(words, "--cluster")
	}
	a.Command = Command(spec.Namespace, words...)
	for _, name := range []string{"allow", "for", "reason", "ticket", "cluster"} {
		a.Form[name] = form[name]
	}
	a.Form.Set("from", spec.From.UTC().Format(time.RFC3339))
	a.write = func(ctx context.Context, client dynamic.Interface, manager string) error {
		return preview.Create(ctx, client, metav1.CreateOptions{FieldManager: manager, DryRun: in.dryRun()})
	}
	return a, nil
}

func (in Around) pause(verb string, form url.Values) (*Action, error) {
	on, namespace := form.Get("on"), form.Get("namespace")
	id, err := in.World.FindPolicy(on, namespace)
	if err != nil {
		return nil, err
	}
	change := &pause.Change{Paused: verb == "pause", DryRun: in.DryRun}
	if err := change.Add(on, namespace); err != nil {
		return nil, err
	}
	change.Compare(in.World)
	a := &Action{Effect: change, Form: fixed(verb, form), Command: Command(id.Namespace, verb, on)}
	a.write = func(ctx context.Context, client dynamic.Interface, manager string) error {
		return change.Write(ctx, client, manager)
	}
	return a, nil
}

// plain matches words that a shell accepts without quotes.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./:=@,+%-]+$`)

// Command returns the command line of a verb in a form that can be pasted into a shell.
func Command(namespace string, words ...string) string {
	all := []string{"kubectl", "flyball"}
	for _, w := range words {
		if !plain.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		all = append(all, w)
	}
	if namespace != "" {
		all = append(all, "-n", namespace)
	}
	return strings.Join(all, " ")
}
