package admit

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
)

// pathsKey is where the Secret has the secret parts of the path: a line each, the newest first.
const pathsKey = "paths"

// secretPath is the part of the path that only those know who read the webhook configurations or the Secret.
type secretPath struct {
	token string
	made  time.Time
}

// pathRotation is how secret paths are made and replaced.
type pathRotation struct {
	// life is after how long a path is replaced, overlap how long a new one is known to replicas before API servers are sent there,
	// and how long an old one counts afterwards.
	life, overlap time.Duration
}

// paths are the secret paths that count, the newest first, and when there is something to do again.
type paths struct {
	held    []secretPath
	changed bool
	wake    time.Time
}

// next is the protocol, as a function of what the Secret holds, the time, and since when all configurations are known to lead to the
// newest path (zero: they do not). A new path counts at once, but API servers are sent there only when every replica had the
// overlap to read it. An old one counts until every API server had the overlap to learn of the new one.
func (r pathRotation) next(held []secretPath, now, led time.Time) (paths, error) {
	p := paths{held: slices.Clone(held)}
	if len(held) == 0 || !now.Before(held[0].made.Add(r.life)) {
		token := make([]byte, 16)
		if _, err := rand.Read(token); err != nil {
			return paths{}, fmt.Errorf("draw a secret path: %w", err)
		}
		p.held = slices.Insert(p.held, 0, secretPath{token: hex.EncodeToString(token), made: now.Truncate(time.Second)})
		p.changed, led = true, time.Time{}
	}
	p.wake = p.held[0].made.Add(r.life)
	if len(p.held) == 1 {
		return p, nil
	}
	switch {
	case led.IsZero():
		if due := r.due(p.held[0]); due.After(now) {
			p.wake = earliest(p.wake, due)
		}
	case now.Before(led.Add(r.overlap)):
		p.wake = earliest(p.wake, led.Add(r.overlap))
	default:
		p.held, p.changed = p.held[:1], true
	}
	return p, nil
}

// due is from when on API servers are sent to a path that is not the first one ever. Times in the Secret are whole seconds.
func (r pathRotation) due(p secretPath) time.Time { return p.made.Add(time.Second + r.overlap) }

// current is where API servers are sent now: to the newest path that every replica has had the time to read.
func (r pathRotation) current(held []secretPath, now time.Time) string {
	for _, p := range held[:len(held)-1] {
		if !now.Before(r.due(p)) {
			return p.token
		}
	}
	return held[len(held)-1].token
}

// readPaths reads what the Secret holds.
func readPaths(text []byte) ([]secretPath, error) {
	var held []secretPath
	for line := range strings.Lines(string(text)) {
		token, made, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := time.Parse(time.RFC3339, made)
		if err != nil || len(token) < 32 {
			return nil, errors.New("read the secret paths: a line is not a path of 32 letters and the time when it was made")
		}
		held = append(held, secretPath{token: token, made: at})
	}
	return held, nil
}

// text is the inverse of readPaths.
func pathsText(held []secretPath) []byte {
	var text []byte
	for _, p := range held {
		text = fmt.Appendf(text, "%s %s\n", p.token, p.made.UTC().Format(time.RFC3339))
	}
	return text
}

func tokensOf(held []secretPath) []string {
	tokens := make([]string, len(held))
	for i, p := range held {
		tokens[i] = p.token
	}
	return tokens
}

// pathOf is where a webhook of the configurations leads, below the secret part; empty for one that is not known.
func pathOf(webhook *admissionregistrationv1.ValidatingWebhook) string {
	switch webhook.Name {
	case webhookName:
		return ValidatePath
	case freezeWebhookName:
		return JudgePath
	case namespaceWebhookName:
		return JudgePath + openSuffix
	default:
		return ""
	}
}

func earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
