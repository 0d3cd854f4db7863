package cli_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/cmd/kubectl-flyball/adapter"
	"flyball.dev/flyball/crds/v1alpha1"
)

// TestATrialRestoresByTheAwakeValue tries a RayCluster without a switch, which its operator wakes only by the value false.
func TestATrialRestoresByTheAwakeValue(t *testing.T) {
	read := func(name string) []byte {
		text, err := os.ReadFile(filepath.Join("../../../adapters/ray.io/RayCluster", name))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	var a v1alpha1.Adapter
	if err := yaml.Unmarshal(read("adapter.yaml"), &a); err != nil {
		t.Fatal(err)
	}
	object, err := yaml.YAMLToJSON(read("testdata/normal/object.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	trial, err := adapter.Try(&a, object)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".spec.suspend: false"}, trial.Left); diff != "" || !trial.Restored {
		t.Errorf("restored %t, left (-wanted +found):\n%s", trial.Restored, diff)
	}
}
