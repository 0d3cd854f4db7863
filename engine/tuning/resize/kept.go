package resize

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// keptFor is the time for which a pod must keep its requests before an event reports it. A pod whose owner was just
// deleted is probably deleted within this time, so no event is needed.
const keptFor = time.Minute

// keeping describes a pod that cannot be restored: since when, and whether an event has reported it.
type keeping struct {
	since time.Time
	told  bool
}

// leftovers are the pods of an owner that Flyball has changed and that no policy claims any more.
type leftovers struct {
	// changes are the writes that restore pods. kept are the pods that keep their requests, with the reasons.
	changes []podsize.ResizeChange
	kept    map[*workload.Pod]string
}

// leftoversOf returns the leftovers among pods with the given ownership.
func (l *Actuator) leftoversOf(group workload.Ref, s ownership, pods []*workload.Pod) (o leftovers, err error) {
	if s.templateOwner == nil {
		o.kept = make(map[*workload.Pod]string, len(pods))
		for _, p := range pods {
			o.kept[p] = "nothing that it belongs to says what its template asks for"
		}
		return o, nil
	}
	server, err := l.opts.Server()
	if err != nil {
		return o, err
	}
	o.changes, o.kept = podsize.RestoreSizes(pods, s.original, server, l.refusals(group))
	return o, nil
}

// tellKept reports, once for each pod, the pods of an owner that keep requests without a policy.
func (l *Actuator) tellKept(group workload.Ref, o leftovers) {
	now, again := l.watch.Now(), time.Duration(0)
	var news []*workload.Pod
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
	for _, c := range o.changes { // a pod that is tried again keeps its record, so a new refusal is not reported twice
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

// isAlone reports whether a group is a single pod without an owner reference.
func isAlone(group workload.Ref) bool { return group.GroupKind == schema.GroupKind{Kind: "Pod"} }

// isUntold reports whether a kept pod of an owner has not been reported yet.
func (l *Actuator) isUntold(group workload.Ref, o leftovers) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range o.kept {
		if !l.keeping[group][p.UID].told {
			return true
		}
	}
	return false
}
