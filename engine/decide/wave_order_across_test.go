package decide_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/workload"
)

// wide is a ClusterSchedule of the namespaces shop and bank with the order of inOrder.
func wide(across v1alpha1.Across, change func(*v1alpha1.ClusterSchedule)) *v1alpha1.ClusterSchedule {
	s := &v1alpha1.ClusterSchedule{ObjectMeta: metav1.ObjectMeta{Name: "nights"}}
	s.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterSchedule"))
	s.Spec.ScheduleRules = inOrder(nil).Spec.ScheduleRules
	s.Spec.Target.Namespaces, s.Spec.Order.Across = []string{"shop", "bank"}, across
	if change != nil {
		change(s)
	}
	return s
}

// inBoth returns the manifests of two namespaces: a database is never ready in shop, and ready in bank; web sleeps in both.
func inBoth() []string {
	by := func(text string) string {
		return strings.ReplaceAll(text, "Schedule/shop/nights", "ClusterSchedule/nights")
	}
	return []string{
		tiered("db", "db", 1, 0, ""), by(sleeping("web", "")),
		strings.ReplaceAll(tiered("db", "db", 1, 1, ""), "shop", "bank"), strings.ReplaceAll(by(sleeping("web", "")), "shop", "bank"),
	}
}

func webOf(namespace string) workload.Ref {
	ref := deploymentRef("web")
	ref.Namespace = namespace
	return ref
}

// A database that is never ready in one namespace holds no target of another namespace, unless the order is across namespaces.
func TestANamespaceHoldsNoOtherUnlessTheOrderAsksForIt(t *testing.T) {
	for _, tc := range []struct {
		across v1alpha1.Across
		bank   string
		// open are the open waves after a look at all targets.
		open string
	}{
		{"", "", "shop, wave 1: Deployment.apps/shop/db; bank, wave 3: nothing"},
		{v1alpha1.AcrossNamespace, "", "shop, wave 1: Deployment.apps/shop/db; bank, wave 3: nothing"},
		{v1alpha1.AcrossNamespaces, "databases (1 of 3)", ", wave 1: Deployment.apps/shop/db"},
	} {
		c := &crew{Memory: memory(t, []policy.Object{wide(tc.across, nil)}, inBoth()...), Waits: &decide.Waits{}, now: morning}
		got := map[string]string{}
		for range 3 { // a target that comes due is decided again
			for _, namespace := range []string{"shop", "bank"} {
				ref := webOf(namespace)
				v := decide.Target(c, ref, c.now, nil)
				c.Decided(ref, &v, c.now)
				if got[namespace] = ""; v.Gate.Order != nil {
					got[namespace] = v.Gate.Order.Title
				}
			}
		}
		if got["shop"] != "databases (1 of 3)" || got["bank"] != tc.bank {
			t.Errorf("across %q: the targets wait for %v", tc.across, got)
		}
		var open []string
		holds, _ := c.Open(workload.Policy{Kind: "ClusterSchedule", Name: "nights"})
		for _, h := range holds {
			object := "nothing"
			if h.Why != "" {
				object = h.Last.String()
			}
			open = append(open, fmt.Sprintf("%s, wave %d: %s", h.Namespace, h.Place+1, object))
		}
		if text := strings.Join(open, "; "); text != tc.open {
			t.Errorf("across %q: open are %q, want %q", tc.across, text, tc.open)
		}
	}
}

// The timeout of each namespace counts from its own begin in the status, also after a restart.
func TestEachNamespaceHasItsOwnTimeout(t *testing.T) {
	open := func(namespace string, ago time.Duration) v1alpha1.OpenWave {
		return v1alpha1.OpenWave{Namespace: namespace, Place: 1, Since: metav1.NewMicroTime(morning.Add(10*time.Minute - ago))}
	}
	late := inBoth()
	late[2] = strings.ReplaceAll(late[0], "shop", "bank")
	for _, tc := range []struct {
		shop, bank  time.Duration
		waits, goes string
	}{
		{10 * time.Minute, 9 * time.Minute, "bank", "shop"},
		{9 * time.Minute, 10 * time.Minute, "shop", "bank"},
	} {
		m := memory(t, []policy.Object{wide("", func(s *v1alpha1.ClusterSchedule) {
			s.Status.Order = &v1alpha1.OrderStatus{Direction: "Wake", OpenWave: open("shop", tc.shop),
				Others: []v1alpha1.OpenWave{open("bank", tc.bank)}}
		})}, late...)
		now := morning.Add(10 * time.Minute)
		if v := decide.Target(m, webOf(tc.waits), now, nil); v.Gate.Kind != decide.GateOrder || !v.Gate.Until.Equal(now.Add(time.Minute)) {
			t.Errorf("%s, after 9 of 10 minutes: %+v", tc.waits, v.Gate)
		}
		if v := decide.Target(m, webOf(tc.goes), now, nil); v.Gate.Kind != decide.GateOpen || v.Result.Patch == nil {
			t.Errorf("%s, after 10 minutes: %+v", tc.goes, v.Gate)
		}
	}
}
