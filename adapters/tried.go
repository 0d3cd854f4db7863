package adapters

import (
	"crypto/sha256"
	_ "embed" // for the table of trials
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Trial is the result of nights beside the controllers that act on a kind.
type Trial struct {
	// With names the project and its version.
	With string `json:"with"`
	// Date of the trial, YYYY-MM-DD.
	Date string `json:"date"`
	// Adapter is the hash of the adapter that was tried.
	Adapter string `json:"adapter"`
	Nights  int    `json:"nights"`
	// Exact is true if every field was restored, every pod left and came back, and no predicate was true too early.
	Exact bool `json:"exact"`
	// The longest times from a transition of the schedule.
	PodsGoneMilliseconds  int64    `json:"podsGoneMilliseconds"`
	PodsReadyMilliseconds int64    `json:"podsReadyMilliseconds"`
	Faults                []string `json:"faults,omitempty"`
}

//go:embed tried.yaml
var tried []byte

// Tried returns the trial of an adapter, or nil if this adapter was not tried since its last change, or not without a fault.
func Tried(a *v1alpha1.Adapter) (*Trial, error) {
	table := map[string]Trial{}
	if err := yaml.UnmarshalStrict(tried, &table); err != nil {
		return nil, fmt.Errorf("decode adapters/tried.yaml: %w", err)
	}
	hash, err := Hash(a)
	t, ok := table[a.Name]
	if err != nil || !ok || t.Adapter != hash || !t.Exact {
		return nil, err
	}
	return &t, nil
}

// Hash returns a hash of the meaning of an adapter: comments and layout of its file do not count.
func Hash(a *v1alpha1.Adapter) (string, error) {
	text, err := json.Marshal(a.Spec)
	if err != nil {
		return "", fmt.Errorf("encode the adapter %s: %w", a.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}

// WriteTrials writes a table of trials, by the adapter's name.
func WriteTrials(file string, table map[string]Trial) error {
	text, err := yaml.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode the trials: %w", err)
	}
	return os.WriteFile(file, append([]byte("# Written by make test-controllers.\n"), text...), 0o644)
}
