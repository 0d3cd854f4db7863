package cluster

import (
	"fmt"
	"slices"
	"strings"
)

// Level is a set of running components. Each level includes the levels before.
type Level string

const (
	// LevelAPI is etcd and kube-apiserver, without the ServiceAccount admission
	// plugin, since no controller makes the accounts.
	LevelAPI Level = "api"
	// LevelWorkloads adds kube-controller-manager, kube-scheduler and simulated nodes.
	LevelWorkloads Level = "workloads"
	// LevelMetrics adds metrics-server, simulated usage and the VPA recommender.
	LevelMetrics Level = "metrics"
)

// Levels returns all levels, the smallest first.
func Levels() []Level { return []Level{LevelAPI, LevelWorkloads, LevelMetrics} }

// ParseLevel returns a level by its name; the error lists the valid names.
func ParseLevel(name string) (Level, error) {
	if l := Level(name); slices.Contains(Levels(), l) {
		return l, nil
	}
	names := make([]string, 0, len(Levels()))
	for _, l := range Levels() {
		names = append(names, string(l))
	}
	return "", fmt.Errorf("level %q is unknown; levels are %s", name, strings.Join(names, ", "))
}

// includes reports whether level l has all components of the level part.
func (l Level) includes(part Level) bool {
	return slices.Index(Levels(), l) >= slices.Index(Levels(), part)
}
