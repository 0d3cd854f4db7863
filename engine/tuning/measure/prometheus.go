package measure

import (
	"context"
	"errors"

	promapi "github.com/prometheus/client_golang/api/prometheus/v1"

	"flyball.dev/flyball/engine/prometheus"
)

// Prometheus reads the usage of pods from a Prometheus server: past usage (History) and present usage (Read).
type Prometheus struct {
	*prometheus.Server
	queries map[string]string
}

// NewPrometheus returns a Prometheus. Queries by name replace DefaultQueries. An unknown name is an error.
func NewPrometheus(server *prometheus.Server, queries map[string]string) (*Prometheus, error) {
	for name := range queries {
		if err := CheckQuery(name); err != nil {
			return nil, err
		}
	}
	return &Prometheus{Server: server, queries: queries}, nil
}

// divisible reports whether a server may answer half of a range after it failed to answer the whole range: the answer
// was too long, took too long, or was too much for the server.
func divisible(err error) bool {
	var at *promapi.Error
	return errors.Is(err, prometheus.ErrTooLong) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &at) && (at.Type == promapi.ErrExec || at.Type == promapi.ErrTimeout)
}
