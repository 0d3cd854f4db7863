package analysis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"flyball.dev/flyball/engine/prometheus"
	"flyball.dev/flyball/engine/tuning/measure"
	"flyball.dev/flyball/engine/workload"
)

// Prometheus reads samples from a server.
type Prometheus struct {
	// Address is the URL of the server, with user and password if the server needs them. TokenFile is the file with a
	// bearer token. It is empty if there is no token.
	Address, TokenFile string
	// Namespace is the namespace of the target's pods. Pods is a regular expression for their names.
	Namespace, Pods string
	// Queries are queries, by the name of their field, that replace the default queries.
	Queries map[string]string
	// From is the instant of the first sample. To is the instant of the last sample. Step is the time between two samples.
	From, To time.Time
	Step     time.Duration
	// Progress receives lines of progress. Note receives the warnings of the server. Neither may be nil.
	Progress, Note func(string)
	// Keeps reports whether samples of a container are used. If it is nil, all samples are used.
	Keeps func(container string) bool
}

// MostInstants is the largest number of replayed instants. Each instant needs 104 bytes of memory per container.
const MostInstants = 300_000

// Queried returns the fields that are read by queries, in the order of Columns.
func Queried() []string {
	return slices.DeleteFunc(slices.Clone(Columns), func(name string) bool { return measure.DefaultQueries[name] == "" })
}

// CheckQuery returns an error if the name is not the name of a query.
func CheckQuery(name string) error {
	if slices.Contains(Queried(), name) {
		return nil
	}
	if err := knownField(name); err != nil {
		return err
	}
	return fmt.Errorf("%s is no query: it comes with the answers", name)
}

// Read reads the samples from the server, with several queries for successive parts of the time.
func (p Prometheus) Read(ctx context.Context) ([]workload.Sample, error) {
	at, err := prometheus.New(prometheus.Options{Address: p.Address, TokenFile: p.TokenFile})
	if err != nil {
		return nil, err
	}
	server, err := measure.NewPrometheus(at, p.Queries)
	if err != nil {
		return nil, err
	}
	var all []workload.Sample
	part, parts := 0, 0
	err = server.Each(ctx, measure.Range{
		Namespace: p.Namespace, Pods: p.Pods, From: p.From, To: p.To, Step: p.Step, Note: p.Note,
		Progress: func(i, n int) {
			part, parts = i, n
			p.Progress(fmt.Sprintf("asking Prometheus, part %d of %d", min(part+1, parts), parts))
		},
	}, func(found []workload.Sample) {
		if all == nil {
			all = make([]workload.Sample, 0, len(found)*(parts-part))
		}
		for i := range found {
			if p.Keeps == nil || p.Keeps(found[i].Container) {
				all = append(all, found[i])
			}
		}
	})
	if none := (*measure.Nothing)(nil); errors.As(err, &none) {
		return nil, fmt.Errorf("%w; see --query and --pods", err)
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}
