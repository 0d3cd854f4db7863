// Package version says which build of Flyball a program is.
package version

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
)

// Version is set by the linker: the release, or what git calls the commit. Empty: it is what Go itself has noted, if anything.
var Version string

// Revision is set by the linker: the commit. Empty: it is what Go itself has noted, if anything.
var Revision string

// Get gives the release and the commit; "dev" and "unknown" where nothing is known.
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

// String is one line for people.
func String() string {
	version, revision := Get()
	return fmt.Sprintf("%s (commit %s, %s %s/%s)", version, revision, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// Collector gives the metric flyball_build_info.
func Collector() prometheus.Collector {
	version, revision := Get()
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "flyball_build_info", Help: "Always 1; the labels say which build this is.",
		ConstLabels: prometheus.Labels{"version": version, "revision": revision, "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}
