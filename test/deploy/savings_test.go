package deploy

import (
	"slices"
	"strings"
	"testing"
)

// TestManagerGetsTheRatesOfMoneyAndCO2 checks that the manager gets exactly those rates of money and CO2 that are
// set.
func TestManagerGetsTheRatesOfMoneyAndCO2(t *testing.T) {
	for _, c := range []struct {
		set  string
		want []string
	}{
		{"replicas=1", nil},
		{"savings.price.currency=EUR", nil},
		{"savings.price.cpu=0.031,savings.price.currency=EUR", []string{"--savings-price=cpu=0.031,memory=0,currency=EUR"}},
		{"savings.price.memory=0.004,savings.co2.cpu=5", []string{"--savings-price=cpu=0,memory=0.004", "--savings-co2=cpu=5,memory=0"}},
	} {
		if got := args(t, c.set, "--savings-"); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
	}
}

// TestPagesInMessages checks that the manager gets the address of the pages if it sends messages.
func TestPagesInMessages(t *testing.T) {
	for set, want := range map[string][]string{
		"notifications.enabled=true":                                      nil,
		"ui.url=https://flyball.corp.example":                             nil,
		"notifications.enabled=true,ui.url=https://flyball.corp.example/": {"--ui-url=https://flyball.corp.example/"},
	} {
		if got := args(t, set, "--ui-url"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
}

// TestLimitOfNotifications checks that the chart gives the limit of each namespace to the manager.
func TestLimitOfNotifications(t *testing.T) {
	for set, want := range map[string]string{"notifications.enabled=true": "20",
		"notifications.enabled=true,notifications.perNamespace=3": "3"} {
		if got := args(t, set, "--notifications-per-namespace"); !slices.Equal(got, []string{"--notifications-per-namespace=" + want}) {
			t.Errorf("%s: %q, want %s", set, got, want)
		}
	}
}

// TestDryRun checks that the value alone decides whether the manager writes.
func TestDryRun(t *testing.T) {
	for set, want := range map[string][]string{"replicas=1": nil, "dryRun=false": nil, "dryRun=true": {"--dry-run"}} {
		if got := args(t, set, "--dry-run"); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", set, got, want)
		}
	}
	if _, err := here.tool(t.Context(), "helm", "template", release, chart, "--set", "dryRun=perhaps"); err == nil {
		t.Error("dryRun=perhaps is accepted")
	}
}

// args returns the arguments of the manager with a prefix, in a chart with some values.
func args(t *testing.T, set, prefix string) (got []string) {
	t.Helper()
	obj := find(t, render(t, "--set", set), "Deployment", "flyball")
	containers := obj.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
	for _, arg := range containers[0].(map[string]any)["args"].([]any) {
		if strings.HasPrefix(arg.(string), prefix) {
			got = append(got, arg.(string))
		}
	}
	return got
}
