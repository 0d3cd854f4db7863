// Package chrome runs a headless Chromium. It records the complaints of a page: errors of scripts, and violations of
// the page's content security policy.
package chrome

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	cdlog "github.com/chromedp/cdproto/log"
	cdruntime "github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Find returns the path of a Chromium. It installs Chromium if it is missing and can be installed. The parameter root
// is the repository's root.
func Find(ctx context.Context, root string) (string, error) {
	path, err := script(ctx, root, "chromium")
	if err != nil {
		return "", fmt.Errorf("find a browser: %w", err)
	}
	return path, nil
}

// Axe returns the text of axe-core, a script that checks a page for people with disabilities.
func Axe(ctx context.Context, root string) (string, error) {
	path, err := script(ctx, root, "axe")
	if err != nil {
		return "", fmt.Errorf("find axe-core: %w", err)
	}
	text, err := os.ReadFile(path)
	return string(text), err
}

// script runs a script of test/browser, which prints a path.
func script(ctx context.Context, root, name string) (string, error) {
	out, err := exec.CommandContext(ctx, filepath.Join(root, "test", "browser", name)).Output()
	if failed := (*exec.ExitError)(nil); errors.As(err, &failed) {
		return "", fmt.Errorf("%w: %s", err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// Tab is a tab in a browser that has no other tab.
type Tab struct {
	// Context is the context for actions of package chromedp.
	Context context.Context

	mu         sync.Mutex
	complaints []string
}

// Open starts a browser with an empty profile and returns its tab. The function end ends the browser. The function logf
// gets messages of the protocol.
func Open(ctx context.Context, program string, logf func(string, ...any)) (tab *Tab, end func(), err error) {
	flags := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(program), chromedp.NoSandbox,
		chromedp.WindowSize(1440, 900), chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("lang", "en-GB"))
	allocated, endAll := chromedp.NewExecAllocator(ctx, flags...)
	t := &Tab{}
	own, endTab := chromedp.NewContext(allocated, chromedp.WithLogf(logf), chromedp.WithErrorf(logf))
	t.Context = own
	chromedp.ListenTarget(own, t.note)
	end = func() {
		endTab()
		endAll()
	}
	if err := chromedp.Run(own, cdlog.Enable()); err != nil {
		end()
		return nil, nil, fmt.Errorf("start the browser: %w", err)
	}
	return t, end, nil
}

// note records a complaint.
func (t *Tab) note(event any) {
	text := ""
	switch e := event.(type) {
	case *cdlog.EventEntryAdded:
		if e.Entry.Level == cdlog.LevelError || e.Entry.Source == cdlog.SourceSecurity || e.Entry.Source == cdlog.SourceViolation {
			text = fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL)
		}
	case *cdruntime.EventExceptionThrown:
		text = e.ExceptionDetails.Error()
	case *cdruntime.EventConsoleAPICalled:
		if e.Type == cdruntime.APITypeError || e.Type == cdruntime.APITypeAssert {
			text = fmt.Sprintf("console: %v", e.Args)
		}
	}
	if text != "" {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.complaints = append(t.complaints, text)
	}
}

// Complaints returns the complaints since the last call.
func (t *Tab) Complaints() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := t.complaints
	t.complaints = nil
	return all
}

// Run runs actions in the tab.
func (t *Tab) Run(actions ...chromedp.Action) error { return chromedp.Run(t.Context, actions...) }
