package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// HoldAnnotation, with any value, keeps a simulated pod from becoming ready: it is scheduled and stays Pending until
// the annotation is removed.
const HoldAnnotation = "cluster.flyball.dev/hold"

// kwokHighQPS raises the number of pods that KWOK simulates in parallel above the default of four. A given
// configuration replaces all defaults, so the relevant ones are repeated.
const kwokHighQPS = `{
  "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
  "kind": "KwokConfiguration",
  "options": {
    "podPlayStageParallelism": 16,
    "nodePlayStageParallelism": 16,
    "nodeLeaseParallelism": 4,
    "podsOnNodeSyncParallelism": 1,
    "enablePodsOnNodeSyncListPager": true,
    "enableDebuggingHandlers": true,
    "enableProfilingHandler": true
  }
}
`

// writeKWOKConfigs writes the behaviour of simulated nodes and pods into the cluster's directory and returns the files.
func (c *Cluster) writeKWOKConfigs() ([]string, error) {
	unchanged := func(text string) (string, error) { return text, nil }
	type config struct {
		asset string
		edit  func(string) (string, error)
	}
	configs := []config{{assetNodeStages, unchanged}, {assetPodStages, holdable}, {assetVolumeStages, unchanged}}
	if c.opts.Level.includes(LevelMetrics) {
		configs = append(configs, config{assetUsage, aboveZero})
	}
	var files []string
	for _, config := range configs {
		raw, err := os.ReadFile(filepath.Join(c.bin.share, config.asset))
		if err != nil {
			return nil, fmt.Errorf("read the configuration of kwok: %w", err)
		}
		text, err := config.edit(string(raw))
		if err != nil {
			return nil, fmt.Errorf("adapt %s: %w", config.asset, err)
		}
		files = append(files, filepath.Join(c.dir, config.asset))
		if err := writeSecret(files[len(files)-1], []byte(text)); err != nil {
			return nil, err
		}
	}
	if !c.opts.HighQPS {
		return files, nil
	}
	speed := filepath.Join(c.dir, "kwok-speed.json")
	return append(files, speed), writeSecret(speed, []byte(kwokHighQPS))
}

// holdable adds HoldAnnotation to the conditions of the stage that makes a pod ready, which is the first stage of the
// text.
func holdable(text string) (string, error) {
	const anchor = "    matchExpressions:\n"
	if !strings.Contains(text, anchor) {
		return "", errors.New("no matchExpressions in the pod stages")
	}
	condition := "    - key: '.metadata.annotations[\"" + HoldAnnotation + "\"]'\n      operator: 'DoesNotExist'\n"
	return strings.Replace(text, anchor, anchor+condition, 1), nil
}

// aboveZero adds a second to every cumulative counter and a mebibyte to the memory of every node. metrics-server treats
// zero as a missing sample and drops it, and with it new pods and nodes without pods.
func aboveZero(text string) (string, error) {
	counter := regexp.MustCompile(`(?m)^(\s+value: '\w+\.CumulativeUsage\(.*\))'$`)
	memory := regexp.MustCompile(`(?m)^(\s+value: 'node\.Usage\("memory"\))'$`)
	if !counter.MatchString(text) || !memory.MatchString(text) {
		return "", errors.New("no cumulative counters or no node memory in the usage metrics")
	}
	text = counter.ReplaceAllString(text, "$1 + 1.0'")
	return memory.ReplaceAllString(text, "$1 + 1048576.0'"), nil
}
