package factory

import (
	"strings"
	"sync"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// screen is a writer for concurrent use.
type screen struct {
	mu   sync.Mutex
	text strings.Builder
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// TestProgressIsShownOnlyToAPerson checks that the activity is shown only after a while and only to a person, and
// that it disappears at the
// end.
func TestProgressIsShownOnlyToAPerson(t *testing.T) {
	var out screen
	p := Env{IOStreams: genericiooptions.IOStreams{ErrOut: &out}, Interactive: true}.StartProgress()
	p.Doing("reading deployments")
	if out.String() != "" {
		t.Errorf("shown at once: %q", out.String())
	}
	p.show() // the timer calls show as well
	p.Doing("reading cronjobs")
	if got := out.String(); !strings.Contains(got, "reading deployments ...") || !strings.HasSuffix(got, "reading cronjobs ...") {
		t.Errorf("shown: %q", got)
	}
	p.Done()
	if !strings.HasSuffix(out.String(), "\r\x1b[K") {
		t.Errorf("left on the screen: %q", out.String())
	}
	var pipe screen
	quiet := Env{IOStreams: genericiooptions.IOStreams{ErrOut: &pipe}}.StartProgress()
	quiet.Doing("reading")
	quiet.Done()
	if quiet.timer != nil || pipe.String() != "" {
		t.Errorf("no person reads standard error, but it has %q", pipe.String())
	}
}
