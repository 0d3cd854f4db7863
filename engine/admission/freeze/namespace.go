package freeze

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/admission/rights"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/workload"
)

var namespaces = corev1.SchemeGroupVersion.WithResource("namespaces")

// needed is a right needed for an edit of a namespace.
type needed struct {
	policy workload.Policy
	verb   string
	// where describes the effect of the edit, with a placeholder for the policy. warning is for users with the right.
	where, warning string
}

func isNamespace(r *review.Review) bool {
	return r.Resource.GroupResource() == namespaces.GroupResource()
}

// guardNamespace refuses labels that take a namespace out of an active or soon active freeze, unless the user has the
// verb override on the freeze. It also refuses labels that take a namespace into an exception, unless the user has the
// verb except on the exception.
func (j *Judge) guardNamespace(ctx context.Context, r *review.Review, now time.Time) (review.Answer, Judgement) {
	done := Judgement{Request: freeze.UserChange{Kind: schema.GroupKind{Kind: "Namespace"}, Name: r.Name, User: r.User, Groups: r.Groups,
		Now: now, DryRun: r.DryRun}}
	before, after := readMetadata(r.OldObject, nil), readMetadata(r.Object, nil)
	done.Verdict.Allowed = true
	if j.Rights == nil || before.deleting || freeze.ControlPlane(r.User) {
		return review.Answer{Allowed: true}, done
	}
	user := authenticationv1.UserInfo{Username: r.User, UID: r.UserUID, Groups: r.Groups, Extra: map[string]authenticationv1.ExtraValue{}}
	for k, v := range r.Extra {
		user.Extra[k] = v
	}
	a := review.Answer{Allowed: true}
	set := j.Freezes.Set()
	var needs []needed
	for _, rule := range set.EscapesNamespace(r.Name, before.labels, after.labels, now) {
		where := "out of %s, which is active"
		if _, begins := rule.Guarded(now); !begins.IsZero() {
			where = "out of %s, which begins " + begins.UTC().Format(time.RFC3339)
		}
		needs = append(needs, needed{rule.ID(), rights.VerbOverride, where,
			fmt.Sprintf("%s is overridden: namespace %s leaves it", rule.ID(), r.Name)})
	}
	for _, e := range set.EntersNamespace(r.Name, before.labels, after.labels, now) {
		needs = append(needs, needed{e.ID(), rights.VerbExcept, "into %s", fmt.Sprintf("%s now holds for namespace %s", e.ID(), r.Name)})
	}
	of := rights.NewVerbs(j.Rights, user)
	for _, n := range needs {
		held, err := of.Has(ctx, n.verb, n.policy)
		if err != nil {
			done.Err = err
			return review.Answer{}, done
		}
		done.Escaped = append(done.Escaped, n.policy)
		if !held {
			done.Verdict.Allowed = false
			done.Verdict.Message = fmt.Sprintf("these labels would take namespace %s %s; user %q needs the verb %q on it",
				workload.OneLine(r.Name, review.MaxNamespace), fmt.Sprintf(n.where, n.policy), workload.OneLine(r.User, review.MaxUser), n.verb)
			return review.Answer{Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: done.Verdict.Message}, done
		}
		a.Warnings = append(a.Warnings, n.warning)
	}
	done.Overridden = len(done.Escaped) > 0
	a.Audit = with(nil, "overridden", names(done.Escaped))
	return a, done
}
