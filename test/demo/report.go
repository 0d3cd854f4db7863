package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// weekReport writes the report of the demo's week, as its manifests foresee it, to a new file in a directory, and returns its name.
func weekReport(ctx context.Context, root, dir string, begin time.Time) (string, error) {
	out, err := os.CreateTemp(dir, "flyball-week-*.html")
	if err != nil {
		return "", fmt.Errorf("make the file of the report: %w", err)
	}
	var errOut strings.Builder
	code := cli.Run(ctx, []string{"report", "-n", namespace, "--offline", filepath.Join(root, "test", "demo", "manifests"), "--offline",
		filepath.Join(root, "samples", "calendars"), "--from", begin.Format(time.RFC3339), "--time-zone", begin.Location().String(), "-o",
		"html"},
		factory.Env{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: &errOut},
			Now: func() time.Time { return begin }})
	if err := out.Close(); err != nil {
		return "", fmt.Errorf("write the report: %w", err)
	}
	if code != 0 {
		return "", fmt.Errorf("write the report: exit code %d: %s", code, errOut.String())
	}
	return out.Name(), nil
}
