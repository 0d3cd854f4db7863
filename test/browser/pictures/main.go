// Command pictures makes the pictures of the pages for the documents, from the manifests of the demo. It has to run in
// the repository's root.
package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/test/browser/chrome"
)

// picture is a page as a browser of some size shows it.
type picture struct {
	name, path    string
	width, height int64
}

// pictures are pages of the demo's week, as they look on Wednesday, in the demo's freeze.
var pictures = []picture{
	{"week", "/", 1440, 1000}, {"week-narrow", "/", 390, 1200},
	{"target", "/target/Deployment.apps/shop/web", 1440, 900}, {"freezes", "/freezes?may=rollout&object=deployment/web&in=shop", 1440, 1050},
	{"savings", "/savings", 1440, 700},
}

func main() {
	if err := run(context.Background(), os.Args[1]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	program, err := chrome.Find(ctx, ".")
	if err != nil {
		return err
	}
	read, write := io.Pipe()
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: os.Stderr}
		code := cli.Run(ctx, []string{"ui", "--no-browser", "-A", "-n", "shop", "--offline", "test/demo/manifests", "--offline",
			"samples/calendars", "--as=alice", "--time-zone=Europe/Berlin"}, cli.Env{IOStreams: streams,
			Now: func() time.Time { return time.Date(2037, 5, 13, 12, 30, 0, 0, time.UTC) }})
		_ = write.CloseWithError(fmt.Errorf("the server has ended with code %d", code))
	}()
	address, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		return err
	}
	tab, end, err := chrome.Open(ctx, program, func(string, ...any) {})
	if err != nil {
		return err
	}
	defer end()
	if err := tab.Run(chromedp.Navigate(strings.TrimSpace(address)), chromedp.WaitVisible("main .cards")); err != nil {
		return fmt.Errorf("open the pages: %w", err)
	}
	root, _, _ := strings.Cut(address, "/?")
	for _, p := range pictures {
		var png []byte
		if err := tab.Run(chromedp.EmulateViewport(p.width, p.height), chromedp.Navigate(root+p.path), chromedp.WaitVisible("main h1"),
			chromedp.CaptureScreenshot(&png)); err != nil {
			return fmt.Errorf("make the picture %s: %w", p.name, err)
		}
		if err := os.WriteFile(filepath.Join(dir, p.name+".png"), png, 0o644); err != nil {
			return fmt.Errorf("write the picture: %w", err)
		}
	}
	return nil
}
