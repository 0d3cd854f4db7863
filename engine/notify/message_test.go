package notify

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var (
	noon   = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	nights = workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "nights"}
	fleet  = workload.Policy{Kind: "ClusterSchedule", Name: "fleet"}
	crunch = workload.Policy{Kind: "ChangeFreeze", Namespace: "shop", Name: "crunch"}
)

func TestEventsOfKubernetesEvents(t *testing.T) {
	for _, c := range []struct {
		reason, action string
		want           v1alpha1.NotificationEvent
	}{
		{"Asleep", "Transition", v1alpha1.EventAsleep},
		{"Awake", "Transition", v1alpha1.EventAwake},
		{"Suspended", "Transition", ""},
		{"Active", "Transition", ""},
		{"Frozen", "Transition", v1alpha1.EventFreezeBegun},
		{"Ended", "Transition", v1alpha1.EventFreezeOver},
		{"Open", "Transition", v1alpha1.EventFreezeOver},
		{"Scheduled", "Transition", ""},
		{"TargetsFailed", "Reconcile", v1alpha1.EventFailed},
		{"InvalidSpec", "Reconcile", v1alpha1.EventFailed},
		{"NotEnforced", "Reconcile", v1alpha1.EventFailed},
		{"AdapterNotReady", "Reconcile", v1alpha1.EventAdapterNotReady},
		{"Contested", "Decide", v1alpha1.EventContested},
		{"Conflicting", "Decide", ""},
		{"Denied", "RollOut", v1alpha1.EventDenied},
		{"Warned", "RollOut", ""},
		{"ExceptionMade", "Except", v1alpha1.EventExceptionMade},
		{"Used", "Scale", v1alpha1.EventExceptionUsed},
		{"PhaseChanged", "EnterPartlyWorking", v1alpha1.EventRecommendationReady},
		{"PhaseChanged", "EnterEmergency", ""},
	} {
		if got, ok := Event(c.reason, c.action); got != c.want || ok != (c.want != "") {
			t.Errorf("%s %s is %q, want %q", c.reason, c.action, got, c.want)
		}
	}
}

func notification(edit func(*v1alpha1.Notification)) *v1alpha1.Notification {
	n := &v1alpha1.Notification{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "team"}}
	n.Spec.Events = []v1alpha1.NotificationEvent{v1alpha1.EventAsleep}
	if edit != nil {
		edit(n)
	}
	return n
}

func TestNotificationSelectsItsMessages(t *testing.T) {
	other := nights
	other.Namespace = "other"
	for name, c := range map[string]struct {
		edit func(*v1alpha1.Notification)
		of   workload.Policy
		want bool
	}{
		"every policy of the namespace": {nil, nights, true},
		"another namespace":             {nil, other, false},
		"a cluster policy":              {nil, fleet, false},
		"by kind":                       {func(n *v1alpha1.Notification) { n.Spec.Policies.Kinds = []string{"Trigger"} }, nights, false},
		"by glob":                       {func(n *v1alpha1.Notification) { n.Spec.Policies.Names = []string{"x", "night*"} }, nights, true},
		"by another glob":               {func(n *v1alpha1.Notification) { n.Spec.Policies.Names = []string{"day*"} }, nights, false},
		"suspended":                     {func(n *v1alpha1.Notification) { n.Spec.Suspend = true }, nights, false},
		"another event": {func(n *v1alpha1.Notification) {
			n.Spec.Events = []v1alpha1.NotificationEvent{v1alpha1.EventAwake}
		}, nights, false},
		"by labels": {func(n *v1alpha1.Notification) {
			n.Spec.Policies.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
		}, nights, true},
		"by other labels": {func(n *v1alpha1.Notification) {
			n.Spec.Policies.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "b"}}
		}, nights, false},
	} {
		s, errs := Compile(notification(c.edit))
		if len(errs) > 0 {
			t.Fatal(name, errs)
		}
		if got := s.Selects(v1alpha1.EventAsleep, c.of, map[string]string{"team": "a"}); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	cluster := &v1alpha1.ClusterNotification{}
	cluster.Spec.Events = []v1alpha1.NotificationEvent{v1alpha1.EventAsleep}
	everywhere, _ := CompileCluster(cluster)
	cluster.Spec.Policies.Namespaces = []string{"sho*"}
	shops, _ := CompileCluster(cluster)
	for of, want := range map[workload.Policy][2]bool{nights: {true, true}, other: {true, false}, fleet: {true, false}} {
		got := [2]bool{everywhere.Selects(v1alpha1.EventAsleep, of, nil), shops.Selects(v1alpha1.EventAsleep, of, nil)}
		if got != want {
			t.Errorf("%s: everywhere and in sho*: %v, want %v", of, got, want)
		}
	}
}

func TestInvalidSpecsNameTheField(t *testing.T) {
	for text, field := range map[string]string{
		"{{.Nothing}}":                "spec.template",
		"{{":                          "spec.template",
		`{{printf "%1000000d" 1}}`:    "spec.template",
		`{{range 1000000000}}{{end}}`: "spec.template",
		`{{range .Details}}{{range .}}{{end}}{{end}}`: "spec.template",
		`{{$x := "a"}}`:                      "spec.template",
		`{{define "x"}}{{end}}`:              "spec.template",
		`{{with .Text}}{{.}}{{end}}`:         "spec.template",
		`{{html .Text}}`:                     "spec.template",
		"{{1i}}":                             "spec.template",
		"{{if .Command}}{{.Nothing}}{{end}}": "spec.template",
	} {
		_, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = text }))
		if len(errs) != 1 || errs[0].Field != field {
			t.Errorf("%s: %v", text, errs)
		}
	}
	for _, ahead := range []v1alpha1.Duration{"8d", "0s", "soon"} {
		_, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Ahead = ahead }))
		if len(errs) != 1 || errs[0].Field != "spec.ahead" {
			t.Errorf("%s: %v", ahead, errs)
		}
	}
}

func TestTemplatesRenderTexts(t *testing.T) {
	for name, c := range map[string]struct {
		m              Message
		template, want string
	}{
		"one": {Message{Event: v1alpha1.EventAsleep, Policy: nights, Details: []string{"asleep; 300 targets: 300 asleep"}, Count: 1, At: noon},
			"",
			"Schedule/shop/nights: asleep; 300 targets: 300 asleep"},
		"many": {Message{Event: v1alpha1.EventDenied, Policy: crunch, Details: []string{"Scale of a", "Scale of b"}, Count: 14, At: noon}, "",
			"ChangeFreeze/shop/crunch: denied (14 times): Scale of a; Scale of b"},
		"a template": {Message{Event: v1alpha1.EventTransitionAhead, Policy: nights, Details: []string{"x"}, Count: 1,
			At:      noon.Add(90 * time.Minute),
			Command: "wake"},
			`{"text": {{json .Text}}, "in": "{{.In}}"{{if eq .Kind "Schedule"}}, "at": "{{.At}}"{{end}}{{range .Details}} {{.}}{{end}}}`,
			`{"text": "Schedule/shop/nights: x. wake", "in": "1h30m", "at": "2026-03-02T13:30:00Z" x}`},
	} {
		s, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = c.template }))
		if len(errs) > 0 {
			t.Fatal(name, errs)
		}
		if got, err := s.Text(DataOf(&c.m, noon)); err != nil || got != c.want {
			t.Errorf("%s: %s, %v", name, got, err)
		}
	}
}

func TestALongTextIsRefused(t *testing.T) {
	s, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = strings.Repeat("{{.Text}}", 400) }))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	m := Message{Policy: nights, Details: []string{strings.Repeat("x", 1024)}, Count: 1}
	if text, err := s.Text(DataOf(&m, noon)); err == nil {
		t.Errorf("a text of %d bytes", len(text))
	}
}

// Each json of a json doubles the backslashes. A chain is refused when the spec is read, or when it first runs.
func TestAChainOfJSONIsRefused(t *testing.T) {
	chain := strings.Repeat("|json", 60)
	if _, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = "{{.Text" + chain + "}}" })); len(errs) != 1 {
		t.Errorf("%v", errs)
	}
	s, errs := Compile(notification(func(n *v1alpha1.Notification) { n.Spec.Template = "{{if .Command}}{{.Text" + chain + "}}{{end}}" }))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	m := Message{Policy: nights, Details: []string{"x"}, Count: 1, Command: "wake"}
	if text, err := s.Text(DataOf(&m, noon)); err == nil {
		t.Errorf("a text of %d bytes", len(text))
	}
}

func TestManyEventsAreOneMessage(t *testing.T) {
	g := NewGatherer(nil)
	denied := func(text string, after time.Duration) {
		if m := g.Add(Announcement{Event: v1alpha1.EventDenied, Policy: crunch, Text: text, At: noon}, noon.Add(after)); m != nil {
			t.Errorf("%v is due at once", m)
		}
	}
	for i := range 300 {
		denied("Scale of "+string(rune('a'+i%20)), time.Duration(i)*time.Millisecond)
	}
	if due, next := g.Due(noon.Add(time.Second)); len(due) != 0 || !next.Equal(noon.Add(gatherFor)) {
		t.Fatalf("due %v, next %s", due, next)
	}
	due, _ := g.Due(noon.Add(gatherFor))
	if len(due) != 1 || due[0].Count != 300 || len(due[0].Details) != maxDetails {
		t.Fatalf("%+v", due)
	}
	denied("Scale of z", time.Minute)
	if due, next := g.Due(noon.Add(2 * time.Minute)); len(due) != 0 || !next.Equal(noon.Add(gatherFor+quietFor)) {
		t.Fatalf("while it is quiet: %v, %s", due, next)
	}
	if due, _ := g.Due(noon.Add(gatherFor + quietFor)); len(due) != 1 {
		t.Fatalf("after that: %v", due)
	}
}

// A restarted manager announces again that a policy fails.
func TestARestartRepeatsNothing(t *testing.T) {
	failed := Announcement{Event: v1alpha1.EventFailed, Policy: nights, Text: "1 of 3 targets failed", At: noon}
	first := NewGatherer(nil)
	first.Add(failed, noon)
	due, _ := first.Due(noon.Add(gatherFor))
	if len(due) != 1 {
		t.Fatal(due)
	}
	recent := []v1alpha1.NotificationSent{{Time: metav1.NewTime(noon.Add(gatherFor)), Event: failed.Event, Policy: nights.String(),
		Text: HashOf(&due[0])}}
	second := NewGatherer(recent)
	second.Add(failed, noon.Add(time.Minute))
	if due, next := second.Due(noon.Add(2 * time.Minute)); len(due) != 0 || !next.IsZero() {
		t.Errorf("%v, %s", due, next)
	}
	second.Add(failed, noon.Add(time.Hour))
	if due, _ := second.Due(noon.Add(2 * time.Hour)); len(due) != 1 {
		t.Errorf("an hour later: %v", due)
	}
}

func TestATransitionIsOneMessageAtOnce(t *testing.T) {
	g := NewGatherer(nil)
	for range 2 {
		if m := g.Add(Announcement{Event: v1alpha1.EventAsleep, Policy: nights, Text: "asleep"}, noon); m == nil || m.Count != 1 {
			t.Errorf("%v", m)
		}
	}
}

func compiled(id workload.Policy, states ...policy.Summary) *policy.Policy {
	return &policy.Policy{ID: id, State: func(now time.Time) policy.Summary {
		i := slices.IndexFunc(states, func(s policy.Summary) bool { return s.Next.IsZero() || s.Next.After(now) })
		return states[i]
	}}
}

func TestTextsAhead(t *testing.T) {
	dusk := noon.Add(time.Hour + 30*time.Minute)
	for name, c := range map[string]struct {
		p             *policy.Policy
		text, command string
	}{
		"asleep": {compiled(nights, policy.Summary{Name: "Awake", Next: dusk}, policy.Summary{Name: "Asleep", Asleep: true}),
			"asleep in 1 hour and 30 minutes, at 2026-03-02T13:30:00Z: 300 targets",
			"To stay awake: kubectl flyball wake schedule/nights -n shop --for 2h"},
		"awake": {compiled(nights, policy.Summary{Name: "Asleep", Asleep: true, Next: dusk}, policy.Summary{Name: "Awake"}),
			"awake in 1 hour and 30 minutes, at 2026-03-02T13:30:00Z: 300 targets", ""},
		"a cluster schedule": {compiled(fleet, policy.Summary{Name: "Awake", Next: dusk}, policy.Summary{Name: "Asleep", Asleep: true}),
			"asleep in 1 hour and 30 minutes, at 2026-03-02T13:30:00Z: 300 targets",
			"To stay awake: kubectl flyball wake clusterschedule/fleet --for 2h"},
		"the same state": {compiled(nights, policy.Summary{Name: "Awake", Next: dusk}, policy.Summary{Name: "Awake"}), "", ""},
		"never":          {compiled(nights, policy.Summary{Name: "Awake"}), "", ""},
		"a freeze": {compiled(crunch, policy.Summary{Name: "Scheduled", Next: dusk}, policy.Summary{Name: "Frozen", Active: "crunch",
			Message: "changes are denied"}), "the freeze begins in 1 hour and 30 minutes, at 2026-03-02T13:30:00Z: changes are denied", ""},
		"the end of a freeze": {compiled(crunch, policy.Summary{Name: "Frozen", Active: "crunch", Next: dusk}, policy.Summary{Name: "Ended"}), "",
			""},
	} {
		a, ok := Ahead(c.p, c.p.ID == crunch, 300, "", noon)
		if ok != (c.text != "") || a.Text != c.text || a.Command != c.command {
			t.Errorf("%s: %t %+v", name, ok, a)
		}
		const page = "https://flyball.corp.example"
		linked := ""
		if c.command != "" {
			linked = c.command + ", or open " + page
		}
		if a, _ := Ahead(c.p, c.p.ID == crunch, 300, page, noon); a.Command != linked {
			t.Errorf("%s: with pages in the cluster the command is %q, want %q", name, a.Command, linked)
		}
	}
}

func TestATransitionIsAnnouncedOnce(t *testing.T) {
	dusk, quarter := noon.Add(time.Hour), 15*time.Minute
	w := NewWatch(time.Time{})
	if due, at := w.Due(nights, dusk, quarter, noon); due || !at.Equal(dusk.Add(-quarter)) {
		t.Fatal(due, at)
	}
	w.EndPass(noon)
	for i, want := range []bool{true, false, false} {
		now := dusk.Add(time.Duration(i-10) * time.Minute)
		if due, _ := w.Due(nights, dusk, quarter, now); due != want {
			t.Errorf("look %d: %t", i, due)
		}
		w.EndPass(now)
	}
	// The transition is moved by an edit, so that its message is due at once.
	if due, _ := w.Due(nights, dusk.Add(-time.Minute), quarter, dusk.Add(-5*time.Minute)); !due {
		t.Error("a moved transition is not announced")
	}
	for until, want := range map[time.Time]bool{dusk.Add(-10 * time.Minute): false, dusk.Add(-20 * time.Minute): true} {
		restarted := NewWatch(until)
		if due, _ := restarted.Due(nights, dusk, quarter, dusk.Add(-5*time.Minute)); due != want {
			t.Errorf("after a restart, messages sent until %s: %t", until, due)
		}
	}
}

// TestAGathererForgetsTheOldest checks that the names of many policies do not fill the memory of a Gatherer.
func TestAGathererForgetsTheOldest(t *testing.T) {
	g, at := NewGatherer(nil), time.Date(2037, 5, 11, 8, 0, 0, 0, time.UTC)
	for i := range 2 * maxSaid {
		g.Add(Announcement{Event: v1alpha1.EventFailed, Policy: workload.Policy{Kind: "Schedule", Namespace: "shop", Name: fmt.Sprint(i)}}, at)
		at = at.Add(time.Millisecond)
	}
	if due, _ := g.Due(at.Add(gatherFor)); len(due) != 2*maxSaid || len(g.said) != maxSaid || g.Len() != 0 {
		t.Errorf("%d messages are due, %d are remembered, want %d; %d wait", len(due), len(g.said), maxSaid, g.Len())
	}
}
