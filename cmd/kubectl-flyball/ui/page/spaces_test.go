package page_test

import (
	"math"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestDaysAddUpToTheSavings checks that the days of all namespaces have the savings of the week, and that the hours in which only an
// Override keeps a target awake are those in which its schedule would let it sleep.
func TestDaysAddUpToTheSavings(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	monday := time.Date(2037, 5, 11, 0, 0, 0, 0, berlin)
	for _, now := range []time.Time{monday, monday.Add(15 * time.Hour)} {
		in := demo(t)
		o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Name: "release", Namespace: "shop"}}
		o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Override"))
		o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake, Until: "2037-05-11T23:00",
			TimeZone: "Europe/Berlin", Reason: "x"}
		o.Spec.Target.Names = []string{"web"}
		in.SetPolicy(o)
		w, err := page.WeekOf(t.Context(), in, page.WeekOptions{From: monday, To: monday.AddDate(0, 0, 7), Now: now, Zone: berlin})
		if err != nil {
			t.Fatal(err)
		}
		sum, kept := 0.0, 0.0
		for _, s := range w.Spaces() {
			if len(s.Days) != 7 {
				t.Errorf("%s has %d days", s.Namespace, len(s.Days))
			}
			for i, d := range s.Days {
				sum += d.All()
				kept += d.Kept
				if d.Kept > 0 && (s.Namespace != "shop" || i > 0) {
					t.Errorf("%s: Overrides keep targets awake on day %d", s.Namespace, i)
				}
			}
		}
		if math.Abs(sum-w.Totals.ReplicaHoursSaved) > 1e-6 || sum == 0 {
			t.Errorf("the days have %v replica hours, and the week has %v", sum, w.Totals.ReplicaHoursSaved)
		}
		want := 3.0 * (8 + 3) // the three replicas of web sleep from 20:00 to 08:00, and the Override ends at 23:00
		if now.After(monday) {
			want = 3 * 3
		}
		if kept != want {
			t.Errorf("at %s Overrides keep %v replica hours awake, want %v", now, kept, want)
		}
	}
}
