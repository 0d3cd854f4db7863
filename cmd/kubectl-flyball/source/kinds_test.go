package source

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/path/rawjson"
)

// TestEveryKindOfFlyballIsReadFromFiles checks that no kind with a CRD is refused as unknown.
func TestEveryKindOfFlyballIsReadFromFiles(t *testing.T) {
	files, err := filepath.Glob("../../../crds/flyball.dev_*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		crd, err := yaml.YAMLToJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		kind := rawjson.GetBytes(crd, "spec.names.kind").Str
		if _, err := readText("{apiVersion: flyball.dev/v1alpha1, kind: " + kind + ", metadata: {name: a}}"); err != nil &&
			strings.Contains(err.Error(), "has no kind") {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

// TestNotificationsInFiles checks that a Notification is no obstacle, and that its faults are named as at apply.
func TestNotificationsInFiles(t *testing.T) {
	if _, err := (Files{Paths: []string{"../../../samples/notifications"}, FlyballNamespace: DefaultNamespace}).Load(); err != nil {
		t.Error(err)
	}
	to := "to: {service: {type: Slack, urlFrom: {secretKeyRef: {name: a, key: b}}}}}}"
	for spec, want := range map[string]string{
		`kind: Notification, spec: {events: [Failed], template: "{{.Nobody}}", `: "spec.template",
		`kind: ClusterNotification, spec: {events: [Failed], ahead: 8d, `:        "spec.ahead",
		`kind: Notification, spec: {events: [Nothing], `:                         "spec.events",
	} {
		if _, err := readText("{apiVersion: flyball.dev/v1alpha1, metadata: {name: a}, " + spec + to); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func readText(text string) (*Manifests, error) {
	f := Files{Paths: []string{"-"}, Stdin: io.NopCloser(strings.NewReader(text)), Namespace: "shop", FlyballNamespace: DefaultNamespace}
	return f.Read()
}
