package tuning

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"flyball.dev/flyball/engine/workload"
)

// RefusalReader finds the cause for which pods of a target are refused: by the API server on creation, by the scheduler,
// or by a waiting container. It reads the cluster once for each roll-out that does not end.
//
// Decisions (docs/decisions): 0047.
type RefusalReader struct {
	Client client.Reader
	// Clock is the cluster's clock.
	Clock clock.PassiveClock
}

// toldWithin is the largest age of an event: controllers try again after a quarter of an hour at the latest, so an older
// event belongs to another roll-out.
const toldWithin = 20 * time.Minute

// longest is the number of bytes kept of an answer.
const longest = 512

// Why returns the cause for which pods of a target are refused, or "" if none is reported. missing reports that the
// target has fewer pods than wanted, and unready are the pods that are not ready. A refused read is an error.
func (r RefusalReader) Why(ctx context.Context, kind schema.GroupVersionKind, ref workload.Ref, uid string, missing bool,
	unready []*workload.Pod) (string, error) {
	why, err := r.condition(ctx, kind, ref)
	if err != nil || why != "" {
		return why, err
	}
	if missing {
		if why, err = r.event(ctx, ref, uid); err != nil || why != "" {
			return why, err
		}
	}
	for _, p := range unready {
		if why, err = r.ofPod(ctx, p); err != nil || why != "" {
			return why, err
		}
	}
	return "", nil
}

// condition returns the target's condition about pods that its controller could not create. Deployments have such a
// condition.
func (r RefusalReader) condition(ctx context.Context, kind schema.GroupVersionKind, ref workload.Ref) (string, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := r.Client.List(ctx, list, client.InNamespace(ref.Namespace), named(ref.Name)); err != nil {
		return "", fmt.Errorf("read the conditions of %s: %w", ref, err)
	}
	for i := range list.Items {
		all, _, _ := unstructured.NestedSlice(list.Items[i].Object, "status", "conditions") // without conditions, there is nothing to read
		for _, one := range all {
			c, _ := one.(map[string]any)
			if c["type"] == "ReplicaFailure" && c["status"] == "True" {
				return refused(fmt.Sprint(c["message"])), nil
			}
		}
	}
	return "", nil
}

// event returns the newest event of a target's controller about pods that it could not create. The controller of
// StatefulSets sends such events.
func (r RefusalReader) event(ctx context.Context, ref workload.Ref, uid string) (string, error) {
	var list corev1.EventList
	of := client.MatchingFieldsSelector{Selector: fields.SelectorFromSet(fields.Set{"involvedObject.uid": uid, "reason": "FailedCreate"})}
	if err := r.Client.List(ctx, &list, client.InNamespace(ref.Namespace), of); err != nil {
		return "", fmt.Errorf("read the events of %s: %w", ref, err)
	}
	return newest(list.Items, r.Clock.Now().Add(-toldWithin)), nil
}

// newest returns the text of the newest event; empty: all events are older than since.
func newest(all []corev1.Event, since time.Time) string {
	all = slices.DeleteFunc(all, func(e corev1.Event) bool { return last(&e).Time.Before(since) })
	if len(all) == 0 {
		return ""
	}
	e := slices.MaxFunc(all, func(a, b corev1.Event) int { return last(&a).Compare(last(&b).Time) })
	return refused(e.Message)
}

func last(e *corev1.Event) metav1.Time {
	switch {
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp
	case e.Series != nil:
		return metav1.Time{Time: e.Series.LastObservedTime.Time}
	}
	return metav1.Time{Time: e.EventTime.Time}
}

func refused(message string) string { return "pods are refused: " + workload.OneLine(message, longest) }

// ofPod returns the reason why a pod is not ready, or "" if it is gone or if its requests have no part in the reason.
func (r RefusalReader) ofPod(ctx context.Context, p *workload.Pod) (string, error) {
	var list corev1.PodList
	if err := r.Client.List(ctx, &list, client.InNamespace(p.Namespace), named(p.Name)); err != nil {
		return "", fmt.Errorf("read pod %s/%s: %w", p.Namespace, p.Name, err)
	}
	if len(list.Items) == 0 {
		return "", nil
	}
	return notReady(p.Name, &list.Items[0].Status), nil
}

// others are reasons of a container's wait that do not depend on its requests: its image, or an object that configures the
// container, such as a ConfigMap.
var others = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "ImageInspectError",
	"RegistryUnavailable", "SignatureValidationFailed",
	"CreateContainerConfigError"}

// notReady returns the reason why a pod is not ready.
func notReady(name string, status *corev1.PodStatus) string {
	for _, c := range status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("pod %s is not scheduled: %s", name, workload.OneLine(cmp.Or(c.Message, c.Reason), longest))
		}
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil && slices.Contains(others, w.Reason) {
			return ""
		}
	}
	for _, c := range slices.Concat(status.InitContainerStatuses, status.ContainerStatuses) {
		if w := c.State.Waiting; w != nil {
			return fmt.Sprintf("pod %s: container %s waits: %s", name, c.Name, workload.OneLine(w.Reason+" "+w.Message, longest))
		}
	}
	return fmt.Sprintf("pod %s is not ready", name)
}

func named(name string) client.MatchingFieldsSelector {
	return client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector(metav1.ObjectNameField, name)}
}
