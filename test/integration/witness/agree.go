package witness

import (
	"fmt"
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

// quiet says whether between two scenes only time went on, and the manager wrote.
func (w *Witness) quiet(before, now *scene) bool {
	return before != nil && before.rules == now.rules && sameTargets(before, now)
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
		if !before.open[ref] && len(due) > 0 && len(w.since(before, ref)) > 0 {
			count++
		}
	}
	return count
}

// since are the writes to a target after a scene, up to the first before which somebody else has written too.
func (w *Witness) since(before *scene, ref workload.Ref) []write {
	all := w.writes.of(before.heard, before.paths[ref])
	version := gjson.GetBytes(before.objects[ref], "metadata.resourceVersion").Str
	for i, one := range all {
		if one.before != "" && one.before != version {
			return all[:i]
		}
		version = one.after
	}
	return all
}

// due are the values, by the last words of their fields, that were told to be set up to an instant; whole is false where more may
// come than was told.
func due(story *explain.Explanation, at time.Time) (values map[string]string, whole bool) {
	values = map[string]string{}
	for _, c := range story.Next {
		if c.At.After(at) {
			return values, true
		}
		for _, part := range strings.Split(c.Message, ", ") {
			from, to, ok := strings.Cut(part, " -> ")
			words := strings.Fields(from)
			if !ok || len(words) < 2 {
				continue
			}
			values[strings.Join(words[:len(words)-1], " ")] = to
		}
	}
	return values, len(story.Next) < 3
}

// compare compares what was told of one target with what was written since.
func (w *Witness) compare(before, now *scene, ref workload.Ref, story *explain.Explanation) string {
	limited := slices.ContainsFunc(story.Policies, func(p explain.Policy) bool { return p.Batch != "" })
	told, whole := due(story, now.at)
	came := map[string]string{}
	mine := w.since(before, ref)
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
	for label, value := range told {
		if !wrote(came, label, value) && !isStill(before.objects[ref], now.objects[ref]) {
			return fmt.Sprintf("%s was told to become %s until %s (%v), and what came was %v", label, value, now.at.UTC().Format(time.RFC3339), story.Next, came)
		}
	}
	if len(told) == 0 && len(came) > 0 {
		return fmt.Sprintf("nothing was told to come until %s (%v), and what came was %v", now.at.UTC().Format(time.RFC3339), story.Next, came)
	}
	return ""
}

// isStill says whether an object is as it was: what sleeps and wakes between two looks comes to nothing.
func isStill(before, now []byte) bool {
	return gjson.GetBytes(before, "spec").Raw == gjson.GetBytes(now, "spec").Raw && gjson.GetBytes(before, "metadata.annotations").Raw == gjson.GetBytes(now, "metadata.annotations").Raw
}

// wrote says whether a value was written to a field whose last word is that of a label.
func wrote(came map[string]string, label, value string) bool {
	words := strings.Fields(label)
	for pointer, raw := range came {
		if !strings.HasSuffix(pointer, "/"+escape(words[len(words)-1])) && !strings.Contains(pointer, "/"+escape(words[len(words)-1])+"/") {
			continue
		}
		if raw == value || raw == "" && value == "absent" || value == "{...}" || value == "[...]" || strings.HasSuffix(value, "...") || strings.HasPrefix(value, "{") {
			return true
		}
	}
	return false
}
