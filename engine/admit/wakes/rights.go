package wakes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admit/limits"
	"flyball.dev/flyball/engine/decide"
	"flyball.dev/flyball/engine/policy/schedule"
	"flyball.dev/flyball/engine/wake"
	"flyball.dev/flyball/engine/workload"
	"flyball.dev/flyball/engine/world"
)

// Verb is the virtual verb on schedules that a caller needs.
const Verb = "wake"

const (
	// maxSchedules limits the schedules that decide about one place, because each needs a call of the API server.
	maxSchedules = 64
	// maxAwaited limits the targets of one wait.
	maxAwaited = 500
	// maxNamed limits the names in an answer.
	maxNamed = 100
)

// target is an object that a place reaches.
type target struct {
	ref    workload.Ref
	kind   *decide.Kind
	asleep bool
}

// found is a place with the targets that it reaches and the schedules that decide about them.
type found struct {
	place     wake.Place
	schedules []*world.Policy
	targets   []target
	// absent is the reason why there is nothing to wake; empty: there is something.
	absent string
}

// find looks for the targets of a place in the manager's world.
func (a *api) find(ctx context.Context, place wake.Place) (*found, error) {
	select {
	case a.working <- struct{}{}:
		defer func() { <-a.working }()
	case <-ctx.Done():
		return nil, &limits.Fault{Code: http.StatusTooManyRequests, Err: errors.New("too many wakes at once"), Again: time.Second}
	}
	s := a.World.Snapshot()
	for _, k := range s.Kinds() {
		// A schedule that decides about an object that is not read yet would not be asked for its right.
		if !k.Live.HasSynced() {
			return nil, &limits.Fault{Code: http.StatusServiceUnavailable, Err: fmt.Errorf("objects of %s are not read yet", k.GroupKind),
				Again: time.Second}
		}
	}
	f := &found{place: place}
	if own := s.Find(place.Policy); own != nil {
		f.schedules = append(f.schedules, own)
	}
	for ref, schedules := range wake.Scheduled(s) {
		if !place.Reaches(ref, schedules) {
			continue
		}
		for _, p := range schedules {
			if !slices.Contains(f.schedules, p) {
				f.schedules = append(f.schedules, p)
			}
		}
		if obj := s.Object(ref); obj != nil {
			f.targets = append(f.targets, target{ref, s.Kind(ref.GroupKind), sleeper(obj.Ledger) != nil})
		}
	}
	if place.Object.Name == "" && place.Policy.Name == "" && len(f.schedules) > 0 {
		f.addIdle(s)
	}
	slices.SortFunc(f.schedules, func(a, b *world.Policy) int { return strings.Compare(a.ID.String(), b.ID.String()) })
	slices.SortFunc(f.targets, func(a, b target) int { return a.ref.Compare(b.ref) })
	if len(f.schedules) > maxSchedules {
		return nil, limits.Faultf(http.StatusUnprocessableEntity, "%d schedules decide about %s, more than %d: wake namespaces or targets",
			len(f.schedules), place, maxSchedules)
	}
	if len(f.schedules) == 0 {
		f.absent = absent(s, place)
	}
	return f, nil
}

// addIdle adds the schedules of a namespace that have no target just now. The annotation of the namespace also keeps their
// later targets awake.
func (f *found) addIdle(s *world.Snapshot) {
	for p := range s.Policies {
		if wake.IsSchedule(p.Kind.Name) && p.ID.Namespace == f.place.Name && !slices.Contains(f.schedules, p) {
			f.schedules = append(f.schedules, p)
		}
	}
}

// absent returns the reason why no schedule decides about a place.
func absent(s *world.Snapshot, p wake.Place) string {
	switch {
	case p.Policy.Name != "":
		return fmt.Sprintf("there is no %s", p.Policy)
	case p.Object.Name == "" && s.Namespace(p.Name).Unknown:
		return fmt.Sprintf("there is no namespace %s", p.Name)
	case p.Object.Name != "" && s.Object(p.Object) == nil:
		return fmt.Sprintf("there is no %s, or no schedule selects its kind", p.Object)
	case p.Object.Name == "":
		return fmt.Sprintf("no schedule selects an object in namespace %s: nothing puts one to sleep", p.Name)
	}
	return fmt.Sprintf("no schedule selects %s: nothing puts it to sleep", p.Object)
}

// authorize returns an error if the caller may not wake the place: the verb wake is needed on each schedule that decides
// about a target of the place. A caller with none of these rights does not learn whether the place exists.
func (a *api) authorize(ctx context.Context, caller *authenticationv1.UserInfo, f *found) error {
	var missing []string
	for _, p := range f.schedules {
		held, err := a.gate.Holds(ctx, caller, right(f.place, p))
		if err != nil {
			return err
		}
		if !held {
			missing = append(missing, p.ID.String())
		}
	}
	if f.absent != "" {
		held, err := a.gate.Holds(ctx, caller, general(f.place))
		if err != nil {
			return err
		}
		if held {
			return limits.Faultf(http.StatusNotFound, "%s", f.absent)
		}
	}
	switch {
	case f.absent != "" || len(missing) == len(f.schedules):
		return limits.Faultf(http.StatusForbidden, "user %q may not wake %s%s: this takes the verb %s on each schedule that selects it "+
			"(schedules.%[5]s, clusterschedules.%[5]s)", caller.Username, f.place, in(f.place), Verb, v1alpha1.GroupVersion.Group)
	case len(missing) > 0:
		return limits.Faultf(http.StatusForbidden, "user %q may not wake %s%s: the verb %s is missing on %s", caller.Username, f.place,
			in(f.place), Verb, strings.Join(missing, ", "))
	}
	return nil
}

// namespaceOf returns the namespace in which the targets of a place are. It is empty if they are in several, or in none.
func namespaceOf(p wake.Place) string {
	if p.Object.Name == "" && p.Policy.Name == "" {
		return p.Name
	}
	return p.Namespace
}

func in(p wake.Place) string {
	if ns := namespaceOf(p); ns != "" {
		return " in namespace " + ns
	}
	return ""
}

// right returns the right on a schedule. The namespace is the targets': so a role that is bound in a namespace covers the
// ClusterSchedules there, and only there.
func right(place wake.Place, p *world.Policy) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: Verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: p.Kind.Resource, Name: p.ID.Name, Namespace: cmp.Or(p.ID.Namespace, namespaceOf(place))}
}

// general returns the right to learn that there is nothing to wake.
func general(place wake.Place) authorizationv1.ResourceAttributes {
	r := authorizationv1.ResourceAttributes{Verb: Verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: schedule.Kinds()[0].Resource, Namespace: namespaceOf(place)}
	if place.Policy.Name != "" {
		r.Resource, r.Name = place.Resource.Resource, place.Policy.Name
	}
	return r
}

// check returns an error if a schedule does not allow a wake of this length, or if there are too many targets to wait for.
func (f *found) check(r *Request, now time.Time) error {
	if r.Wait && len(f.targets) > maxAwaited {
		return fmt.Errorf("wait: %s reaches %d targets, more than %d", f.place, len(f.targets), maxAwaited)
	}
	for _, p := range f.schedules {
		if limit, limited := schedule.MaxWake(p.Object); limited && r.end.Sub(now) > limit {
			return fmt.Errorf("%s allows at most %s at once (spec.wake.maxDuration)", p.ID, limit)
		}
	}
	return nil
}

// Answer is the answer to a request.
type Answer struct {
	// Place is the annotated object as kind/name, and Namespace its namespace.
	Place     string `json:"place"`
	Namespace string `json:"namespace,omitempty"`
	// Until is absent if a wake was ended.
	Until  time.Time `json:"until,omitzero"`
	User   string    `json:"user"`
	Reason string    `json:"reason,omitempty"`
	// Schedules are the schedules that decide about the targets.
	Schedules []string `json:"schedules"`
	// Targets is the number of targets. Asleep are the targets that were asleep, at most 100.
	Targets int      `json:"targets"`
	Asleep  []string `json:"asleep,omitempty"`
	Message string   `json:"message"`
}

func (f *found) answer(user string, r *Request) Answer {
	a := Answer{Place: f.place.String(), Namespace: f.place.Namespace, User: user, Reason: r.Reason, Targets: len(f.targets)}
	if !r.end.IsZero() {
		a.Until = r.end.UTC()
	}
	for _, p := range f.schedules {
		a.Schedules = append(a.Schedules, p.ID.String())
	}
	asleep := 0
	for _, t := range f.targets {
		if !t.asleep {
			continue
		}
		if asleep++; asleep <= maxNamed {
			a.Asleep = append(a.Asleep, t.ref.String())
		}
	}
	switch all := workload.Count(len(f.targets), "target"); {
	case r.end.IsZero():
		a.Message = "schedules decide again"
	case asleep == 0:
		a.Message = "nothing is asleep: " + all + " of " + a.Place + " will not go to sleep until then"
	default:
		a.Message = fmt.Sprintf("%d of %s asleep, which wake now", asleep, all)
	}
	return a
}
