package adapters

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Trial says that an adapter was tried without a fault for three nights beside the controllers of a project, or why it cannot be.
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

// Trials are the trials of each adapter by its name, in the order of their projects.
type Trials map[string][]Trial

// ReadTrials reads a table of trials.
func ReadTrials(file string) (Trials, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the trials: %w", err)
	}
	table := Trials{}
	if err := yaml.UnmarshalStrict(text, &table); err != nil {
		return nil, fmt.Errorf("decode %s: %w", file, err)
	}
	return table, nil
}

// WriteTrials writes a table of trials.
func WriteTrials(file string, table Trials) error {
	for name, rows := range table {
		slices.SortFunc(rows, func(a, b Trial) int { return strings.Compare(a.With, b.With) })
		if len(rows) == 0 {
			delete(table, name)
		}
	}
	text, err := yaml.Marshal(table)
	if err != nil {
		return fmt.Errorf("encode the trials: %w", err)
	}
	const head = "# Written by make test-controllers. By hand is only leftOut, the reason for no trial.\n"
	return os.WriteFile(file, append([]byte(head), text...), 0o644)
}

// Digest returns a digest of the meaning of an adapter: comments and layout of its file do not count, nor paused and alreadyAsleep of
// items of unable, because only texts and counts follow from them.
func Digest(a *v1alpha1.Adapter) (string, error) {
	spec := *a.Spec.DeepCopy()
	for i := range spec.Unable {
		spec.Unable[i].Paused, spec.Unable[i].AlreadyAsleep = false, false
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode the adapter %s: %w", a.Name, err)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6]), nil
}
