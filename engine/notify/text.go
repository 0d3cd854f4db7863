package notify

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"text/template/parse"
	"time"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// maxText is the maximum length of a text, in bytes.
const maxText = 16 << 10

// Data are the fields of a template.
type Data struct {
	// Event is the name of the event. Policy is Kind/namespace/name or Kind/name; Kind, Namespace and Name are its parts.
	Event, Policy, Kind, Namespace, Name string
	// At is the instant of the event, or of the transition of an event ahead, in RFC 3339.
	At string
	// In is the time until the transition of an event ahead, such as 15m; empty for other events.
	In string
	// Text is the default text. Details are the events behind this message in one line each, at most ten. Count is their number.
	Text    string
	Details []string
	Count   int
	// Command is a command for a person who disagrees with a transition ahead; empty: none.
	Command string
}

// fields returns the fields by their names.
func (d Data) fields() map[string]any {
	return map[string]any{"Event": d.Event, "Policy": d.Policy, "Kind": d.Kind, "Namespace": d.Namespace, "Name": d.Name, "At": d.At,
		"In": d.In, "Text": d.Text, "Details": d.Details, "Count": d.Count, "Command": d.Command}
}

// DataOf returns the fields of a template for a message.
func DataOf(m *Message, now time.Time) Data {
	d := Data{Event: string(m.Event), Policy: m.Policy.String(), Kind: m.Policy.Kind, Namespace: m.Policy.Namespace, Name: m.Policy.Name,
		At: m.At.Format(time.RFC3339), Details: m.Details, Count: m.Count, Command: m.Command}
	if m.Command != "" || m.At.After(now) {
		d.In = short(m.At.Sub(now))
	}
	d.Text = plain(m)
	return d
}

// Text returns the text of a message. A template that cannot be carried out, or makes too long a text, is an error.
func (s *Subscription) Text(d Data) (string, error) {
	if s.text == nil {
		return d.Text, nil
	}
	var out bytes.Buffer
	if err := render(&bounded{&out}, s.text.Root, d); err != nil {
		return "", fmt.Errorf("spec.template: %w", err)
	}
	return out.String(), nil
}

// headings begin the default texts of events whose details do not name the event.
var headings = map[v1alpha1.NotificationEvent]string{
	v1alpha1.EventFailed: "failed", v1alpha1.EventContested: "contested", v1alpha1.EventDenied: "denied",
	v1alpha1.EventExceptionMade: "exception made", v1alpha1.EventExceptionUsed: "exception used",
	v1alpha1.EventFreezeBegun: "freeze begun", v1alpha1.EventFreezeOver: "freeze over",
	v1alpha1.EventAdapterNotReady: "adapter not ready", v1alpha1.EventRecommendationReady: "recommendation ready",
}

// plain returns the default text: the policy, the event, the number of events above one, their details, and the command.
func plain(m *Message) string {
	text := m.Policy.String() + ": "
	if heading := headings[m.Event]; heading != "" {
		text += heading
		if m.Count > 1 {
			text += fmt.Sprintf(" (%d times)", m.Count)
		}
		text += ": "
	}
	text += strings.Join(m.Details, "; ")
	if m.Command != "" {
		text += ". " + m.Command
	}
	return text
}

// short returns a duration in hours and minutes, such as 1h30m; below a minute in seconds.
func short(d time.Duration) string {
	if d < time.Minute {
		return max(d, 0).Round(time.Second).String()
	}
	text := strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	if strings.HasSuffix(text, "h0m") {
		return strings.TrimSuffix(text, "0m")
	}
	return text
}

// bounded is a writer that fails above maxText.
type bounded struct{ *bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxText {
		return 0, fmt.Errorf("the text is longer than %d bytes", maxText)
	}
	return b.Buffer.Write(p)
}

// parseTemplate parses a template. It accepts fields, if, range over .Details, and some functions: the author of a template must
// not be able to use up time or memory of the manager.
func parseTemplate(text string) (*parse.Tree, error) {
	const name = "template"
	trees, err := parse.Parse(name, text, "", "", functions)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(trees) > 1 {
		return nil, errors.New("define and block are not allowed")
	}
	t := trees[name]
	if t == nil || parse.IsEmptyTree(t.Root) {
		return nil, errors.New("the text is empty")
	}
	if err := check(t.Root, wholeData); err != nil {
		return nil, err
	}
	example := &Message{Policy: workload.Policy{Kind: "Policy", Namespace: "shop", Name: "nights"}, Details: []string{"example"}, Count: 1}
	if _, err := (&Subscription{text: t}).Text(DataOf(example, time.Time{})); err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "spec.template: "))
	}
	return t, nil
}
