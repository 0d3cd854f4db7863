// Package prometheus asks a Prometheus server. Every answer is limited in size and time. Errors name the server without its
// credentials, and the query.
package prometheus

import (
	"bufio"
	"bytes"
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

// Options name the server and the limits of its answers.
type Options struct {
	// Address is the URL of the server, with user and password if needed.
	Address string
	// TokenFile has a bearer token, and is read again for each request; empty: none.
	TokenFile string
	// Timeout is the longest time of an answer. Default: 30 s.
	Timeout time.Duration
	// MaxBytes is the largest size of an answer. Default: 64 MiB.
	MaxBytes int64
}

const (
	defaultTimeout  = 30 * time.Second
	defaultMaxBytes = 64 << 20
)

// Server is a Prometheus server, or another server with its API.
type Server struct {
	opts Options
	at   *url.URL
	api  promapi.API
}

// New returns a Server. It sends no request yet. An address that is no URL is an error.
func New(o Options) (*Server, error) {
	at, err := url.Parse(o.Address)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, errors.New("the address of Prometheus is no URL such as http://prometheus.monitoring:9090") // the address may have a password
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxBytes <= 0 {
		o.MaxBytes = defaultMaxBytes
	}
	s := &Server{opts: o, at: at}
	client, err := api.NewClient(api.Config{Address: o.Address, RoundTripper: s})
	if err != nil {
		return nil, fmt.Errorf("read the address of Prometheus: %w", err)
	}
	s.api = promapi.NewAPI(client)
	return s, nil
}

// Now returns the values of a query at an instant, by the server's clock if the instant is zero, and the server's warnings.
// An error is that of the request, or the answer of the server.
func (s *Server) Now(ctx context.Context, query string, at time.Time) (model.Vector, []string, error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	value, warnings, _, err := s.api.Query(ctx, query, at)
	if err != nil {
		return nil, nil, err
	}
	found, err := as[model.Vector](value, "values of an instant")
	return found, warnings, err
}

// Range returns the values of a query over time, and the server's warnings and remarks.
// An error is that of the request, or the answer of the server.
func (s *Server) Range(ctx context.Context, query string, r promapi.Range) (found model.Matrix, warnings, remarks []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
	defer cancel()
	value, warnings, infos, err := s.api.QueryRange(ctx, query, r)
	if err != nil {
		return nil, nil, nil, err
	}
	found, err = as[model.Matrix](value, "series over time")
	return found, warnings, infos, err
}

// Host returns the address without user and password.
func (s *Server) Host() string { return s.at.Host }

// RoundTrip implements http.RoundTripper. It sends the token only to this server, also after a redirect, and cuts
// answers that are too long.
func (s *Server) RoundTrip(r *http.Request) (*http.Response, error) {
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
	body := bufio.NewReader(answer.Body)
	if head, _ := body.Peek(headSize); bytes.Contains(head, []byte(partial)) { // an error comes again with the first Read
		_ = answer.Body.Close()
		return nil, ErrPartial
	}
	answer.Body = &limited{Reader: body, Closer: answer.Body, most: s.opts.MaxBytes}
	return answer, nil
}

// partial is in the head of an answer that lacks a part. The cluster of VictoriaMetrics says so in no warning, but in a field before the
// data (app/vmselect/prometheus/query_response.qtpl in its branch cluster). Within a string of JSON the quotes have backslashes.
const partial, headSize = `"isPartial":true`, 64

// ErrPartial is the error of an answer that lacks a part.
var ErrPartial = errors.New("the answer is incomplete (isPartial)")

// ErrTooLong is the error of an answer above the limit of its size.
var ErrTooLong = errors.New("the answer is too long")

// limited is an answer that ends with an error if it is too long.
type limited struct {
	io.Reader
	io.Closer
	read, most int64
}

// Read implements io.Reader.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.Reader.Read(p)
	if l.read += int64(n); l.read > l.most {
		return 0, fmt.Errorf("%w: at most %d MiB are read", ErrTooLong, l.most>>20)
	}
	return n, err
}

// Failed returns the error of a query, with Prometheus' own message if there is one. The error does not wrap its cause,
// so a failed connection to Prometheus is not mistaken for a failed connection to the API server. It names only the host
// of the address.
func (s *Server) Failed(name, query string, err error) error {
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

// as returns an answer in the expected type. wanted names that type in the error.
func as[T model.Value](v model.Value, wanted string) (T, error) {
	if m, ok := v.(T); ok {
		return m, nil
	}
	var none T
	if v == nil {
		return none, errors.New("the answer has no data")
	}
	return none, fmt.Errorf("the answer is a %s, and no %s", v.Type(), wanted)
}
