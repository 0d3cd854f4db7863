package adapters

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Trial says that an adapter was tried without a fault for three nights beside the controllers that act on its kind, or why it cannot be.
type Trial struct {
	// With is the project and its version.
	With string `json:"with,omitempty"`
	// Date is the day, YYYY-MM-DD.
	Date string `json:"date,omitempty"`
	// Adapter is the digest of the adapter that was tried.
	Adapter string `json:"adapter,omitempty"`
	// LeftOut is the reason for no trial: the project, its version and the error of its build. It excludes the other fields.
	LeftOut string `json:"leftOut,omitempty"`
}

// ReadTrials reads a table of trials, by the name of the adapter.
func ReadTrials(file string) (map[string]Trial, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the trials: %w", err)
	}
	table := map[string]Trial{}
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	return table, nil
}

// WriteTrials writes a table of trials.
func WriteTrials(file string, table map[string]Trial) error {
	text, err := yaml.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode the trials: %w", err)
	}
	const head = "# Written by make test-controllers. By hand is only leftOut, the reason for no trial.\n"
	return os.WriteFile(file, append([]byte(head), text...), 0o644)
}

// Digest returns a digest of the meaning of an adapter: comments and layout of its file do not count.
func Digest(a *v1alpha1.Adapter) (string, error) {
	text, err := json.Marshal(a.Spec)
	if err != nil {
		return "", fmt.Errorf("encode the adapter %s: %w", a.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}
