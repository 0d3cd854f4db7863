// Package version identifies the build of a program.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Version is the release or the output of git describe. The linker sets it. If empty, Get falls back to the module
// version in Go's build information.
var Version string

// Revision is the commit. The linker sets it. If empty, Get falls back to Go's build information.
var Revision string

// Get returns the release and the commit, or "dev" and "unknown".
func Get() (version, revision string) {
	version, revision = Version, Revision
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "(devel)" {
			version = cmp.Or(version, info.Main.Version)
		}
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				revision = cmp.Or(revision, s.Value)
			}
		}
	}
	return cmp.Or(version, "dev"), cmp.Or(revision, "unknown")
}

// String returns the build as one line.
func String() string {
	version, revision := Get()
	return fmt.Sprintf("%s (commit %s, %s %s/%s)", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Collector returns the metric flyball_build_info.
func Collector() prometheus.Collector {
	version, revision := Get()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flyball_build_info", Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
