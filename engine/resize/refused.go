package resize

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/fleet/inplace"
	"flyball.dev/flyball/engine/workload"
)

const (
	// refusedRetry is after how long a change is tried again that was refused for good: the pod may have moved on, or its node.
	refusedRetry = 10 * time.Minute
	// longestRefusal is how many bytes are kept of why a change was refused.
	longestRefusal = 512
)

// refusal is a change that the API server has refused for good, and when.
type refusal struct {
	inplace.Refusal
	at time.Time
}

// What the API server says of a node that cannot carry a change out. Such an answer is Forbidden, as is that of a webhook or of a quota, which are
// not about the node; where it names a cause, it is one of causes, and one about features of nodes names none.
var (
	causes         = []metav1.CauseType{"NodeCapacity", "UnsupportedPlatform"}
	missingFeature = "which are not available on node"
)

// whyNever says why a change will not be carried out on the node where the pod is; empty: the error is another one. What is invalid about a pod
// names a field; a ValidatingAdmissionPolicy that denies the change calls it invalid, too, and names none.
func whyNever(err error) string {
	never := apierrors.IsInvalid(err) && namesField(err)
	if apierrors.IsForbidden(err) {
		never = strings.Contains(err.Error(), missingFeature)
		for _, cause := range causes {
			never = never || apierrors.HasStatusCause(err, cause)
		}
	}
	if !never {
		return ""
	}
	return "the API server refuses the change: " + workload.OneLine(err.Error(), longestRefusal)
}

// namesField says whether an error names a field.
func namesField(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// refuse takes down that a change was refused for good, and forgets what was long ago.
func (l *Loop) refuse(ref workload.Ref, c inplace.Change, why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for of, all := range l.refused {
		maps.DeleteFunc(all, func(_ string, r refusal) bool { return l.watch.Since(r.at) >= refusedRetry })
		if len(all) == 0 {
			delete(l.refused, of)
		}
	}
	if l.refused[ref] == nil {
		l.refused[ref] = map[string]refusal{}
	}
	l.refused[ref][c.Pod.UID] = refusal{inplace.Refusal{Containers: c.Containers, Why: why}, l.watch.Now()}
	l.queue.AddAfter(ref, refusedRetry)
}

// refusals gives what was refused of the pods of a target, or of what owns pods that are given back.
func (l *Loop) refusals(ref workload.Ref) inplace.Refusals {
	l.mu.Lock()
	defer l.mu.Unlock()
	given := inplace.Refusals{}
	for uid, r := range l.refused[ref] {
		if l.watch.Since(r.at) < refusedRetry {
			given[uid] = r.Refusal
		}
	}
	return given
}
