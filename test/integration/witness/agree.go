package witness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/cmd/kubectl-flyball/explain"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/path/rawjson"
	"flyball.dev/flyball/engine/policy"
	"flyball.dev/flyball/engine/policy/kinds"
	"flyball.dev/flyball/engine/workload"
)

func groupKind(raw []byte) schema.GroupKind {
	gv, err := schema.ParseGroupVersion(rawjson.GetBytes(raw, "apiVersion").Str)
	if err != nil {
		return schema.GroupKind{}
	}
	return schema.GroupKind{Group: gv.Group, Kind: rawjson.GetBytes(raw, "kind").Str}
}

// disagreesWithLedger compares the winner of an explanation with the policies in the ledger.
func disagreesWithLedger(story *explain.Explanation, raw []byte) (wrong []string) {
	text := rawjson.GetBytes(raw, "metadata.annotations").Map()[v1alpha1.AnnotationLedger].Str
	if text == "" {
		if story.State == "asleep" {
			wrong = append(wrong, "told to be asleep, and nobody has written a ledger")
		}
		return wrong
	}
	written, _, err := workload.ParseLedger(text)
	if err != nil {
		return nil // the explanation says that the ledger is unreadable
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

// disagreesWithStatus compares the reasons of policies with the states that the manager reports.
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
		if status.State == "" || !strings.Contains(told.Steps[0].Text, "next transition") {
			continue
		}
		next := status.NextTransitionTime
		if next == nil || !strings.Contains(told.Steps[0].Text, "next transition "+next.UTC().Format(time.RFC3339)) {
			wrong = append(wrong, fmt.Sprintf("of %s it is told %q, and the manager reports %s until %s", told.Policy, told.Steps[0].Text,
				status.State, next))
		}
	}
	return wrong
}

// quiet reports whether only time and the manager's writes changed the scene. A policy that was created and deleted in
// between is detected only by its finalizer.
func (w *Witness) quiet(before, now *scene) bool {
	return before != nil && before.rules == now.rules && before.turned == now.turned && sameTargets(before, now)
}

// kept compares the predicted next changes with the actual writes.
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

// foretold returns the number of targets whose predicted change has happened.
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

// since returns the writes to a target after a scene, up to the first one that follows another writer's write. cut
// reports whether there is such a write.
func (w *Witness) since(before *scene, ref workload.Ref) (mine []write, cut bool) {
	all := w.writes.of(before.heard, before.paths[ref])
	version := rawjson.GetBytes(before.objects[ref], "metadata.resourceVersion").Str
	for i, one := range all {
		if one.before != "" && one.before != version {
			return all[:i], true
		}
		version = one.after
	}
	return all, false
}

// turn is the predicted value of a field before and after some changes.
type turn struct{ from, to string }

// due returns the predicted turns up to an instant, by the labels of their fields. whole is false if more changes than
// predicted may happen.
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

// compare compares the predictions for one target with the writes since. If the clock has skipped several changes, the
// manager merges them: each field must get its last predicted value, and a field whose changes cancel out need not be
// written.
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
	case limited && len(told) == 0: // it may happen earlier than predicted
		return ""
	case len(mine) == 0 && rawjson.GetBytes(before.objects[ref], "metadata.resourceVersion").Str != rawjson.GetBytes(now.objects[ref],
		"metadata.resourceVersion").Str:
		return "" // another writer wrote, and the manager has decided anew
	}
	until := now.at.UTC().Format(time.RFC3339)
	for label, turn := range told {
		if cut {
			break // the remaining changes are decided anew
		}
		written := fieldsOf(came, label, turn.to)
		if len(written) == 0 && turn.from != turn.to || len(written) > 0 &&
			!slices.ContainsFunc(written, func(raw string) bool { return is(raw, turn.to) }) {
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

// absent is the predicted value of a field without a value.
const absent = "absent"

// fieldsOf returns the values written to the fields of a label, given its predicted value. A field predicted absent may
// also disappear with its parent.
func fieldsOf(came map[string]string, label, to string) (values []string) {
	for pointer, raw := range came {
		if names(label, pointer) || raw == "" && to == absent {
			values = append(values, raw)
		}
	}
	return values
}

// names reports whether the last word of a label is a part of a pointer.
func names(label, pointer string) bool {
	words := strings.Fields(label)
	return strings.Contains(pointer+"/", "/"+escape(words[len(words)-1])+"/")
}

// is reports whether a JSON text equals the predicted value, as far as the prediction is complete.
func is(raw, told string) bool {
	return raw == told || raw == "" && told == absent || told == "[...]" || strings.HasPrefix(told, "{") || strings.HasSuffix(told, "...")
}
