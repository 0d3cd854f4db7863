package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/workload"
)

// annotationsSize is the API server's limit for the annotations of an object, in bytes. objectSize is the size of a
// large object.
const annotationsSize, objectSize = 256 << 10, 1 << 20

// ledgerEntries is the maximum number of entries in a ledger. A ledger with more is not read at all.
const ledgerEntries = 2048

// filledLedgers measures reading and deciding objects whose ledger was filled by an attacker. It compares them with
// objects that have an ordinary annotation of the same size.
func (b *bench) filledLedgers(ctx context.Context) error {
	a, err := compileAdapter()
	if err != nil {
		return err
	}
	handle := func(raw []byte) func(*testing.B) {
		return func(t *testing.B) {
			for t.Loop() {
				obj, err := a.Project(raw)
				if err != nil || obj.LedgerError != "" {
					t.Fatalf("read a filled ledger: %v %s", err, obj.LedgerError)
				}
				if _, err := a.Render(obj, workload.Plan{}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	ledgers := map[string]func(i int) workload.Entry{
		"fields": func(i int) workload.Entry {
			return workload.Entry{Pointer: fmt.Sprintf("/spec/%080d", i), Was: "1", Set: "0", By: "x"}
		},
		"deep fields": func(i int) workload.Entry {
			return workload.Entry{Pointer: fmt.Sprintf("/spec/x%d%s", i, strings.Repeat("/a", 60)), Was: "1", Set: "0", By: "x", Made: 1}
		},
	}
	rounds := map[string][]float64{}
	for b.again(b.pureRounds, slices.Collect(maps.Values(rounds))...) {
		for name, entry := range ledgers {
			text, err := filledLedger(entry)
			if err != nil {
				return err
			}
			with := testing.Benchmark(handle(largeObject(v1alpha1.AnnotationLedger, text)))
			without := testing.Benchmark(handle(largeObject("example.com/note", text)))
			if with.N == 0 || without.N == 0 {
				return fmt.Errorf("reading a ledger of %s failed", name)
			}
			rounds[name] = append(rounds[name], float64(with.NsPerOp())/float64(without.NsPerOp()))
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	var worst []float64
	for name, ratios := range rounds {
		b.report.rounds("ledger_hostile_ratio of "+name, ratios)
		worst = append(worst, median(ratios))
	}
	b.report.figure("ledger_hostile_ratio", slices.Max(worst), "ratio")
	return nil
}

// filledLedger returns a ledger that leaves little room for other annotations.
func filledLedger(entry func(i int) workload.Entry) (string, error) {
	var ledger workload.Ledger
	for size := 0; size < annotationsSize*9/10; {
		e := entry(len(ledger))
		one, err := workload.Ledger{e}.Encode(workload.Origin{})
		if err != nil {
			return "", fmt.Errorf("encode an entry: %w", err)
		}
		ledger, size = append(ledger, e), size+len(one)
	}
	if len(ledger) > ledgerEntries {
		return "", fmt.Errorf("a ledger of %d entries is not read", len(ledger))
	}
	text, err := ledger.Encode(workload.Origin{Of: workload.LedgerOf("Deployment", "web"), Namespace: "shop", UID: "u"})
	if err != nil {
		return "", fmt.Errorf("encode a ledger: %w", err)
	}
	return text, nil
}

// largeObject returns a Deployment of objectSize bytes with an annotation.
func largeObject(key, text string) []byte {
	filling := map[string]string{}
	for i := range objectSize / 50 {
		filling[fmt.Sprintf("key-%07d", i)] = "a value of some thirty characters"
	}
	raw, _ := json.Marshal(map[string]any{ // strings and maps cannot fail to encode
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{"name": "web", "namespace": "shop", "uid": "u", "annotations": map[string]string{key: text}},
		"spec":     map[string]any{"replicas": 3, "template": map[string]any{"metadata": map[string]any{"labels": filling}}},
	})
	return raw
}
