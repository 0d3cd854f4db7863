package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
)

// Marks enclose the list of kinds in README.md.
const (
	kindsBegin = "<!-- The list of kinds is generated from adapters/. -->\n"
	kindsEnd   = "<!-- End of the list of kinds. -->\n"
)

// writeKinds writes the page of the library's kinds into a directory, and their list into README.md. trials is the file with the
// controllers that the kinds were tried with.
func writeKinds(dir, readme, trials string) error {
	library, err := adapters.All()
	if err != nil {
		return err
	}
	slices.SortStableFunc(library, func(a, b v1alpha1.Adapter) int {
		return cmp.Or(cmp.Compare(a.Spec.Target.Group, b.Spec.Target.Group), cmp.Compare(a.Spec.Target.Kind, b.Spec.Target.Kind))
	})
	tried, err := adapters.ReadTrials(trials)
	if err != nil {
		return err
	}
	page, err := kindsPage(library, tried)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "kinds.md"), []byte(page), 0o644); err != nil {
		return fmt.Errorf("write the page of kinds: %w", err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return fmt.Errorf("read the README: %w", err)
	}
	before, rest, found := strings.Cut(string(text), kindsBegin)
	_, after, ended := strings.Cut(rest, kindsEnd)
	if !found || !ended {
		return fmt.Errorf("%s lacks the lines around the list of kinds: %s", readme, strings.TrimSpace(kindsBegin))
	}
	return os.WriteFile(readme, []byte(before+kindsBegin+kindsLine(library)+kindsEnd+after), 0o644)
}

// kindsLine returns the kinds of the library in one line.
func kindsLine(library []v1alpha1.Adapter) string {
	var names []string
	for i := range library {
		names = append(names, library[i].Spec.Target.Kind)
	}
	slices.Sort(names)
	return fmt.Sprintf("The library has %d adapters: %s.\n", len(library), strings.Join(slices.Compact(names), ", "))
}

// kindsPage returns docs/kinds.md.
func kindsPage(library []v1alpha1.Adapter, tried adapters.Trials) (string, error) {
	var text strings.Builder
	count := 0
	for _, rows := range tried {
		if rows[0].With != "" {
			count++
		}
	}
	fmt.Fprintf(&text, kindsIntroduction, len(library), count)
	group := "-"
	for i := range library {
		a := &library[i]
		can, err := abilities(a)
		if err != nil {
			return "", err
		}
		if a.Spec.Target.Group != group {
			group = a.Spec.Target.Group
			fmt.Fprintf(&text, "\n## %s\n", cmp.Or(group, "core"))
		}
		fmt.Fprintf(&text, "\n### %s\n\n", a.Spec.Target.Kind)
		fmt.Fprintf(&text, "[%s](../%s), versions %s. Can: %s.\n\n", a.Name, source(a.Spec.Target), strings.Join(a.Spec.Target.Versions, ", "),
			can)
		text.WriteString("| | |\n|---|---|\n")
		for _, row := range [][2]string{
			{"Tried with", triedWith(tried[a.Name])}, {"Asleep", asleep(&a.Spec)}, {"Left alone", unable(a.Spec.Unable)},
			{"Held", variants(a.Spec.Hold)}, {"Bounds", bounds(a.Spec.Bounds)}, {"Settled", settled(a.Spec.Ready)},
		} {
			if row[1] != "" {
				fmt.Fprintf(&text, "| %s | %s |\n", row[0], row[1])
			}
		}
	}
	text.WriteString(kindsLeftOut)
	return text.String(), nil
}

// triedWith returns the controllers of the trials of a kind.
func triedWith(rows []adapters.Trial) string {
	if len(rows) == 0 {
		return "by its schema only"
	}
	var all []string
	for _, t := range rows {
		if t.LeftOut != "" {
			return "by its schema only: " + t.LeftOut
		}
		all = append(all, t.With+", "+t.Date)
	}
	return strings.Join(all, "; ")
}

// source returns the path of the adapter's file, below the root of the repository.
func source(target v1alpha1.AdapterTarget) string {
	return fmt.Sprintf("adapters/%s/%s/adapter.yaml", cmp.Or(target.Group, "core"), target.Kind)
}

// abilities returns the capabilities of an adapter, without annotate, which all have.
func abilities(a *v1alpha1.Adapter) (string, error) {
	compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
	if len(errs) > 0 {
		return "", fmt.Errorf("compile %s: %w", a.Name, errs.ToAggregate())
	}
	var all []string
	for _, c := range compiled.Capabilities() {
		if c != v1alpha1.CapabilityAnnotate {
			all = append(all, string(c))
		}
	}
	return cmp.Or(strings.Join(all, ", "), "annotate"), nil
}

// asleep returns the fields that sleep writes.
func asleep(spec *v1alpha1.AdapterSpec) string {
	var counts []string
	for _, c := range spec.Scale {
		text := fmt.Sprintf("`%s` at %d", c.Replicas, c.Minimum)
		if c.Each != "" {
			text = fmt.Sprintf("`%s%s` at %d", c.Each, c.Replicas, c.Minimum)
		}
		if len(c.When) > 0 {
			text += ", if " + predicates(c.When)
		}
		counts = append(counts, text)
	}
	return joinNonEmpty("; else ", variants(spec.Suspend), strings.Join(counts, "; "))
}

// unable returns the reasons why objects keep their size, each once.
func unable(all []v1alpha1.Unable) string {
	var reasons []string
	for _, u := range all {
		if !slices.Contains(reasons, u.Because) {
			reasons = append(reasons, u.Because)
		}
	}
	return strings.Join(reasons, "; ")
}

// variants returns the fields that variants write, and on which objects.
func variants(all []v1alpha1.Variant) string {
	var texts []string
	for _, v := range all {
		var set []string
		for _, w := range v.Set {
			value := cmp.Or(string(w.Value.Raw), "null")
			switch {
			case value == "null":
				set = append(set, fmt.Sprintf("without `%s`", w.Path))
			case len(value) > 60:
				set = append(set, fmt.Sprintf("`%s` set", w.Path))
			default:
				set = append(set, fmt.Sprintf("`%s: %s`", w.Path, value))
			}
			if w.Awake != nil {
				set[len(set)-1] += fmt.Sprintf(" (awake `%s` where it was absent)", w.Awake.Raw)
			}
		}
		text := strings.Join(set, " and ")
		if len(v.When) > 0 {
			text += ", if " + predicates(v.When)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, "; else ")
}

func bounds(b *v1alpha1.Bounds) string {
	if b == nil {
		return ""
	}
	var all []string
	for _, side := range []*v1alpha1.Bound{b.Min, b.Max} {
		if side != nil {
			all = append(all, fmt.Sprintf("`%s%s`", b.Each, side.Path))
		}
	}
	return strings.Join(all, " to ")
}

func settled(ready []v1alpha1.ReadyPredicate) string {
	var all []string
	for _, p := range ready {
		text := predicates([]v1alpha1.Predicate{p.Predicate})
		if len(p.When) > 0 {
			text += " (if " + predicates(p.When) + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, "; ")
}

// signs are the operators as the page writes them.
var signs = map[v1alpha1.PredicateOp]string{
	v1alpha1.OpExists: "exists", v1alpha1.OpNotExists: "does not exist", v1alpha1.OpEq: "=", v1alpha1.OpNe: "≠", v1alpha1.OpLt: "<",
	v1alpha1.OpLe: "≤",
	v1alpha1.OpGt: ">", v1alpha1.OpGe: "≥", v1alpha1.OpIn: "in",
}

func predicates(all []v1alpha1.Predicate) string {
	var texts []string
	for _, p := range all {
		text := fmt.Sprintf("`%s` %s", p.Path, signs[p.Op])
		switch {
		case p.ValueFrom != "":
			text += fmt.Sprintf(" `%s`", p.ValueFrom)
		case p.Value != nil:
			text += fmt.Sprintf(" `%s`", p.Value.Raw)
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, " and ")
}

func joinNonEmpty(between string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), between)
}

const kindsIntroduction = `# Kinds

The library has adapters of %d kinds. This page is generated from [adapters/](../adapters), and each adapter's golden cases are
tests. Comments in an adapter's file give reasons and the operator's behaviour. All kinds take annotations as well. For a kind of
your own, see [Adapters](adapters.md).

**Asleep** are the fields written for sleep, **held** the fields of a hold, and an object is **settled** once the predicates hold.
Waking restores every field exactly. **Tried with** names the release beside whose real controllers objects of the kind slept for
three nights (%d kinds, ` + "`make test-controllers`" + `).
`

const kindsLeftOut = `
## Left out

| Kind | Reason and remedy |
|---|---|
| Managed resources of Crossplane | Thousands of kinds, and an adapter is for one. All pause by the same annotation: write an adapter with your kind's name and ` + "`hold: [{set: [{path: \".metadata.annotations['crossplane.io/paused']\", value: \"true\"}]}]`" + `. |
| RedisCluster, RedisFailover | Fewer pods may take the writable copy of some data away. Hold them, or let the operator scale. |
| VerticalPodAutoscaler | A [Tortoise](policies/tortoise.md) works with it by itself. |
`
