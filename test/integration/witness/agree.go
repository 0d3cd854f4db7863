package witness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
)

func groupKind(raw []byte) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(gjson.GetBytes(raw, "apiVersion").Str)
	if err != nil {
		return schema.GroupKind{}
	}
	return schema.GroupKind{Group: gv.Group, Kind: gjson.GetBytes(raw, "kind").Str}
}

// disagreesWithLedger compares the winner with who has changed fields, as the manager has written it down.
func disagreesWithLedger(story *explain.Explanation, raw []byte) (wrong []string) {
	text := gjson.GetBytes(raw, "metadata.annotations").Map()[v1alpha1.AnnotationLedger].Str
	if text == "" {
		if story.State == "asleep" {
			wrong = append(wrong, "told to be asleep, and nobody has written a ledger")
		}
		return wrong
	}
	written, _, err := workload.ParseLedger(text)
	if err != nil {
		return nil // it is told that it cannot be read
	}
	var by []string
	for i := range written {
		if written[i].Once == "" {
			by = append(by, written[i].By)
		}
	}
	if len(by) > 0 && story.State != "" && !slices.Contains(by, story.Winner) {
		wrong = append(wrong, fmt.Sprintf("told to be %s because of %q, and its fields were changed by %s", story.State, story.Winner, by))
	}
	return wrong
}

// disagreesWithStatus compares why policies ask something with the state that the manager reports of them.
func disagreesWithStatus(story *explain.Explanation, w *source.World) (wrong []string) {
	for _, told := range story.Policies {
		i := slices.IndexFunc(w.Policies, func(p policy.Object) bool { return source.IDOf(p).String() == told.Policy })
		if i < 0 || len(told.Steps) == 0 || told.Steps[0].Step != "window" {
			continue
		}
		p := w.Policies[i]
		kind, ok := kinds.Find(p.GetObjectKind().GroupVersionKind().Kind)
		if !ok {
			continue
		}
		status := kind.Status(p)
		if status.State == "" || !strings.Contains(told.Steps[0].Text, "next edge") {
			continue
		}
		if next := status.NextTransitionTime; next == nil || !strings.Contains(told.Steps[0].Text, "next edge "+next.UTC().Format(time.RFC3339)) {
			wrong = append(wrong, fmt.Sprintf("of %s it is told %q, and the manager reports %s until %s", told.Policy, told.Steps[0].Text, status.State, next))
		}
	}
	return wrong
}

// quiet says whether between two scenes only time went on, and the manager wrote. A policy that came and went in between is known by its
// finalizer alone.
func (w *Witness) quiet(before, now *scene) bool {
	return before != nil && before.rules == now.rules && before.turned == now.turned && sameTargets(before, now)
}

// kept compares what was told to come next with the writes that came.
func (w *Witness) kept(before, now *scene) (wrong []string) {
	if !w.quiet(before, now) {
		return nil
	}
	for ref, story := range before.stories {
		if before.open[ref] {
			continue
		}
		if what := w.compare(before, now, ref, story); what != "" {
			wrong = append(wrong, ref.String()+": "+what)
		}
	}
	slices.Sort(wrong)
	return wrong
}

// foretold counts the targets on which what was told to come has come.
func (w *Witness) foretold(before, now *scene) (count int) {
	if !w.quiet(before, now) {
		return 0
	}
	for ref, story := range before.stories {
		due, _ := due(story, now.at)
		mine, _ := w.since(before, ref)
		if !before.open[ref] && len(due) > 0 && len(mine) > 0 {
			count++
		}
	}
	return count
}

// since are the writes to a target after a scene, up to the first before which somebody else has written too; cut says that there is such a one.
func (w *Witness) since(before *scene, ref workload.Ref) (mine []write, cut bool) {
	all := w.writes.of(before.heard, before.paths[ref])
	version := gjson.GetBytes(before.objects[ref], "metadata.resourceVersion").Str
	for i, one := range all {
		if one.before != "" && one.before != version {
			return all[:i], true
		}
		version = one.after
	}
	return all, false
}

// turn is what a field was told to be before and after some changes.
type turn struct{ from, to string }

// due are the turns, by the labels of their fields, that were told to come up to an instant; whole is false where more may come than was
// told.
func due(story *explain.Explanation, at time.Time) (turns map[string]turn, whole bool) {
	turns = map[string]turn{}
	for _, c := range story.Next {
		if c.At.After(at) {
			return turns, true
		}
		for _, part := range strings.Split(c.Message, ", ") {
			before, to, ok := strings.Cut(part, " -> ")
			words := strings.Fields(before)
			if !ok || len(words) < 2 {
				continue
			}
			label, from := strings.Join(words[:len(words)-1], " "), words[len(words)-1]
			if earlier, ok := turns[label]; ok {
				from = earlier.from
			}
			turns[label] = turn{from, to}
		}
	}
	return turns, len(story.Next) < 3
}

// compare compares what was told of one target with what was written since. Where the clock has jumped over several changes, the manager
// makes them one: each field has to come to the last value told, and one whose changes cancel out need not be written.
func (w *Witness) compare(before, now *scene, ref workload.Ref, story *explain.Explanation) string {
	limited := slices.ContainsFunc(story.Policies, func(p explain.Policy) bool { return p.Batch != "" })
	told, whole := due(story, now.at)
	came := map[string]string{}
	mine, cut := w.since(before, ref)
	for _, one := range mine {
		for pointer, value := range one.fields {
			came[pointer] = value
		}
	}
	switch {
	case !whole || now.open[ref] || limited && len(came) == 0:
		return ""
	case limited && len(told) == 0: // it may come earlier than told
		return ""
	case len(mine) == 0 && gjson.GetBytes(before.objects[ref], "metadata.resourceVersion").Str != gjson.GetBytes(now.objects[ref], "metadata.resourceVersion").Str:
		return "" // somebody else wrote, and the manager has decided anew
	}
	until := now.at.UTC().Format(time.RFC3339)
	for label, turn := range told {
		if cut {
			break // what is still to come is decided anew
		}
		written := fieldsOf(came, label, turn.to)
		if len(written) == 0 && turn.from != turn.to || len(written) > 0 && !slices.ContainsFunc(written, func(raw string) bool { return is(raw, turn.to) }) {
			return fmt.Sprintf("%s was told to become %s until %s (%v), and what came was %v", label, turn.to, until, story.Next, came)
		}
	}
	for pointer := range came {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(told)), func(label string) bool {
			return names(label, pointer) || came[pointer] == "" && told[label].to == absent
		}) {
			return fmt.Sprintf("%s was not told to come until %s (%v), and what came was %v", pointer, until, story.Next, came)
		}
	}
	return ""
}

// absent is what a field without a value is told to be.
const absent = "absent"

// fieldsOf are the values that were written to the fields of a label, where it was told to become something. What was told to become absent
// may also go with its parent.
func fieldsOf(came map[string]string, label, to string) (values []string) {
	for pointer, raw := range came {
		if names(label, pointer) || raw == "" && to == absent {
			values = append(values, raw)
		}
	}
	return values
}

// names says whether the last word of a label is a part of a pointer.
func names(label, pointer string) bool {
	words := strings.Fields(label)
	return strings.Contains(pointer+"/", "/"+escape(words[len(words)-1])+"/")
}

// is says whether a JSON text is what was told, where that is told in full.
func is(raw, told string) bool {
	return raw == told || raw == "" && told == absent || told == "[...]" || strings.HasPrefix(told, "{") || strings.HasSuffix(told, "...")
}
