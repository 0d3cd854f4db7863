package deploy

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/admit/wakes"
)

// TestChartGrantsTheWakeAPIOnlyIfEnabled checks that the chart has no part of the wake API unless it is enabled, and
// that it then grants only the
// necessary rights.
func TestChartGrantsTheWakeAPIOnlyIfEnabled(t *testing.T) {
	const on = "wake.enabled=true"
	granted := func(args ...string) (all []string) {
		for _, rule := range rules(t, find(t, render(t, args...), "ClusterRole", "flyball-base")) {
			if slices.Contains(rule.Resources, "tokenreviews") || slices.Contains(rule.Resources, "namespaces") &&
				slices.Contains(rule.Verbs, "patch") {
				all = append(all, rule.Resources[0]+" "+strings.Join(rule.Verbs, ","))
			}
		}
		return all
	}
	flags := func(args ...string) (all []string) {
		for _, arg := range deployment(t, render(t, args...)).Spec.Template.Spec.Containers[0].Args {
			if strings.HasPrefix(arg, "--wake") {
				all = append(all, arg)
			}
		}
		return all
	}
	if got := append(flags(), granted()...); len(got) != 0 {
		t.Errorf("by default there is %v", got)
	}
	if got := granted("--set", on); !slices.Equal(got, []string{"tokenreviews create", "namespaces patch"}) {
		t.Errorf("rights: %v", got)
	}
	if got := flags("--set", on); !slices.Equal(got, []string{"--wake", "--wake-rate=5"}) {
		t.Errorf("flags: %v", got)
	}
	if got := flags("--set", on, "--set-json", `wake.rate=0.5,wake.audiences=["a","b"]`); !slices.Equal(got,
		[]string{"--wake", "--wake-rate=0.5", "--wake-audiences=a,b"}) {
		t.Errorf("flags: %v", got)
	}
	role := rules(t, find(t, render(t, "--set", on), "ClusterRole", "flyball-wake"))
	if len(role) != 1 || !slices.Equal(role[0].Resources, []string{"clusterschedules", "schedules"}) ||
		!slices.Equal(role[0].Verbs, []string{wakes.Verb}) {
		t.Errorf("the role of callers: %+v", role)
	}
	for _, bad := range []string{on + ",webhook.enabled=false", on + ",wake.rate=0", "wake.on=true"} {
		if out, err := here.tool(t.Context(), "helm", "template", release, chart, "--set", bad); err == nil {
			t.Errorf("--set %s is taken:\n%.200s", bad, out)
		}
	}
}

// botWakes lets a service account with nothing but the chart's role wake a sleeping namespace. The right on namespaces
// that the manager has for this reaches no further than two annotations.
func (s *stage) botWakes() {
	call := s.caller("bot")
	if code, text := call(http.MethodPost, wakes.Path, `{"namespace":"shop","for":"1h"}`); code != http.StatusForbidden ||
		!strings.Contains(text, "may not wake namespace/shop") {
		s.Errorf("without a right: %d %s", code, text)
	}
	must(s.T, "kubectl", "create", "rolebinding", "bot-wake", "-n", "shop", "--clusterrole=flyball-wake", "--serviceaccount=shop:bot")
	eventually(s.T, func() error {
		if code, text := call(http.MethodPost, wakes.Path, `{"namespace":"shop","for":"1h","reason":"demo"}`); code != http.StatusOK {
			return fmt.Errorf("with the chart's role: %d %s", code, text)
		}
		return nil
	})
	s.replicas(3)
	if code, text := call(http.MethodDelete, wakes.Path, `{"namespace":"shop"}`); code != http.StatusOK {
		s.Errorf("the end of the wake: %d %s", code, text)
	}
	s.replicas(0)
	manager, err := client.New(here.as("flyball"), client.Options{Scheme: here.client.Scheme()})
	s.must(err)
	shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	// In this order, because the namespace must not stay awake.
	for _, edit := range []struct {
		metadata string
		allowed  bool
	}{
		{`{"annotations":{"flyball.dev/awake-until":"2037-05-11T22:00:00Z"}}`, true},
		{`{"annotations":{"flyball.dev/awake-until":null}}`, true},
		{`{"annotations":{"team":"a"}}`, false}, {`{"labels":{"team":"a"}}`, false}, {`{"finalizers":["example.com/a"]}`, false},
	} {
		err := manager.Patch(s.ctx, shop.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"metadata":`+edit.metadata+`}`)))
		if denied := err != nil && strings.Contains(err.Error(), "flyball-wake"); denied == edit.allowed {
			s.Errorf("%s as the manager: %v, want it allowed: %t", edit.metadata, err, edit.allowed)
		}
	}
}
