package tuning

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestWhyAPodIsNotReady: the requests are not the reason if the image or the configuration of a container is at fault.
func TestWhyAPodIsNotReady(t *testing.T) {
	waits := func(reasons ...string) (all []corev1.ContainerStatus) {
		for _, r := range reasons {
			c := corev1.ContainerStatus{Name: "main"}
			if r != "" {
				c.State.Waiting = &corev1.ContainerStateWaiting{Reason: r, Message: "said so"}
			}
			all = append(all, c)
		}
		return all
	}
	for _, test := range []struct {
		reason string
		status corev1.PodStatus
		want   string
	}{
		{"no node", corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse,
			Message: "0/3 nodes: Insufficient cpu"}}},
			"pod web is not scheduled: 0/3 nodes: Insufficient cpu"},
		{"it crashes", corev1.PodStatus{ContainerStatuses: waits("", "CrashLoopBackOff")},
			"pod web: container main waits: CrashLoopBackOff said so"},
		{"it says nothing", corev1.PodStatus{ContainerStatuses: waits("")}, "pod web is not ready"},
		{"no image", corev1.PodStatus{ContainerStatuses: waits("ImagePullBackOff")}, ""},
		{"no image, and the others wait for it", corev1.PodStatus{InitContainerStatuses: waits("ErrImagePull"),
			ContainerStatuses: waits("PodInitializing")}, ""},
		{"no Secret", corev1.PodStatus{ContainerStatuses: waits("CrashLoopBackOff", "CreateContainerConfigError")}, ""},
	} {
		if got := notReady("web", &test.status); got != test.want {
			t.Errorf("%s: %q", test.reason, got)
		}
	}
}

// TestTheNewestEvent: the newest event is returned, unless it belongs to an earlier roll-out.
func TestTheNewestEvent(t *testing.T) {
	noon := time.Date(2037, 1, 5, 12, 0, 0, 0, time.UTC)
	at := func(minute int, message string) corev1.Event {
		return corev1.Event{Message: message, LastTimestamp: metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute))}
	}
	series := corev1.Event{Message: "by its time", EventTime: metav1.NewMicroTime(noon.Add(9 * time.Minute))}
	again := corev1.Event{Message: "again", EventTime: metav1.NewMicroTime(noon.Add(-time.Hour)),
		Series: &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(noon)}}
	for _, test := range []struct {
		all  []corev1.Event
		want string
	}{
		{nil, ""},
		{[]corev1.Event{at(-1, "old")}, ""},
		{[]corev1.Event{at(-1, "old"), at(5, "quota"), at(2, "webhook")}, "pods are refused: quota"},
		{[]corev1.Event{at(5, "quota"), series}, "pods are refused: by its time"},
		{[]corev1.Event{again}, "pods are refused: again"},
	} {
		if got := newest(test.all, noon); got != test.want {
			t.Errorf("%d events: %q", len(test.all), got)
		}
	}
}
