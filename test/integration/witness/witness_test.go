package witness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

var (
	dusk = time.Date(2037, 5, 13, 20, 0, 0, 0, time.UTC)
	web  = workload.Ref{Namespace: "shop", Name: "web"}
)

// TestWitnessComparesPredictionsWithWrites compares predictions with the manager's writes, and finds every
// disagreement.
func TestWitnessComparesPredictionsWithWrites(t *testing.T) {
	two := []explain.Change{
		{At: dusk.Add(-2 * time.Minute), Message: "maxReplicas 20 -> 10, minReplicas 2 -> 1"},
		{At: dusk.Add(-time.Minute), Message: "maxReplicas 10 -> 20, minReplicas 1 -> 5"},
	}
	sleeps := []explain.Change{{At: dusk, Message: "replicas 3 -> 0, suspend absent -> true"}}
	for _, test := range []struct {
		reason string
		next   []explain.Change
		came   map[string]string
		then   map[string]string // after another writer's write
		edited bool
		wrong  bool
	}{
		{reason: "it came as told", next: sleeps, came: map[string]string{"/spec/replicas": "0", "/spec/suspend": "true"}},
		{reason: "another value came", next: sleeps, came: map[string]string{"/spec/replicas": "1", "/spec/suspend": "true"}, wrong: true},
		{reason: "half of it came", next: sleeps, came: map[string]string{"/spec/replicas": "0"}, wrong: true},
		{reason: "what was not told came", came: map[string]string{"/spec/replicas": "0"}, wrong: true},
		{reason: "it came before it was told to", next: []explain.Change{{At: dusk.Add(time.Hour), Message: "replicas 3 -> 0"}},
			came: map[string]string{"/spec/replicas": "0"}, wrong: true},
		{reason: "nothing came", next: sleeps, came: map[string]string{}, wrong: true},
		{reason: "more came than was told", next: sleeps, came: map[string]string{"/spec/replicas": "0", "/spec/suspend": "true",
			"/spec/paused": "true"}, wrong: true},
		{reason: "two changes came as one", next: two, came: map[string]string{"/spec/minReplicas": "5"}},
		{reason: "two changes came as one, with another value", next: two, came: map[string]string{"/spec/minReplicas": "1"}, wrong: true},
		{reason: "what the two changes leave as it was has changed", next: two,
			came: map[string]string{"/spec/minReplicas": "5", "/spec/maxReplicas": "10"}, wrong: true},
		{reason: "of two changes neither came", next: two, came: map[string]string{}, wrong: true},
		{reason: "what was told to become absent went with its parent", next: []explain.Change{{At: dusk, Message: "on false -> absent"}},
			came: map[string]string{"/spec/power": ""}},
		{reason: "a parent went that was not told to", next: sleeps,
			came: map[string]string{"/spec/replicas": "0", "/spec/suspend": "true", "/spec/power": ""}, wrong: true},
		{reason: "the ledger alone was written", came: map[string]string{}},
		{reason: "somebody else wrote, and all is decided anew", next: sleeps, edited: true},
		{reason: "somebody else wrote between two writes", next: sleeps, came: map[string]string{"/spec/replicas": "0"},
			then: map[string]string{"/spec/suspend": "true"}},
		{reason: "what was not told came before somebody else wrote", next: sleeps, came: map[string]string{"/spec/paused": "true"},
			then: map[string]string{"/spec/suspend": "true"}, wrong: true},
	} {
		w := &Witness{writes: &writes{}}
		now := `{"metadata":{"resourceVersion":"2"},"spec":{"replicas":0}}`
		if test.came != nil {
			w.writes.all = []write{{path: "/web", before: "1", after: "2", fields: test.came}}
		}
		if test.then != nil {
			w.writes.all = append(w.writes.all, write{path: "/web", before: "3", after: "4", fields: test.then})
		}
		if !test.edited && test.came == nil {
			now = `{"metadata":{"resourceVersion":"1"}}`
		}
		before := &scene{at: dusk.Add(-time.Hour),
			objects: map[workload.Ref][]byte{web: []byte(`{"metadata":{"resourceVersion":"1"},"spec":{"replicas":3}}`)},
			paths:   map[workload.Ref]string{web: "/web"}}
		after := &scene{at: dusk, objects: map[workload.Ref][]byte{web: []byte(now)}}
		if got := w.compare(before, after, web, &explain.Explanation{Next: test.next}); (got != "") != test.wrong {
			t.Errorf("%s: %q", test.reason, got)
		}
	}
}

// TestAwaitReportsALastingDisagreement reports a disagreement that lasts until the time is up, even if look fails by
// then.
func TestAwaitReportsALastingDisagreement(t *testing.T) {
	for _, test := range []struct {
		reason string
		wrong  int // number of calls with a disagreement
		broken bool
		want   bool
	}{
		{reason: "it agrees at once"},
		{reason: "it comes to agree", wrong: 2},
		{reason: "it never agrees", wrong: 1 << 30, want: true},
		{reason: "it cannot be looked at", broken: true},
	} {
		ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
		looks := 0
		now, wrong := await(ctx, func() (*scene, []string, error) {
			looks++
			switch {
			case test.broken:
				return nil, nil, errors.New("no adapter can be read")
			case ctx.Err() != nil:
				return nil, nil, ctx.Err()
			case looks <= test.wrong:
				return &scene{}, []string{"it is not so"}, nil
			}
			return &scene{}, nil, nil
		}, func() int { return looks })
		cancel()
		if (now == nil) != test.broken || (len(wrong) > 0) != test.want {
			t.Errorf("%s: %v, %q", test.reason, now, wrong)
		}
	}
}

// TestWitnessComparesWinnersWithTheLedger compares the winner of an explanation with the ledger.
func TestWitnessComparesWinnersWithTheLedger(t *testing.T) {
	ledger := `{"metadata":{"annotations":{"` + v1alpha1.AnnotationLedger +
		`":"{\"/spec/replicas\":{\"was\":3,\"set\":0,\"by\":\"Schedule/shop/nights\"},\"of\":\"Deployment/web\"}"}}}`
	for _, test := range []struct {
		state, winner, raw string
		wrong              bool
	}{
		{"asleep", "Schedule/shop/nights", ledger, false},
		{"asleep", "Schedule/shop/days", ledger, true},
		{"asleep", "Schedule/shop/nights", `{}`, true},
		{"awake", "", `{}`, false},
	} {
		if wrong := disagreesWithLedger(&explain.Explanation{State: test.state, Winner: test.winner},
			[]byte(test.raw)); (len(wrong) > 0) != test.wrong {
			t.Errorf("%s because of %q: %s", test.state, test.winner, wrong)
		}
	}
}

// TestWitnessComparesReasonsWithTheReportedState compares the reason in an explanation with the state that the
// manager reports.
func TestWitnessComparesReasonsWithTheReportedState(t *testing.T) {
	nights := &v1alpha1.Schedule{}
	nights.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Schedule"))
	nights.Namespace, nights.Name, nights.Status.State = "shop", "nights", "Asleep"
	dawn := metav1.NewTime(dusk.Add(12 * time.Hour))
	nights.Status.NextTransitionTime = &dawn
	w := &source.World{}
	w.Policies = []policy.Object{nights}
	for text, wrong := range map[string]bool{
		"asleep since 2037-05-13T20:00:00Z, next transition 2037-05-14T08:00:00Z": false,
		"asleep since 2037-05-13T20:00:00Z, next transition 2037-05-14T09:00:00Z": true,
		"always asleep": false,
	} {
		story := &explain.Explanation{Policies: []explain.Policy{{Policy: "Schedule/shop/nights",
			Steps: []explain.Line{{Step: "window", Text: text}}}}}
		if got := disagreesWithStatus(story, w); (len(got) > 0) != wrong || wrong && !strings.Contains(got[0], "Asleep") {
			t.Errorf("%s: %s", text, got)
		}
	}
}
