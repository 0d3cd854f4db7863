package admission_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
)

// canaries has two owners of ReplicaSets. The Rollout busy is in the middle of a canary. The Rollout done is ready.
type canaries struct{ stored }

func (canaries) Whole(_ context.Context, resource schema.GroupVersionResource, _, name string) ([]byte, error) {
	phase, known := map[string]string{"busy": "Progressing", "done": "Healthy"}[name]
	if !known {
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	}
	return []byte(canary(phase, name)), nil
}

func canary(phase, name string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"uid":"u-%s"},"spec":{"replicas":3,"template":{}},`+
		`"status":{"phase":%q,"availableReplicas":3,"HPAReplicas":3,"currentStepIndex":1}}`, name, name, phase)
}

// A controller of another namespace can finish a roll-out that is under way. It writes the status, and scales the
// ReplicaSets of the roll-out. All other users and all other changes are refused.
func TestControllersFinishRollOuts(t *testing.T) {
	const argo, own = "system:serviceaccount:argo-rollouts:argo-rollouts", "system:serviceaccount:shop:deployer"
	busy, done := canary("Progressing", "busy"), canary("Healthy", "done")
	step := func(doc string) string {
		return strings.Replace(doc, `"currentStepIndex":1`, `"currentStepIndex":2`, 1)
	}
	with := func(doc, metadata string) string {
		return strings.Replace(doc, `"metadata":{`, `"metadata":{`+metadata+`,`, 1)
	}
	replicaSet := func(apiVersion, kind, owner, uid, spec string) string {
		return fmt.Sprintf(`{"metadata":{"name":"web-1","ownerReferences":[{"apiVersion":%q,"kind":%q,"name":%q,"uid":%q,"controller":true}]},`+
			`"spec":{%s}}`, apiVersion, kind, owner, uid, spec)
	}
	mine := func(spec string) string { return replicaSet("argoproj.io/v1alpha1", "Rollout", "busy", "u-busy", spec) }
	begin := time.Date(2026, 12, 23, 23, 45, 0, 0, time.UTC)
	for _, tc := range []struct {
		reason              string
		user, resource, sub string
		old, object         string
		after               time.Duration
		allowed             bool
	}{
		{"a step of a canary", argo, "rollouts", "status", busy, step(busy), time.Minute, true},
		{"in the last second", argo, "rollouts", "status", busy, step(busy), 30*time.Minute - time.Second, true},
		{"afterwards", argo, "rollouts", "status", busy, step(busy), 30 * time.Minute, false},
		{"a person", "alice", "rollouts", "status", busy, step(busy), time.Minute, false},
		{"an account that editors of the namespace can act as", own, "rollouts", "status", busy, step(busy), time.Minute, false},
		{"a user called nearly like an account", "system:serviceaccount::a", "rollouts", "status", busy, step(busy), time.Minute, false},
		{"a roll-out that has come to its end", argo, "rollouts", "status", done, step(done), time.Minute, false},
		{"one that the write itself makes unready", argo, "rollouts", "status", done, step(canary("Progressing", "done")), time.Minute, false},
		{"a spec", argo, "rollouts", "", busy, strings.Replace(busy, `"template":{}`, `"template":{"a":1}`, 1), time.Minute, false},
		{"a count in a spec", argo, "rollouts", "", busy, strings.Replace(busy, `"replicas":3`, `"replicas":1`, 1), time.Minute, false},
		{"a restart in a spec", argo, "rollouts", "", busy,
			strings.Replace(busy, `"spec":{`, `"spec":{"restartAt":"now",`, 1), time.Minute, false},
		{"an order to promote in full", argo, "rollouts", "status", busy,
			strings.Replace(step(busy), `"status":{`, `"status":{"promoteFull":true,`, 1), time.Minute, false},
		{"the same order, withdrawn", argo, "rollouts", "status", strings.Replace(busy, `"status":{`, `"status":{"promoteFull":true,`, 1),
			step(busy), time.Minute, true},
		{"an order to start a virtual machine", argo, "virtualmachines", "status", `{"metadata":{"name":"busy"},"spec":{"runStrategy":"Manual"}}`,
			`{"metadata":{"name":"busy"},"spec":{"runStrategy":"Manual"},"status":{"stateChangeRequests":[{"action":"Start"}]}}`,
			time.Minute, false},
		{"labels with the status", argo, "rollouts", "status", busy,
			with(step(busy), `"labels":{"argo-rollouts.argoproj.io/controller-instance-id":"a"}`), time.Minute, false},
		{"a count of its ReplicaSet", argo, "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2`), time.Minute, true},
		{"by a person", "alice", "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2`), time.Minute, false},
		{"by an own account", own, "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2`), time.Minute, false},
		{"afterwards, of its ReplicaSet", argo, "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2`), time.Hour, false},
		{"with another template", argo, "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2,"template":{"a":1}`), time.Minute, false},
		{"with another field", argo, "replicasets", "", mine(`"replicas":1`), mine(`"replicas":2,"minReadySeconds":9`), time.Minute, false},
		{"with the deadline", argo, "replicasets", "", with(mine(`"replicas":1`), `"generation":1,"annotations":{"scale-down-deadline":"now"}`),
			with(mine(`"replicas":0`), `"generation":2,"annotations":{"rollout.argoproj.io/desired-replicas":"3"}`), time.Minute, true},
		{"with another annotation", argo, "replicasets", "", mine(`"replicas":1`), with(mine(`"replicas":2`), `"annotations":{"a":"b"}`),
			time.Minute, false},
		{"of a ReplicaSet of a Deployment", argo, "replicasets", "", replicaSet("apps/v1", "Deployment", "busy", "u-busy", `"replicas":1`),
			replicaSet("apps/v1", "Deployment", "busy", "u-busy", `"replicas":2`), time.Minute, false},
		{"of a roll-out at its end", argo, "replicasets", "", replicaSet("argoproj.io/v1alpha1", "Rollout", "done", "u-done", `"replicas":1`),
			replicaSet("argoproj.io/v1alpha1", "Rollout", "done", "u-done", `"replicas":2`), time.Minute, false},
		{"of an owner of that name that is gone", argo, "replicasets", "",
			replicaSet("argoproj.io/v1alpha1", "Rollout", "busy", "u-old", `"replicas":1`),
			replicaSet("argoproj.io/v1alpha1", "Rollout", "busy", "u-old", `"replicas":2`), time.Minute, false},
		{"of an owner that does not exist", argo, "replicasets", "", replicaSet("argoproj.io/v1alpha1", "Rollout", "no", "u-no", `"replicas":1`),
			replicaSet("argoproj.io/v1alpha1", "Rollout", "no", "u-no", `"replicas":2`), time.Minute, false},
		{"of an owner whose controller makes no ReplicaSets", argo, "replicasets", "",
			replicaSet("batch/v1", "CronJob", "busy", "u-busy", `"replicas":1`),
			replicaSet("batch/v1", "CronJob", "busy", "u-busy", `"replicas":2`), time.Minute, false},
		{"that gets its owner in the same edit", argo, "replicasets", "", `{"metadata":{"name":"web-1"},"spec":{"replicas":1}}`,
			mine(`"replicas":2`), time.Minute, false},
	} {
		t.Run(tc.reason, func(t *testing.T) {
			f := fmt.Sprintf(`{metadata: {name: sale}, spec: {target: {namespaces: [shop]}, startTime: %q,
				endTime: 2027-01-03T00:00:00Z, letFinish: 30m, deny: [Create, Delete, RollOut, Scale]}}`,
				begin.Format(time.RFC3339))
			j := &freezeadmission.Judge{Freezes: freezes(t, f), Objects: canaries{},
				Clock: clocktesting.NewFakePassiveClock(begin), Log: testr.New(t)}
			group := map[string]string{"rollouts": "argoproj.io", "replicasets": "apps", "virtualmachines": "kubevirt.io"}[tc.resource]
			body := of(group, tc.resource, review("UPDATE", "shop", "busy", tc.sub, tc.old, tc.object))
			body = strings.Replace(body, `"alice"`, fmt.Sprintf("%q", tc.user), 1)
			done, err := j.Ask(t.Context(), []byte(body), begin.Add(tc.after))
			if err != nil || done.Verdict.Allowed != tc.allowed || tc.allowed && len(done.Verdict.Finishes) == 0 {
				t.Errorf("%v, %+v", err, done.Verdict)
			}
			if done.Request.Actions == 0 {
				t.Error("it is no action")
			}
		})
	}
}
