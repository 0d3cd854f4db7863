package resize

import (
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"

	"flyball.dev/flyball/engine/tuning/podsize"
	"flyball.dev/flyball/engine/workload"
)

// TestRefusalsOfPodOrNodeArePermanent: a refusal is permanent if it is about the pod or its node, but not if it
// comes from a
// quota, a webhook or a missing right.
func TestRefusalsOfPodOrNodeArePermanent(t *testing.T) {
	forbidden := func(text string, cause ...metav1.CauseType) error {
		err := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "a", errors.New(text))
		for _, c := range cause {
			err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: c})
		}
		return fmt.Errorf("patch pods shop/a: %w", err)
	}
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("connection refused"), false},
		{apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a",
			field.ErrorList{field.Forbidden(field.NewPath("spec"), "pod QOS class may not change")}), true},
		{&apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonInvalid, Code: 422,
			Message: "pods \"a\" is forbidden: ValidatingAdmissionPolicy 'no' with binding 'no' denied request: nobody resizes",
			Details: &metav1.StatusDetails{Causes: []metav1.StatusCause{{Message: "ValidatingAdmissionPolicy 'no' with binding 'no' denied " +
				"request: nobody resizes"}}}}}, false},
		{forbidden("node didn't have enough capacity: cpu, requested: 9000, capacity: 8000", "NodeCapacity"), true},
		{forbidden("pod resize is only supported on linux nodes", "UnsupportedPlatform"), true},
		{forbidden("pod update requires features GuaranteedQoSPodCPUResize which are not available on node \"n\""), true},
		{forbidden("exceeded quota: small"), false},
		{forbidden("User \"flyball\" cannot patch resource \"pods/resize\""), false},
		{apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "a", nil), false},
	} {
		if why := whyNever(test.err); (why != "") != test.want {
			t.Errorf("%v: %q", test.err, why)
		}
	}
}

// TestRefusalsAreForgotten: refusals are forgotten after a while, also for targets without a claim.
func TestRefusalsAreForgotten(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	l := &Actuator{refused: map[workload.Ref]map[string]refusal{}, watch: clock,
		queue: workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[workload.Ref]())}
	defer l.queue.ShutDown()
	web, api := workload.Ref{Name: "web"}, workload.Ref{Name: "api"}
	l.refuse(web, podsize.ResizeChange{Pod: &workload.Pod{UID: "a"}}, "too large")
	clock.Step(refusedRetry - time.Second)
	if got := l.refusals(web); len(got) != 1 || got["a"].Why != "too large" || len(l.refusals(api)) > 0 {
		t.Errorf("%+v", got)
	}
	clock.Step(time.Second)
	if got := l.refusals(web); len(got) > 0 {
		t.Errorf("after %s: %+v", refusedRetry, got)
	}
	l.refuse(api, podsize.ResizeChange{Pod: &workload.Pod{UID: "b"}}, "too large")
	if _, kept := l.refused[web]; kept || len(l.refused) != 1 {
		t.Errorf("%+v", l.refused)
	}
}
