package deploy

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy/kinds"
)

// TestUserRoles checks that a user who may view a namespace, or the cluster, can read every policy that can refuse the
// user's changes, and the objects on which the policy depends. The virtual verbs are in separate roles, which no other
// role includes.
func TestUserRoles(t *testing.T) {
	all := render(t)
	view := rules(t, find(t, all, "ClusterRole", "flyball-view"))[0]
	want := []string{"adapters", "calendars", "recommendations", "notifications", "clusternotifications"}
	for _, k := range kinds.All() {
		want = append(want, k.Resource)
	}
	slices.Sort(want)
	slices.Sort(view.Resources)
	if !slices.Equal(view.Resources, want) || !slices.Equal(view.Verbs, []string{"get", "list", "watch"}) {
		t.Errorf("view: %v of %v, want %v", view.Verbs, view.Resources, want)
	}
	for _, aggregate := range []string{"true", "false"} {
		all := render(t, "--set", "rbac.aggregateToUserRoles="+aggregate)
		for verb, of := range map[string][]string{
			"override": {"changefreezes", "clusterchangefreezes", "clustermaintenancewindows", "maintenancewindows"},
			"except":   {"clusterfreezeexceptions", "freezeexceptions"},
		} {
			role := find(t, all, "ClusterRole", "flyball-freeze-"+verb)
			got := rules(t, role)
			if verb == "override" {
				hooks := got[len(got)-1]
				if !slices.Equal(hooks.Resources, []string{"validatingwebhookconfigurations"}) ||
					!slices.Equal(hooks.ResourceNames, []string{"flyball", "flyball-freeze"}) ||
					!slices.Equal(hooks.Verbs, []string{verb}) {
					t.Errorf("%s: %+v", role.GetName(), hooks)
				}
				got = got[:len(got)-1]
			}
			if len(got) != 1 || !slices.Equal(got[0].Verbs, []string{verb}) || !slices.Equal(got[0].Resources, of) {
				t.Errorf("%s: %+v", role.GetName(), got)
			}
			for label := range role.GetLabels() {
				if strings.Contains(label, "aggregate") {
					t.Errorf("%s is in another role by %s", role.GetName(), label)
				}
			}
		}
	}
}

// TestClusterReaders checks that the groups named in a value can read the cluster-scoped policies that govern
// namespaces. No binding in a namespace can grant this right.
func TestClusterReaders(t *testing.T) {
	want := []string{"adapters", "calendars"}
	for _, k := range kinds.All() {
		if k.ClusterScoped {
			want = append(want, k.Resource)
		}
	}
	slices.Sort(want)
	for value, groups := range map[string][]string{"": {"system:authenticated"}, `["devs","ops"]`: {"devs", "ops"}, `[]`: nil} {
		var args []string
		if value != "" {
			args = []string{"--set-json", "rbac.clusterReaders=" + value}
		}
		all := render(t, args...)
		role := rules(t, find(t, all, "ClusterRole", source.ClusterReader))
		slices.Sort(role[0].Resources)
		if len(role) != 1 || !slices.Equal(role[0].Resources, want) || !slices.Equal(role[0].Verbs, []string{"get", "list", "watch"}) {
			t.Errorf("%+v, want to read %v", role, want)
		}
		var bound []string
		for _, obj := range all {
			if obj.GetKind() != "ClusterRoleBinding" || obj.GetName() != source.ClusterReader {
				continue
			}
			subjects, _, err := unstructured.NestedSlice(obj.Object, "subjects")
			if err != nil {
				t.Fatal(err)
			}
			for _, subject := range subjects {
				bound = append(bound, subject.(map[string]any)["name"].(string))
			}
		}
		if !slices.Equal(bound, groups) {
			t.Errorf("with %q it is bound to %v, want %v", value, bound, groups)
		}
	}
}

// TestSecretsOfNotifications checks that the manager may read Secrets by name only, and none while no messages are sent.
func TestSecretsOfNotifications(t *testing.T) {
	for value, want := range map[string][]string{"false": nil, "true": {"flyball-notifications", "chat"}} {
		all := render(t, "--set", "notifications.enabled="+value, "--set-json", `notifications.secrets=["flyball-notifications","chat"]`)
		var got []string
		for _, rule := range rules(t, find(t, all, "ClusterRole", "flyball-base")) {
			if slices.Contains(rule.Resources, "secrets") {
				got = append(got, rule.ResourceNames...)
				if !slices.Equal(rule.Verbs, []string{"get"}) || len(rule.ResourceNames) == 0 {
					t.Errorf("with notifications.enabled=%s: %+v", value, rule)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with notifications.enabled=%s the manager may read the Secrets %v, want %v", value, got, want)
		}
	}
}

// TestConfigMapsOfCalendars checks that the manager may get, by name, the ConfigMaps of calendars that a value lists,
// and no others.
func TestConfigMapsOfCalendars(t *testing.T) {
	all := render(t, "--set-json", `calendars.configMaps=[{"namespace":"ops","name":"company"}]`)
	role := find(t, all, "Role", "flyball-calendar-0")
	got := rules(t, role)
	if len(got) != 1 || !slices.Equal(got[0].Resources, []string{"configmaps"}) || !slices.Equal(got[0].ResourceNames, []string{"company"}) ||
		!slices.Equal(got[0].Verbs, []string{"get"}) || role.GetNamespace() != "ops" {
		t.Errorf("%s/%s: %+v", role.GetNamespace(), role.GetName(), got)
	}
	find(t, all, "RoleBinding", "flyball-calendar-0")
	for _, o := range render(t) {
		if strings.Contains(o.GetName(), "-calendar-") {
			t.Errorf("without the value there is the %s %s", o.GetKind(), o.GetName())
		}
	}
}
