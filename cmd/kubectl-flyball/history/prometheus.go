package history

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/tortoise/model"
	"flyball.dev/flyball/engine/tuning/recorded"
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
	// Progress receives lines of progress, and Note the warnings of the server. Neither is nil.
	Progress, Note func(string)
	// Keeps reports whether samples of a container are used; nil: all are used.
	Keeps func(container string) bool
}

// MostInstants is the largest number of replayed instants. A sample takes 104 bytes a container.
const MostInstants = 300_000

// Queried are the fields that queries are put for, in the order of Fields.
func Queried() []string {
	return slices.DeleteFunc(slices.Clone(Fields), func(name string) bool { return recorded.DefaultQueries[name] == "" })
}

// CheckQuery returns an error if no query has the name.
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
func (p Prometheus) Read(ctx context.Context) ([]model.Sample, error) {
	server, err := recorded.New(recorded.Options{Address: p.Address, TokenFile: p.TokenFile, Queries: p.Queries})
	if err != nil {
		return nil, err
	}
	var all []model.Sample
	part, parts := 0, 0
	err = server.Each(ctx, recorded.Range{
		Namespace: p.Namespace, Pods: p.Pods, From: p.From, To: p.To, Step: p.Step, Note: p.Note,
		Progress: func(i, n int) {
			part, parts = i, n
			p.Progress(fmt.Sprintf("asking Prometheus, part %d of %d", min(part+1, parts), parts))
		},
	}, func(found []policy.Sample) {
		if all == nil {
			all = make([]model.Sample, 0, len(found)*(parts-part))
		}
		for i := range found {
			if p.Keeps == nil || p.Keeps(found[i].Container) {
				all = append(all, found[i])
			}
		}
	})
	if none := (*recorded.Nothing)(nil); errors.As(err, &none) {
		return nil, fmt.Errorf("%w; see --query and --pods", err)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
