package page

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
	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/pause"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
)

// ActionInput is the environment in which an action is prepared.
type ActionInput struct {
	World *source.World
	// User is the person whose changes the freezes judge.
	User             evaluate.User
	Now              time.Time
	Zone             *time.Location
	FlyballNamespace string
	// DryRun is true if the API server only checks the edit and writes nothing.
	DryRun bool
}

// Action is an edit as by the verbs wake, sleep, hold, except, pause or resume, with its effect. It uses the code of these verbs. Its
// effect and its command are known before anything is written.
type Action struct {
	// Command is the kubectl command that does the same.
	Command string
	Effect  printer.Finding
	// Form has the fields of the action. Its instants are absolute, so that the form means the same when it is sent again.
	Form url.Values

	write func(ctx context.Context, client dynamic.Interface, manager string) error
}

// Write makes the edit. If the action was prepared as a dry run, the API server only checks it.
func (a *Action) Write(ctx context.Context, client dynamic.Interface, manager string) error {
	return a.write(ctx, client, manager)
}

func (in ActionInput) dryRun() []string {
	if in.DryRun {
		return []string{metav1.DryRunAll}
	}
	return nil
}

// ActionOf returns the action of a form. The form's fields have the names of the verb's flags, and the field on has
// KIND/NAME.
func ActionOf(ctx context.Context, in ActionInput, form url.Values) (*Action, error) {
	switch verb := form.Get("verb"); verb {
	case "wake", "sleep", "hold":
		return in.order(ctx, verb, form)
	case "except":
		return in.except(ctx, form)
	case "pause":
		return in.pause(verb, form)
	default:
		return nil, fmt.Errorf("there is no action %q", verb)
	}
}

// fixed returns a form with the verb, the object and the namespace of the given form.
func fixed(verb string, form url.Values) url.Values {
	return url.Values{"verb": {verb}, "on": {form.Get("on")}, "namespace": {form.Get("namespace")}}
}

// effects are the effects of the verbs that create an Override.
var effects = map[string]v1alpha1.OverrideEffect{
	"wake": v1alpha1.OverrideAwake, "sleep": v1alpha1.OverrideAsleep, "hold": v1alpha1.OverrideHold,
}

func (in ActionInput) order(ctx context.Context, verb string, form url.Values) (*Action, error) {
	on, namespace := form.Get("on"), form.Get("namespace")
	order := override.Order{Effect: effects[verb], Until: form.Get("until"), End: form.Get("end") != "", Now: in.Now, Zone: in.Zone}
	a := &Action{Form: fixed(verb, form)}
	words := []string{verb, on}
	if order.End {
		a.Form.Set("end", "yes")
		words = append(words, "--end")
	} else {
		if order.Until == "" {
			span := override.Order{Effect: order.Effect, Span: form.Get("for"), Now: in.Now, Zone: in.Zone}
			if err := span.Check(); err != nil {
				return nil, err
			}
			order.Until = span.Instant().UTC().Format(time.RFC3339)
		}
		order.Reason = form.Get("reason")
	}
	if err := order.Check(); err != nil {
		return nil, err
	}
	if !order.End {
		text := order.Instant().UTC().Format(time.RFC3339)
		a.Form.Set("until", text)
		a.Form.Set("reason", order.Reason)
		words = append(words, "--until", text)
		if order.Reason != "" {
			words = append(words, "--reason", order.Reason)
		}
	}
	place, err := override.Find(in.World, on, namespace)
	if err != nil {
		return nil, err
	}
	if order.Effect == v1alpha1.OverrideHold && !order.End {
		if err := override.CheckHold(in.World, place); err != nil {
			return nil, err
		}
	}
	effect, err := order.Of(ctx, in.World, []override.Place{place})
	if err != nil {
		return nil, err
	}
	effect.DryRun = in.DryRun
	a.Effect, a.Command = effect, Command(place.Namespace, words...)
	a.write = func(ctx context.Context, client dynamic.Interface, manager string) error {
		return effect.Write(ctx, client, manager, in.dryRun())
	}
	return a, nil
}

func (in ActionInput) except(ctx context.Context, form url.Values) (*Action, error) {
	on, from := form.Get("on"), in.Now
	if text := form.Get("from"); text != "" {
		var err error
		if from, err = printer.ParseInstant(text, in.Now, in.Zone); err != nil {
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

func (in ActionInput) pause(verb string, form url.Values) (*Action, error) {
	on, namespace := form.Get("on"), form.Get("namespace")
	id, err := in.World.FindPolicy(on, namespace)
	if err != nil {
		return nil, err
	}
	change := &pause.Change{Paused: form.Get("end") == "", DryRun: in.DryRun}
	if err := change.Add(on, namespace); err != nil {
		return nil, err
	}
	change.Compare(in.World)
	a, words := &Action{Effect: change, Form: fixed(verb, form)}, []string{verb, on}
	if !change.Paused {
		a.Form.Set("end", "yes")
		words = append(words, "--end")
	}
	a.Command = Command(id.Namespace, words...)
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
