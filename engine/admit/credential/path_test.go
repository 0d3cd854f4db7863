package credential

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Replicas that read the Secret within the overlap, and API servers that learn a configuration within it, agree about
// the path at every moment, for any time between two steps and any delay of configurations.
func TestPathsOverlap(t *testing.T) {
	const overlap, life = 10 * time.Minute, 24 * time.Hour
	r := PathRotation{Life: life, Overlap: overlap}
	type moment struct {
		at     time.Time
		tokens []string
		leads  string
	}
	rapid.Check(t, func(t *rapid.T) {
		now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		var held []Path
		var live string // the path in the configuration
		var led time.Time
		var history []moment
		seen := map[string]bool{}
		for range rapid.IntRange(20, 120).Draw(t, "looks") {
			now = now.Add(time.Duration(rapid.IntRange(1, int(overlap.Seconds()/2)).Draw(t, "pause")) * time.Second)
			if rapid.IntRange(0, 9).Draw(t, "long") == 0 {
				now = now.Add(life / 2)
			}
			if len(held) == 0 || live != held[0].Token {
				led = time.Time{}
			} else if led.IsZero() {
				led = now
			}
			p, err := r.Next(held, now, led)
			if err != nil {
				t.Fatal(err)
			}
			stored, err := ReadPaths(PathsText(p.Held))
			if err != nil || !slices.EqualFunc(stored, p.Held, func(a, b Path) bool { return a.Token == b.Token && a.Made.Equal(b.Made) }) {
				t.Fatalf("the stored paths are read as %v, %v", stored, err)
			}
			if !p.Wake.After(now) && !p.Changed {
				if r.Current(p.Held, now) == live {
					t.Fatalf("wake at %v, which has passed at %v", p.Wake, now)
				}
			}
			held = stored
			if rapid.IntRange(0, 4).Draw(t, "written") > 0 {
				live = r.Current(held, now)
			}
			history = append(history, moment{now, Tokens(held), live})
			seen[held[0].Token] = true
			for _, past := range history {
				if past.at.After(now.Add(-overlap)) && past.leads != "" && !slices.Contains(Tokens(held), past.leads) {
					t.Fatalf("at %v: an API server that knows the configuration of %v gets nowhere", now, past.at)
				}
				if past.at.After(now.Add(-overlap)) && len(seen) > 1 && live != "" && past.at.After(history[0].at) && !slices.Contains(past.tokens, live) {
					t.Fatalf("at %v: a replica that knows the Secret of %v does not know the path", now, past.at)
				}
			}
		}
		if now.Sub(history[0].at) > 2*life && len(seen) < 2 {
			t.Fatal("the path was never replaced")
		}
	})
}

func TestUnusablePaths(t *testing.T) {
	for _, text := range []string{"short 2026-03-01T12:00:00Z", strings.Repeat("a", 32), strings.Repeat("a", 32) + " yesterday"} {
		if held, err := ReadPaths([]byte(text)); err == nil {
			t.Errorf("%q is read as %v", text, held)
		}
	}
}
