package resize

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

const (
	// refusedRetry is the time until a permanently refused change is tried again: the pod or its node may have changed.
	refusedRetry = 10 * time.Minute
	// longestRefusal is the number of bytes kept of a refusal.
	longestRefusal = 512
)

// refusal is a permanently refused change, with its time.
type refusal struct {
	podsize.Refusal
	at time.Time
}

// causes and missingFeature identify an answer of the API server about a node that cannot carry out a change. Such an
// answer is Forbidden, as are answers of webhooks and quotas, which are not about the node. An answer about a node has
// one of causes as its cause, or no cause and a text with missingFeature.
var (
	causes         = []metav1.CauseType{"NodeCapacity", "UnsupportedPlatform"}
	missingFeature = "which are not available on node"
)

// whyNever returns the reason why the pod's node will never carry a change out, or "" for other errors. The error for
// an invalid value in a pod names a field. A denial by a ValidatingAdmissionPolicy is of type Invalid, too, but names
// no field.
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

// namesField reports whether an error names a field.
func namesField(err error) bool {
	status := apierrors.APIStatus(nil)
	if !errors.As(err, &status) || status.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(status.Status().Details.Causes, func(c metav1.StatusCause) bool { return c.Field != "" })
}

// refuse records a permanently refused change, and drops old records.
func (l *Actuator) refuse(ref workload.Ref, c podsize.ResizeChange, why string) {
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
	l.refused[ref][c.Pod.UID] = refusal{podsize.Refusal{Containers: c.Containers, Why: why}, l.watch.Now()}
	l.queue.AddAfter(ref, refusedRetry)
}

// refusals returns the refused changes of a target's pods, or of an owner of pods to restore.
func (l *Actuator) refusals(ref workload.Ref) podsize.Refusals {
	l.mu.Lock()
	defer l.mu.Unlock()
	given := podsize.Refusals{}
	for uid, r := range l.refused[ref] {
		if l.watch.Since(r.at) < refusedRetry {
			given[uid] = r.Refusal
		}
	}
	return given
}
