package gate

import (
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/workload"
)

// refusal returns the message for a failed write. If the API server refuses bounds as invalid, the message begins
// with the fields of policies that claim these bounds.
func refusal(v *decide.Verdict, now time.Time, err error) string {
	if !apierrors.IsInvalid(err) {
		return err.Error()
	}
	var asked []string
	for _, b := range []struct {
		facet string
		claim *workload.Claim[int64]
	}{{"min", v.Plan.Min}, {"max", v.Plan.Max}} {
		written := func(pointer string) bool { return v.Kind.Adapter.BoundAt(pointer) == b.facet }
		if b.claim == nil || !slices.ContainsFunc(v.Result.Changed, written) {
			continue
		}
		i := slices.IndexFunc(v.Opinions, func(o decide.Opinion) bool { return o.Policy.ID == b.claim.By })
		if i < 0 {
			continue
		}
		if name := v.Opinions[i].Policy.Field(now, b.facet); name != "" {
			asked = append(asked, fmt.Sprintf("%s of %s: %d is refused", name, b.claim.By, b.claim.Value))
		}
	}
	return strings.Join(append(asked, err.Error()), ": ")
}
