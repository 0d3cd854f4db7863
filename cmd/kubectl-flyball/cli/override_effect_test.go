package cli_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/override"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
)

// effectOf returns the effect of an order.
func effectOf(t *testing.T, w *source.World, effect v1alpha1.OverrideEffect, args ...string) *override.Effect {
	t.Helper()
	e, err := orderOf(t, effect).Of(t.Context(), w, placesOf(t, w, args...))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// changes returns the changes of an effect as text, with their hours from morning.
func changes(e *override.Effect) (all []string) {
	for i := range e.Plan.Changes {
		c := &e.Plan.Changes[i]
		all = append(all, fmt.Sprintf("%s%.0f %s %s", c.Diff, c.At.Sub(morning).Hours(), strings.ToLower(c.Target), c.To))
	}
	slices.Sort(all)
	return all
}

// TestThePreviewShowsEveryOverride checks the effect of Overrides whose names the API server would generate from one beginning.
func TestThePreviewShowsEveryOverride(t *testing.T) {
	both := []string{"+0 deployment.apps/shop/web 0", "+0 statefulset.apps/shop/web 0", "+1 deployment.apps/shop/web 3",
		"+1 statefulset.apps/shop/web 1"}
	w := worldOf(t, namespace, web, webSet)
	if got := changes(effectOf(t, w, v1alpha1.OverrideAsleep, "deployment/web", "statefulset/web")); !slices.Equal(got, both) {
		t.Errorf("two Overrides make the changes %q", got)
	}
	// An Override in force has the name of the preview already.
	is := orderOf(t, v1alpha1.OverrideAsleep).Objects(placesOf(t, w, "statefulset/web"))[0]
	is.SetGenerateName("")
	is.SetName("sleep-web")
	w.SetPolicy(is)
	if got := changes(effectOf(t, w, v1alpha1.OverrideAsleep, "deployment/web")); !slices.Equal(got, []string{both[0], both[2]}) {
		t.Errorf("beside an Override of that name, it makes the changes %q", got)
	}
}

// TestWaitingForALimitedOrderFails checks that a wait does not call an object ready that a limit keeps from waking.
func TestWaitingForALimitedOrderFails(t *testing.T) {
	w := worldOf(t, namespace, web, strings.Replace(nights, "spec: {", "spec: {overrides: {effects: [Hold]}, ", 1))
	e := effectOf(t, w, v1alpha1.OverrideAwake, "deployment/web")
	err := e.Await(t.Context(), nil, w, placesOf(t, w, "deployment/web"), time.Minute, func(string) {}, func(string) {})
	const want = "Deployment.apps/shop/web: Schedule/shop/nights yields to no effect Awake"
	if err == nil || !strings.Contains(err.Error(), want) || len(e.Ready) != 0 {
		t.Errorf("it waits with %v, want %s", err, want)
	}
}

// TestOnlyObjectsWithAHoldAreHeld checks the refusals of a hold.
func TestOnlyObjectsWithAHoldAreHeld(t *testing.T) {
	const cronJob = "\n---\n{apiVersion: batch/v1, kind: CronJob, metadata: {name: report, namespace: shop}, spec: {schedule: \"0 3 * * *\"}}"
	const owner = ", ownerReferences: [{apiVersion: %s, kind: %s, name: own, uid: u, controller: true}]"
	owned := func(apiVersion, kind string) string {
		return strings.Replace(api, "namespace: shop", "namespace: shop"+fmt.Sprintf(owner, apiVersion, kind), 1)
	}
	for _, tc := range []struct{ reason, manifest, place, want string }{
		{"a Deployment", web, "deployment/web", ""},
		{"a namespace", web, "namespace/shop", ""},
		{"a kind without a hold", cronJob, "cronjob/report", "has no hold"},
		{"an owner that would undo it", owned("apps/v1", "StatefulSet"), "deployment/api", "policies act on that object instead"},
		{"an owner without an adapter", owned("example.com/v1", "Shop"), "deployment/api", "put the adapter shops.example.com to use"},
	} {
		w := worldOf(t, namespace, tc.manifest)
		err := override.CheckHold(w, placesOf(t, w, tc.place)[0])
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.reason, err, tc.want)
		}
	}
}

// TestTheManifestOfAnEffectIsReadyForCreation checks that the manifest has nothing that the API server sets.
func TestTheManifestOfAnEffectIsReadyForCreation(t *testing.T) {
	w := worldOf(t, namespace, web, nights)
	e := effectOf(t, w, v1alpha1.OverrideAwake, "namespace/shop", "deployment/web")
	for _, obj := range e.Overrides {
		obj.SetUID("u")
		obj.SetResourceVersion("7")
		obj.SetFinalizers([]string{"flyball.dev/restore"})
	}
	text, err := e.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"creationTimestamp", "uid", "resourceVersion", "finalizers", "status"} {
		if strings.Contains(text, word+":") {
			t.Errorf("the manifest has %s:\n%s", word, text)
		}
	}
	files := source.Files{Paths: []string{"-"}, Stdin: strings.NewReader(text), Namespace: "shop"}
	m, err := files.Read()
	if err != nil || len(m.Policies) != 2 || m.Policies[0].GetGenerateName() != "wake-shop-" {
		t.Errorf("read back: %v, %v", m, err)
	}
}
