package notifications

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/notify"
)

// Envelope is a message with the attributes of its delivery.
type Envelope struct {
	// ID is the same for each attempt. Source is the Notification as a path of the Kubernetes API. Time is the time of the message.
	ID, Source string
	Time       time.Time
	// Text is the text of the message.
	Text string
	Data notify.Data
}

// cloudEvent is a CloudEvent in structured JSON (CloudEvents 1.0.2, JSON event format).
type cloudEvent struct {
	SpecVersion     string    `json:"specversion"`
	ID              string    `json:"id"`
	Source          string    `json:"source"`
	Type            string    `json:"type"`
	Subject         string    `json:"subject"`
	Time            time.Time `json:"time"`
	DataContentType string    `json:"datacontenttype"`
	Data            eventData `json:"data"`
}

type eventData struct {
	Event   string      `json:"event"`
	Policy  eventPolicy `json:"policy"`
	At      string      `json:"at"`
	Text    string      `json:"text"`
	Details []string    `json:"details"`
	Count   int         `json:"count"`
	Command string      `json:"command,omitempty"`
}

type eventPolicy struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Body returns the message as a CloudEvent. The error is a message that JSON cannot encode.
func (e *Envelope) Body() ([]byte, error) {
	d := e.Data
	return json.Marshal(cloudEvent{
		SpecVersion: "1.0", ID: e.ID, Source: e.Source, Type: "dev.flyball." + d.Event, Subject: d.Policy, Time: e.Time.UTC(),
		DataContentType: "application/json",
		Data: eventData{Event: d.Event, Policy: eventPolicy{d.Kind, d.Namespace, d.Name}, At: d.At, Text: e.Text,
			Details: d.Details, Count: d.Count, Command: d.Command},
	})
}

// minKey is the least length of a decoded signing key, in bytes.
const minKey = 16

// keyPrefix stands before most keys, and may be missing.
const keyPrefix = "whsec_"

// UnusableValue is a fault of a value in a Secret. The text has no part of the value.
type UnusableValue struct {
	// Field is the field of the spec that names the Secret.
	Field, Text string
}

// Error implements error.
func (u UnusableValue) Error() string { return u.Field + ": " + u.Text }

// Webhook is an HTTP endpoint for CloudEvents, signed as the Standard Webhooks specification says: the header webhook-signature is the
// HMAC-SHA256 of id, timestamp and body.
type Webhook struct {
	url    string
	key    []byte
	client *http.Client
	now    func() time.Time
}

// NewWebhook returns a Webhook. Other keys than those of signingKey, and addresses that are no URL, are errors of
// type UnusableValue.
func NewWebhook(g *Dialer, address, key string, now func() time.Time) (*Webhook, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return nil, UnusableValue{"spec.to.webhook.urlFrom", "the value in the Secret is no URL: write https://HOST/PATH"}
	}
	secret, err := signingKey(key)
	if err != nil {
		return nil, err
	}
	client := &http.Client{Transport: g.Transport(), Timeout: sendTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return &Webhook{url: u.String(), key: secret, client: client, now: now}, nil
}

// signingKey returns the bytes of a key: Base64 of at least 16 bytes on one line, with or without whsec_ before it. Two libraries read
// the same forms: standardwebhooks 1.0.0 of npm and v0.0.1 of github.com/standard-webhooks/standard-webhooks/libraries. Both refuse
// "v1,whsec_...", plain text and the Base64 of URLs. Only the first reads a key without padding, and only the second one with line breaks.
func signingKey(key string) ([]byte, error) {
	const field = "spec.to.webhook.signingKeyFrom"
	text := strings.TrimPrefix(strings.TrimSpace(key), keyPrefix)
	secret, err := base64.StdEncoding.DecodeString(text)
	if err != nil || strings.ContainsAny(text, "\r\n") {
		return nil, UnusableValue{field, "the key in the Secret is not Base64 on one line, with or without " + keyPrefix + " before it, so " +
			"no receiver could verify the signatures: make a key with: echo " + keyPrefix + "$(head -c 32 /dev/urandom | base64)"}
	}
	if len(secret) < minKey {
		return nil, UnusableValue{field, fmt.Sprintf("the key in the Secret has %d bytes: give at least %d", len(secret), minKey)}
	}
	return secret, nil
}

// Send makes one attempt to send a message. The error is the receiver's refusal, or a lost connection.
func (w *Webhook) Send(ctx context.Context, e *Envelope) error {
	body, err := e.Body()
	if err != nil {
		return permanent{fmt.Errorf("encode the message: %w", err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(body))
	if err != nil {
		return permanent{errors.New("the URL in the Secret cannot be used")}
	}
	stamp := strconv.FormatInt(w.now().Unix(), 10)
	req.Header = http.Header{
		"Content-Type": {"application/cloudevents+json; charset=utf-8"}, "User-Agent": {"flyball"},
		"Webhook-Id": {e.ID}, "Webhook-Timestamp": {stamp}, "Webhook-Signature": {"v1," + Sign(w.key, e.ID, stamp, body)},
	}
	res, err := w.client.Do(req)
	if err != nil {
		return withoutURL(err)
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.CopyN(io.Discard, res.Body, maxBody)
	return statusError(res)
}

// Sign returns the signature of a message in Base64.
func Sign(key []byte, id, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, key)
	_, _ = fmt.Fprintf(mac, "%s.%s.", id, timestamp)
	_, _ = mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// statusError returns the error of an answer; nil: the message was accepted.
func statusError(res *http.Response) error {
	switch code := res.StatusCode; {
	case code >= 200 && code < 300:
		return nil
	case code >= 300 && code < 400:
		return permanent{fmt.Errorf("the receiver redirects (%d), and redirects are not followed: put the last address into the Secret", code)}
	case code == http.StatusRequestTimeout || code == http.StatusTooEarly || code == http.StatusTooManyRequests || code >= 500:
		return fmt.Errorf("the receiver answered %d %s", code, http.StatusText(code))
	default:
		return permanent{fmt.Errorf("the receiver answered %d %s", code, http.StatusText(code))}
	}
}

// withoutURL returns an error of an HTTP client without the URL, which may contain a password or token.
func withoutURL(err error) error {
	var of *url.Error
	if !errors.As(err, &of) {
		return err
	}
	if of.Timeout() {
		return fmt.Errorf("no answer within %s: %w", sendTimeout, of.Err)
	}
	return of.Err
}
