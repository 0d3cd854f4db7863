package cluster

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// client is a plain HTTP client of the API server for the administrator.
type client struct {
	base  string
	token string
	http  *http.Client
}

func newClient(base string, ca *authority, token string) *client {
	roots := x509.NewCertPool()
	roots.AddCert(ca.cert)
	return &client{base: base, token: token, http: &http.Client{
		Timeout:   10 * time.Second,
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}},
	}}
}

// get reads a path. With a nil target it only checks for status 200.
func (c *client) get(ctx context.Context, path string, into any) error {
	return c.do(ctx, http.MethodGet, path, "", nil, into)
}

// create posts one object as JSON or YAML. An existing object is left unchanged.
func (c *client) create(ctx context.Context, path string, object []byte) error {
	contentType := "application/yaml"
	if bytes.HasPrefix(bytes.TrimSpace(object), []byte("{")) {
		contentType = "application/json"
	}
	err := c.do(ctx, http.MethodPost, path, contentType, object, nil)
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusConflict {
		return nil
	}
	return err
}

func (c *client) do(ctx context.Context, method, path, contentType string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	request.Header.Set("User-Agent", "flyball-cluster")
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Accept", "application/json")
	if contentType != "" {
		request.Header.Set("Content-Type", contentType)
	}
	response, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return fmt.Errorf("%s %s: read the answer: %w", method, path, err)
	}
	if response.StatusCode >= 300 {
		return &statusError{method: method, path: path, code: response.StatusCode, text: strings.TrimSpace(string(answer))}
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", method, path, err)
	}
	return nil
}

// statusError is a response other than a success.
type statusError struct {
	method, path string
	code         int
	text         string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s %s: %d: %s", e.method, e.path, e.code, e.text)
}
