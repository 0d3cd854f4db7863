package deploy

import (
	"slices"
	"strings"
	"testing"
)

// TestSavings checks that the manager gets exactly those rates of money and CO2 that are set.
func TestSavings(t *testing.T) {
	for _, c := range []struct {
		set  string
		want []string
	}{
		{"replicas=1", nil},
		{"savings.price.currency=EUR", nil},
		{"savings.price.cpu=0.031,savings.price.currency=EUR", []string{"--savings-price=cpu=0.031,memory=0,currency=EUR"}},
		{"savings.price.memory=0.004,savings.co2.cpu=5", []string{"--savings-price=cpu=0,memory=0.004", "--savings-co2=cpu=5,memory=0"}},
	} {
		obj := find(t, render(t, "--set", c.set), "Deployment", "flyball")
		containers := obj.Object["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)["containers"].([]any)
		var got []string
		for _, arg := range containers[0].(map[string]any)["args"].([]any) {
			if strings.HasPrefix(arg.(string), "--savings-") {
				got = append(got, arg.(string))
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.set, got, c.want)
		}
	}
}
