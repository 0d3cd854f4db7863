package credential

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// PathsKey is the key of the Secret with the secret parts of the path, one per line, newest first.
const PathsKey = "paths"

// Path is the secret part of the server's path. Only readers of the webhook configurations or the Secret know it.
type Path struct {
	Token string
	Made  time.Time
}

// PathRotation configures how secret paths are created and replaced.
type PathRotation struct {
	// Life is the age at which a path is replaced. Overlap is how long replicas know a new path before API servers use
	// it, and how long an old path stays valid afterwards.
	Life, Overlap time.Duration
}

// Paths are the valid secret paths, newest first, and the time of the next step.
type Paths struct {
	Held    []Path
	Changed bool
	Wake    time.Time
}

// Next is the rotation protocol. It is a function of the Secret's content, the time, and the time since which all
// configurations use the newest path (zero if they do not). A new path is valid at once, but API servers use it only
// after every replica had the overlap to read it. An old path stays valid until every API server had the overlap to
// learn about the new path.
func (r PathRotation) Next(held []Path, now, led time.Time) (Paths, error) {
	p := Paths{Held: slices.Clone(held)}
	if len(held) == 0 || !now.Before(held[0].Made.Add(r.Life)) {
		token := make([]byte, 16)
		if _, err := rand.Read(token); err != nil {
			return Paths{}, fmt.Errorf("draw a secret path: %w", err)
		}
		p.Held = slices.Insert(p.Held, 0, Path{Token: hex.EncodeToString(token), Made: now.Truncate(time.Second)})
		p.Changed, led = true, time.Time{}
	}
	p.Wake = p.Held[0].Made.Add(r.Life)
	if len(p.Held) == 1 {
		return p, nil
	}
	switch {
	case led.IsZero():
		if due := r.due(p.Held[0]); due.After(now) {
			p.Wake = Earliest(p.Wake, due)
		}
	case now.Before(led.Add(r.Overlap)):
		p.Wake = Earliest(p.Wake, led.Add(r.Overlap))
	default:
		p.Held, p.Changed = p.Held[:1], true
	}
	return p, nil
}

// due returns the time from which API servers use a path, the very first path aside. Times in the Secret are whole
// seconds.
func (r PathRotation) due(p Path) time.Time { return p.Made.Add(time.Second + r.Overlap) }

// Current returns the path for API servers: the newest path that every replica has had the time to read.
func (r PathRotation) Current(held []Path, now time.Time) string {
	for _, p := range held[:len(held)-1] {
		if !now.Before(r.due(p)) {
			return p.Token
		}
	}
	return held[len(held)-1].Token
}

// ReadPaths parses the paths of the Secret.
func ReadPaths(text []byte) ([]Path, error) {
	var held []Path
	for line := range strings.Lines(string(text)) {
		token, made, _ := strings.Cut(strings.TrimSpace(line), " ")
		at, err := time.Parse(time.RFC3339, made)
		if err != nil || len(token) < 32 {
			return nil, errors.New("read the secret paths: a line is not a path of 32 letters and the time when it was made")
		}
		held = append(held, Path{Token: token, Made: at})
	}
	return held, nil
}

// PathsText is the inverse of ReadPaths.
func PathsText(held []Path) []byte {
	var text []byte
	for _, p := range held {
		text = fmt.Appendf(text, "%s %s\n", p.Token, p.Made.UTC().Format(time.RFC3339))
	}
	return text
}

// Tokens returns the secret parts of paths.
func Tokens(held []Path) []string {
	tokens := make([]string, len(held))
	for i, p := range held {
		tokens[i] = p.Token
	}
	return tokens
}

// Earliest returns the earlier of two times.
func Earliest(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
