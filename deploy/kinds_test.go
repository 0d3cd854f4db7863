package deploy_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"flyball.dev/flyball/engine/policy/kinds"
)

// TestEveryPolicyKindHasItsRights looks for the kinds in the templates that list them in groups of their own.
func TestEveryPolicyKindHasItsRights(t *testing.T) {
	for _, name := range []string{"rbac.yaml", "webhook.yaml"} {
		text, err := os.ReadFile(filepath.Join("helm", "flyball", "templates", name))
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range kinds.All() {
			if !regexp.MustCompile(`\b` + k.Resource + `\b`).Match(text) {
				t.Errorf("%s does not list %s", name, k.Resource)
			}
		}
	}
}
