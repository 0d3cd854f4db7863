package freeze

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/review"
	"flyball.dev/flyball/engine/policy/freeze"
)

var calendars = v1alpha1.GroupVersion.WithResource("calendars")

// Calendar guards calendars in addition to another validator. Creating, editing or deleting a calendar needs the verb override on
// every guarded Cluster freeze that uses it, by name or by includes. A freeze of one namespace keeps its denial instead (0054).
// including returns the names of a calendar and of all that include it.
func (g *Guard) Calendar(inner review.Validator, including func(names ...string) sets.Set[string]) review.OwnKind {
	kind := review.OwnKind{Kind: "Calendar", Resource: calendars.Resource, Validator: inner}
	kind = g.dependedOn(kind, func(req review.Request) (string, []*freeze.Rule) {
		object, ok := cmp.Or(req.Old, req.New).(*v1alpha1.Calendar) // the name of a request is empty for a collection, and with generateName
		if !ok {
			return "", nil
		}
		name := object.Name
		return "the calendar " + name, g.Freezes.Set().GuardingCalendar(name, including(name), req.Old == nil, g.Clock.Now())
	})
	guarded := kind.Validator
	kind.Validator = review.ValidatorFunc(func(ctx context.Context, req review.Request) ([]string, field.ErrorList, error) {
		if errs, err := g.breaksFreeze(ctx, req, including); err != nil || len(errs) > 0 {
			return nil, errs, err
		}
		return guarded.Validate(ctx, req)
	})
	return kind
}

// breaksFreeze returns an error if a Cluster freeze would use a calendar with a missing include after the change of a calendar. Such a
// freeze refuses changes until the calendar can be read, and to end this takes the verb override.
func (g *Guard) breaksFreeze(ctx context.Context, req review.Request,
	including func(names ...string) sets.Set[string]) (field.ErrorList, error) {
	c, ok := cmp.Or(req.New, req.Old).(*v1alpha1.Calendar)
	if !ok || review.IsDeleting(c) || req.New != nil && req.Old != nil && !req.SpecChanged {
		return nil, nil
	}
	if req.New == nil {
		return nil, g.isIncluded(ctx, c.Name, including(c.Name))
	}
	by := g.Freezes.Set().UsingCalendars(including(c.Name), g.Clock.Now())
	if by == nil {
		return nil, nil
	}
	var errs field.ErrorList
	for i, name := range c.Spec.Include {
		valid, err := g.isValid(ctx, name)
		if err != nil {
			return nil, err
		}
		if !valid && name != c.Name {
			errs = append(errs, field.Invalid(field.NewPath("spec", "include").Index(i), name, fmt.Sprintf(
				"there is no valid Calendar of this name, and %s, which uses %s, would refuse changes until there is one: apply that Calendar first",
				by.ID(), c.Name)))
		}
	}
	return errs, nil
}

// isIncluded refuses the deletion of a calendar if a Cluster freeze uses a calendar that includes it. includers may have names of deleted
// calendars.
func (g *Guard) isIncluded(ctx context.Context, name string, includers sets.Set[string]) error {
	set, now := g.Freezes.Set(), g.Clock.Now()
	for _, other := range sets.List(includers.Delete(name)) {
		by := set.UsingCalendars(sets.New(other), now)
		if by == nil {
			continue
		}
		if there, err := g.exists(ctx, other); err != nil {
			return err
		} else if !there {
			continue
		}
		return apierrors.NewForbidden(calendars.GroupResource(), name, fmt.Errorf(
			"%s uses the Calendar %s, which includes this one, and would refuse changes without it: take %s out of spec.include first", by.ID(),
			other, name))
	}
	return nil
}

// isValid reports whether a calendar exists and can be read. A calendar that is not known yet may just have been created.
func (g *Guard) isValid(ctx context.Context, name string) (bool, error) {
	if _, valid := g.Context.Calendars(name); valid || len(g.Context.LostOf(name).Events) > 0 {
		return valid, nil
	}
	return g.exists(ctx, name)
}

func (g *Guard) exists(ctx context.Context, name string) (bool, error) {
	_, err := g.Objects.Metadata(ctx, calendars, "", name)
	if err != nil && !apierrors.IsNotFound(err) {
		return false, fmt.Errorf("find the calendar %s: %w", name, err)
	}
	return err == nil, nil
}
