package measure

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	promapi "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"
)

// PrometheusOptions name the server and the limits of its answers.
type PrometheusOptions struct {
	// Address is the URL of the server, with user and password if needed.
	Address string
	// TokenFile has a bearer token, and is read again for each request; empty: none.
	TokenFile string
	// Queries by name replace DefaultQueries.
	Queries map[string]string
	// Timeout is the longest time of an answer. Default: 30 s.
	Timeout time.Duration
	// MaxBytes is the largest size of an answer. Default: 64 MiB.
	MaxBytes int64
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 64 << 20
)

// Prometheus reads the usage of pods from a Prometheus server: past usage (History) and present usage (Read). Every answer is
// limited in size and time. Errors name the server without its credentials, and the query.
type Prometheus struct {
	opts PrometheusOptions
	at   *url.URL
	api  promapi.API
}

// NewPrometheus returns a Prometheus. It sends no request yet.
func NewPrometheus(o PrometheusOptions) (*Prometheus, error) {
	at, err := url.Parse(o.Address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the address of Prometheus is no URL such as http://prometheus.monitoring:9090") // the address may have a password
	}
	for name := range o.Queries {
		if err := CheckQuery(name); err != nil {
			return nil, err
		}
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	s := &Prometheus{opts: o, at: at}
	client, err := api.NewClient(api.Config{Address: o.Address, RoundTripper: s})
	if err != nil {
		return nil, fmt.Errorf("read the address of Prometheus: %w", err)
	}
	s.api = promapi.NewAPI(client)
	return s, nil
}

// Host returns the address without user and password.
func (s *Prometheus) Host() string { return s.at.Host }

// RoundTrip implements http.RoundTripper. It sends the token only to this server, also after a redirect, and cuts
// answers that are too long.
func (s *Prometheus) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.opts.TokenFile != "" && r.URL.Host == s.at.Host {
		token, err := os.ReadFile(s.opts.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("read the token: %w", err)
		}
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	}
	answer, err := api.DefaultRoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = &limited{ReadCloser: answer.Body, left: s.opts.MaxBytes}
	return answer, nil
}

var errTooLong = errors.New("the answer is too long")

// limited is an answer that ends with an error if it is too long.
type limited struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return 0, errTooLong
	}
	return n, err
}

// failed returns the error of a query, with Prometheus' own message if there is one. The error does not wrap its cause,
// so a failed connection to Prometheus is not mistaken for a failed connection to the API server. It names only the host
// of the address.
func (s *Prometheus) failed(name, query string, err error) error {
	var at *promapi.Error
	if errors.As(err, &at) && at.Detail != "" && len(at.Detail) < 300 {
		err = fmt.Errorf("%w (%s)", err, strings.TrimSpace(at.Detail))
	}
	if inner := (*url.Error)(nil); errors.As(err, &inner) {
		err = inner.Err
	}
	return &Error{Host: s.Host(), Name: name, Query: query, Text: err.Error()}
}

// Error is the error of a query: Prometheus' answer, or the lack of one.
type Error struct{ Host, Name, Query, Text string }

// Error implements error.
func (e *Error) Error() string {
	return fmt.Sprintf("ask Prometheus at %s for %s with %s: %s", e.Host, e.Name, e.Query, e.Text)
}

// divisible reports whether a server may answer half of a range after it failed to answer the whole range: the answer
// was too long, took too long, or was too much for the server.
func divisible(err error) bool {
	var at *promapi.Error
	return errors.Is(err, errTooLong) || errors.Is(err, context.DeadlineExceeded) ||
		errors.As(err, &at) && (at.Type == promapi.ErrExec || at.Type == promapi.ErrTimeout)
}

// once bounds one request in time.
func (s *Prometheus) once(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, s.opts.Timeout)
}

// as returns an answer in the expected type. wanted names that type in the error.
func as[T model.Value](v model.Value, wanted string) (T, error) {
	if m, ok := v.(T); ok {
		return m, nil
	}
	var none T
	return none, fmt.Errorf("the answer is a %s, and no %s", v.Type(), wanted)
}
