package resize

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/fleet"
	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/workload"
)

// keptFor is how long a pod has to keep what it was given before that is told: what owned it may just have gone, and then it goes, too.
const keptFor = time.Minute

// keeping is a pod that cannot be given back: since when, and whether that was told.
type keeping struct {
	since time.Time
	told  bool
}

// leftovers is what is to become of the pods of an owner that Flyball has changed, where nobody asks for what they have.
type leftovers struct {
	// changes give pods back; kept are those that keep what they have, and why.
	changes []inplace.Change
	kept    map[*fleet.Pod]string
}

// leftoversOf says what is to become of pods with some stakes.
func (l *Loop) leftoversOf(group workload.Ref, s stakes, pods []*fleet.Pod) (o leftovers, err error) {
	if s.giver == nil {
		o.kept = make(map[*fleet.Pod]string, len(pods))
		for _, p := range pods {
			o.kept[p] = "nothing that it belongs to says what its template asks for"
		}
		return o, nil
	}
	server, err := l.opts.Server()
	if err != nil {
		return o, err
	}
	o.changes, o.kept = inplace.GiveBack(pods, s.original, server, l.refusals(group))
	return o, nil
}

// tellKept tells, once of each pod, which pods of an owner keep requests that nobody asks for any more.
func (l *Loop) tellKept(group workload.Ref, o leftovers) {
	now, again := l.watch.Now(), time.Duration(0)
	var news []*fleet.Pod
	l.mu.Lock()
	before, next := l.keeping[group], make(map[string]keeping, len(o.kept))
	for p := range o.kept {
		k, known := before[p.UID]
		if !known {
			k.since = now
		}
		wait := keptFor - now.Sub(k.since)
		if isAlone(group) {
			wait = 0
		}
		switch {
		case k.told:
		case wait > 0:
			again = max(again, wait)
		default:
			k.told, news = true, append(news, p)
		}
		next[p.UID] = k
	}
	for _, c := range o.changes { // tried once more, and told of already if that is refused again
		if k, known := before[c.Pod.UID]; known {
			next[c.Pod.UID] = k
		}
	}
	if l.keeping[group] = next; len(next) == 0 {
		delete(l.keeping, group)
	}
	l.mu.Unlock()
	for _, p := range news {
		l.opts.Kept(p, o.kept[p])
	}
	if again > 0 {
		l.queue.AddAfter(group, again)
	}
}

// isAlone says that what owns a pod is the pod itself: nothing else does.
func isAlone(group workload.Ref) bool { return group.GroupKind == schema.GroupKind{Kind: "Pod"} }

// isUntold says whether it has still to be told that pods of an owner keep what they have.
func (l *Loop) isUntold(group workload.Ref, o leftovers) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range o.kept {
		if !l.keeping[group][p.UID].told {
			return true
		}
	}
	return false
}
