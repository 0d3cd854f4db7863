package page_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/cmd/kubectl-flyball/ui/page"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/evaluate"
	"flyball.dev/flyball/engine/workload"
)

var night = time.Date(2037, 5, 13, 19, 0, 0, 0, time.UTC)

// TestActionsHaveTheCommandOfTheVerb checks that each action has the command of the verb, and the effect that the
// verb prints.
func TestActionsHaveTheCommandOfTheVerb(t *testing.T) {
	in := page.ActionInput{World: demo(t), User: evaluate.User{Name: "alice"}, Now: night, Zone: time.UTC,
		FlyballNamespace: source.DefaultNamespace, DryRun: true}
	for form, want := range map[string][2]string{
		"verb=wake&on=deployment.apps/web&for=2h&reason=it's+late": {
			`kubectl flyball wake deployment.apps/web --until 2037-05-13T21:00:00Z --reason 'it'\''s late' -n shop`,
			"deployment/web: awake until Wed 2037-05-13 21:00 UTC (dry run: nothing was written)"},
		"verb=sleep&on=deployment.apps/web&for=2h": {"kubectl flyball sleep deployment.apps/web --until 2037-05-13T21:00:00Z -n shop",
			"override/sleep-web-"},
		"verb=hold&on=deployment.apps/web&for=2h": {"kubectl flyball hold deployment.apps/web --until 2037-05-13T21:00:00Z -n shop",
			"paused"},
		"verb=wake&on=namespace/shop&for=2h&until=22:00": {"kubectl flyball wake namespace/shop --until 2037-05-13T22:00:00Z -n shop",
			"namespace/shop: awake until Wed 2037-05-13 22:00 UTC"},
		"verb=wake&end=yes&on=deployment.apps/web": {"kubectl flyball wake deployment.apps/web --end -n shop",
			"deployment/web: no Override keeps exactly this awake"},
		"verb=pause&on=schedule/office-hours": {"kubectl flyball pause schedule/office-hours -n shop",
			"Schedule/shop/office-hours: paused: what sleeps stays asleep"},
		"verb=pause&end=yes&on=schedule/office-hours": {"kubectl flyball pause schedule/office-hours --end -n shop",
			"it was not paused, so nothing changes"},
		"verb=except&on=deployment.apps/web&allow=rollout&allow=scale&for=1h&reason=fix": {
			"kubectl flyball except deployment.apps/web --allow rollout,scale --for 1h --reason fix -n shop", "It lifts"},
	} {
		values, err := url.ParseQuery(form + "&namespace=shop")
		if err != nil {
			t.Fatal(err)
		}
		got, err := page.ActionOf(t.Context(), in, values)
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		var text strings.Builder
		if err := printer.Print(&text, got.Effect, printer.Table, false); err != nil {
			t.Fatal(err)
		}
		if got.Command != want[0] || !strings.Contains(text.String(), want[1]) {
			t.Errorf("%s\n%s\n%s", form, got.Command, text.String())
		}
		later := in
		later.Now = night.Add(time.Minute)
		again, err := page.ActionOf(t.Context(), later, got.Form)
		if err != nil || again.Form.Encode() != got.Form.Encode() {
			t.Errorf("%s means another instant a minute later: %v %v", form, again, err)
		}
	}
	for form, want := range map[string]string{
		"verb=except&on=deployment.apps/web&allow=rollout&for=1h": "say why",
		"verb=wake&on=deployment.apps/web&until=2036-01-01T00:00": "is over",
		"verb=wake&on=changefreeze/holiday&for=1h":                "there is no schedule changefreeze/holiday",
		"verb=pause&on=changefreeze/holiday":                      "has no spec.suspend",
		"verb=pause&on=schedule/none":                             "there is no", "verb=delete&on=deployment.apps/web": "there is no action",
	} {
		values, _ := url.ParseQuery(form + "&namespace=shop")
		if _, err := page.ActionOf(t.Context(), in, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// rights are the rights of a person. Each text is a right as source.Right.String returns it.
type rights []string

func (all rights) Allowed(_ context.Context, r source.Right, _ string) (bool, error) {
	return slices.Contains(all, r.String()), nil
}

// TestActionsAreOfferedByRights checks that a page offers an action only to a person who has the rights for it.
func TestActionsAreOfferedByRights(t *testing.T) {
	w := demo(t)
	o := &v1alpha1.Override{ObjectMeta: metav1.ObjectMeta{Name: "mine", Namespace: "shop", CreationTimestamp: metav1.NewTime(night)}}
	o.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Override"))
	o.Spec.OverrideRules = v1alpha1.OverrideRules{Effect: v1alpha1.OverrideAwake, For: "1h", Reason: "demo"}
	w.SetPolicy(o) // for the namespace
	target, err := w.FindTarget("deployment/web", "shop")
	if err != nil {
		t.Fatal(err)
	}
	story, err := explain.Of(t.Context(), w, target, explain.Input{At: night, Now: night, Zone: time.UTC,
		User: evaluate.User{Name: "alice"}, FlyballNamespace: source.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	hours := workload.Policy{Kind: "Schedule", Namespace: "shop", Name: "office-hours"}
	for _, c := range []struct {
		rights rights
		target page.Offers
		policy page.Offers
	}{
		{nil, page.Offers{}, page.Offers{}},
		{rights{"create overrides.flyball.dev in namespace shop"},
			page.Offers{Order: []string{"deployment.apps/web", "namespace/shop", "schedule/office-hours"}},
			page.Offers{Order: []string{"schedule/office-hours"}}},
		{rights{"delete overrides.flyball.dev in namespace shop"}, page.Offers{End: []page.InForce{{Verb: "wake", On: "namespace/shop"}}},
			page.Offers{}},
		{rights{"patch schedules.flyball.dev in namespace shop"}, page.Offers{}, page.Offers{Pause: "schedule/office-hours"}},
		{rights{"create freezeexceptions.flyball.dev in namespace shop"}, page.Offers{}, page.Offers{}},
		{rights{"create freezeexceptions.flyball.dev in namespace shop", "except freezeexceptions.flyball.dev in namespace shop"},
			page.Offers{Except: "deployment.apps/web"}, page.Offers{}},
	} {
		f := page.Offering{Asker: c.rights, World: w, Now: night}
		got, err := f.OfTarget(t.Context(), target, story)
		if err != nil || !slices.Equal(got.Order, c.target.Order) || !slices.Equal(got.End, c.target.End) ||
			got.Except != c.target.Except || got.FromCluster || !slices.Equal(got.Denying, []string{"ChangeFreeze/shop/holiday"}) ||
			got.Any() != c.target.Any() {
			t.Errorf("%v: the target has %+v, %v", c.rights, got, err)
		}
		if got, err = f.OfPolicy(t.Context(), hours); err != nil || !slices.Equal(got.Order, c.policy.Order) || got.Pause != c.policy.Pause ||
			got.Any() != c.policy.Any() {
			t.Errorf("%v: the policy has %+v, %v", c.rights, got, err)
		}
	}
}

// TestExceptionsAreOfferedForTheDenyingFreezes checks that a freeze of the cluster is offered a cluster exception, and only to a person
// with the rights for one.
func TestExceptionsAreOfferedForTheDenyingFreezes(t *testing.T) {
	w := demo(t)
	f := &v1alpha1.ClusterChangeFreeze{ObjectMeta: metav1.ObjectMeta{Name: "year-end"}}
	f.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterChangeFreeze"))
	f.Spec.StartTime, f.Spec.EndTime = metav1.NewTime(night.Add(-time.Hour)), metav1.NewTime(night.Add(time.Hour))
	f.Spec.Target.Namespaces = []string{"shop"}
	f.Spec.Deny, f.Spec.Enforcement = []v1alpha1.Action{v1alpha1.ActionRollOut}, v1alpha1.EnforcementDeny
	w.SetPolicy(f)
	target, err := w.FindTarget("statefulset/queue", "shop")
	if err != nil {
		t.Fatal(err)
	}
	story, err := explain.Of(t.Context(), w, target, explain.Input{At: night, Now: night, Zone: time.UTC,
		User: evaluate.User{Name: "alice"}, FlyballNamespace: source.DefaultNamespace})
	if err != nil {
		t.Fatal(err)
	}
	inNamespace := rights{"create freezeexceptions.flyball.dev in namespace shop", "except freezeexceptions.flyball.dev in namespace shop"}
	inCluster := rights{"create clusterfreezeexceptions.flyball.dev in all namespaces",
		"except clusterfreezeexceptions.flyball.dev in all namespaces"}
	for want, r := range map[string]rights{"": inNamespace, "statefulset.apps/queue": inCluster} {
		got, err := page.Offering{Asker: r, World: w, Now: night}.OfTarget(t.Context(), target, story)
		if err != nil || got.Except != want || !got.FromCluster || !slices.Equal(got.Denying, []string{"ClusterChangeFreeze/year-end"}) {
			t.Errorf("%v: %+v, %v", r, got, err)
		}
	}
}
