package rollout

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/workload"
)

var web = workload.Ref{Namespace: "shop", Name: "web"}

// budget projects a budget with a selector and a status, as JSON.
func budget(t *testing.T, selector, status string) *workload.Object {
	t.Helper()
	obj, err := projector{}.Project(fmt.Appendf(nil,
		`{"metadata":{"namespace":"shop","name":"pdb","uid":"u","resourceVersion":"7","generation":2},"spec":{"selector":%s},"status":%s}`,
		selector, status))
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

// A budget allows a disruption only if its status says so and belongs to its current spec.
func TestBudgetsAllowByTheirCurrentStatus(t *testing.T) {
	for status, want := range map[string]string{
		`{"observedGeneration":2,"disruptionsAllowed":1}`: "",
		`{"observedGeneration":2,` +
			`"disruptionsAllowed":0}`: "which allows no disruption now",
		`{"observedGeneration":2,"disruptionsAllowed":0,"expectedPods":5,"desiredHealthy":4,` +
			`"currentHealthy":4}`: "which allows no disruption now",
		`{"observedGeneration":2,"disruptionsAllowed":0,"expectedPods":5,"desiredHealthy":5,` +
			`"currentHealthy":5}`: "which allows no disruption, however healthy its pods are",
		`{"observedGeneration":2,"disruptionsAllowed":0,"expectedPods":2,"desiredHealthy":3,` +
			`"currentHealthy":2}`: "which allows no disruption, however healthy its pods are",
		`{"observedGeneration":1,"disruptionsAllowed":1}`: "which has an outdated status",
		`{}`: "which has an outdated status",
		`{"observedGeneration":2,"disruptionsAllowed":0,"expectedPods":0}`:  "which allows no disruption now",
		`{"observedGeneration":2,"disruptionsAllowed":-1,"expectedPods":1}`: "which allows no disruption now",
	} {
		if got := budget(t, `{}`, status).Fields[why].Raw; got != want {
			t.Errorf("%s: %q, want %q", status, got, want)
		}
	}
	if _, err := (projector{}).Project([]byte(`{"spec":7}`)); err == nil {
		t.Error("nonsense is read")
	}
}

func TestBudgetsSelectPods(t *testing.T) {
	for selector, want := range map[string]bool{
		`{"matchLabels":{"app":"web"}}`: true, `{"matchLabels":{"app":"web","tier":"x"}}`: false, `{}`: true, `null`: false,
		`{"matchExpressions":[{"key":"app","operator":"NotIn","values":["db"]}]}`: true,
		`{"matchExpressions":[{"key":"app","operator":"Never"}]}`:                 false,
	} {
		if got := selects(budget(t, selector, `{}`), labels.Set{"app": "web"}); got != want {
			t.Errorf("%s selects it: %t", selector, got)
		}
	}
}

// A target waits for a closed budget that selects one of its current pods, of any revision. It does not wait if its
// containers were killed for lack of memory and it is to get more memory.
func TestAskReturnsTheClosedBudget(t *testing.T) {
	now := time.Unix(1e9, 0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		items := map[string]string{"metadata.name=old": `{"metadata":{"namespace":"shop","name":"old","labels":{"app":"web"}}}`,
			"metadata.name=new": `{"metadata":{"namespace":"shop","name":"new","labels":{"app":"web2"}}}`}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadataList","metadata":{},"items":[%s]}`,
			items[r.URL.Query().Get("fieldSelector")])
	}))
	defer server.Close()
	client, err := metadata.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	killed := func(ago time.Duration) *workload.Pod {
		return &workload.Pod{Namespace: "shop", Name: "old", Revision: "1", Containers: []workload.Container{{KilledAt: now.Add(-ago).Unix()}}}
	}
	closed := []*workload.Object{budget(t, `{"matchLabels":{"app":"web"}}`, `{"observedGeneration":2}`)}
	const waits = "waits for PodDisruptionBudget shop/pdb, which allows no disruption now"
	for _, test := range []struct {
		reason string
		pods   []*workload.Pod
		more   bool
		want   string
	}{
		{"no pods", nil, false, ""},
		{"its pods", []*workload.Pod{killed(0)}, false, waits},
		{"others", []*workload.Pod{{Namespace: "shop", Name: "new", Revision: "2"}}, false, ""},
		{"a revision of two", []*workload.Pod{{Namespace: "shop", Name: "new", Revision: "2"}, {Namespace: "shop", Name: "old", Revision: "1"}},
			false, waits},
		{"one that has gone meanwhile", []*workload.Pod{{Namespace: "shop", Name: "gone", Revision: "2"}}, false,
			"waits for PodDisruptionBudgets: pod shop/gone has gone"},
		{"more memory where it is killed for that", []*workload.Pod{killed(killedLately - time.Second)}, true, ""},
		{"... and was long ago", []*workload.Pod{killed(killedLately)}, true, waits},
		{"... and never was", []*workload.Pod{{Namespace: "shop", Name: "old", Revision: "1", Containers: []workload.Container{{}}}}, true,
			waits},
	} {
		b := NewBudgets(BudgetOptions{Members: fleets{web.Name: {Pods: test.pods}}, Pods: client, Clock: clocktesting.NewFakePassiveClock(now)})
		if got := b.closed(t.Context(), closed, web, test.more); got != test.want {
			t.Errorf("%s: %q, want %q", test.reason, got, test.want)
		}
	}
	b := NewBudgets(BudgetOptions{Members: fleets{}})
	if got := b.closed(t.Context(), closed, web, false); got == "" {
		t.Error("nothing is waited for while pods are not known")
	}
	if got := b.Ask(t.Context(), web, false, nil); got != toBeRead || b.Waits(web) != toBeRead {
		t.Errorf("budgets that nobody reads: %q", got)
	}
	if got := b.Ask(t.Context(), web, false,
		workload.Allocations{{Component: "main"}}); got != "waits for LimitRanges and ResourceQuotas to be read" || b.Waits(web) != got {
		t.Errorf("a template, and bounds that nobody reads: %q", got)
	}
	if b.Forget(web); b.Waits(web) != "" {
		t.Error("it is not forgotten")
	}
}

// The number of healthy pods changes with each pod and does not matter.
func TestChangesOfBudgetsThatMatter(t *testing.T) {
	closed := budget(t, `{}`, `{"observedGeneration":2,"currentHealthy":3}`)
	for _, tc := range []struct {
		reason   string
		old, cur *workload.Object
		want     bool
	}{
		{"it comes", nil, closed, true},
		{"it goes", closed, nil, true},
		{"one more pod is healthy", closed, budget(t, `{}`, `{"observedGeneration":2,"currentHealthy":4}`), false},
		{"it allows a disruption", closed, budget(t, `{}`, `{"observedGeneration":2,"disruptionsAllowed":1}`), true},
		{"it allows two instead of one", budget(t, `{}`, `{"observedGeneration":2,"disruptionsAllowed":1}`),
			budget(t, `{}`, `{"observedGeneration":2,"disruptionsAllowed":2}`), false},
		{"it is for others", closed, budget(t, `null`, `{"observedGeneration":2}`), true},
	} {
		if got := matters(tc.old, tc.cur); got != tc.want {
			t.Errorf("%s: it matters: %t", tc.reason, got)
		}
	}
}

// A waiting target asks again every minute. Its obstacle must stay in its status meanwhile.
func TestTheObstacleStaysWhileAskedAgain(t *testing.T) {
	b := NewBudgets(BudgetOptions{Members: fleets{}})
	b.waiting[web] = "waits for PodDisruptionBudget shop/pdb, which allows no disruption now"
	if b.begin(web); b.Waits(web) != "waits for PodDisruptionBudget shop/pdb, which allows no disruption now" {
		t.Errorf("it is said to wait for %q", b.Waits(web))
	}
	b.Forget(web)
	if b.begin(web); b.Waits(web) != toBeRead {
		t.Errorf("a target that comes is said to wait for %q", b.Waits(web))
	}
}
