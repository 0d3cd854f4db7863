package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy/tortoise/usage"
	"flyball.dev/flyball/engine/usage/recorded"
)

// Prometheus reads samples from a server.
type Prometheus struct {
	// Address is the URL of the server, with user and password if it wants them. TokenFile has a bearer token; empty: none.
	Address, TokenFile string
	// Namespace, and Pods, a regular expression of the names of the target's pods.
	Namespace, Pods string
	// Queries by field, in place of the default ones.
	Queries map[string]string
	// From and To are the instants of the first and the last sample, Step is between two samples.
	From, To time.Time
	Step     time.Duration
	// Progress is told what goes on; Note what the server warns of. Neither is nil.
	Progress, Note func(string)
}

// Queried are the fields that queries are put for, in the order of Fields.
func Queried() []string {
	return slices.DeleteFunc(slices.Clone(Fields), func(name string) bool { return recorded.DefaultQueries[name] == "" })
}

// CheckQuery says whether there may be a query of a name.
func CheckQuery(name string) error {
	if slices.Contains(Queried(), name) {
		return nil
	}
	if err := knownField(name); err != nil {
		return err
	}
	return fmt.Errorf("%s is no query: it comes with the answers", name)
}

// Read asks the server, part by part.
func (p Prometheus) Read(ctx context.Context) ([]usage.Sample, error) {
	server, err := recorded.New(recorded.Options{Address: p.Address, TokenFile: p.TokenFile, Queries: p.Queries})
	if err != nil {
		return nil, err
	}
	found, err := server.History(ctx, recorded.Range{
		Namespace: p.Namespace, Pods: p.Pods, From: p.From, To: p.To, Step: p.Step, Note: p.Note,
		Progress: func(part, parts int) {
			p.Progress(fmt.Sprintf("asking Prometheus, part %d of %d", min(part+1, parts), parts))
		},
	})
	if none := (*recorded.Nothing)(nil); errors.As(err, &none) {
		return nil, fmt.Errorf("%w; see --query and --pods", err)
	}
	if err != nil {
		return nil, err
	}
	all := make([]usage.Sample, len(found))
	for i, s := range found {
		all[i] = usage.Sample(s)
	}
	return all, nil
}
