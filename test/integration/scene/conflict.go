package scene

import (
	"flyball.dev/flyball/crds/v1alpha1"
)

// Always and never set cron pairs. At night, the pair of always means asleep, and the pair of never means awake.
func Always(r *v1alpha1.ScheduleRules) { r.Downscale, r.Upscale = "0 20 * * *", "0 8 * * *" }
func Never(r *v1alpha1.ScheduleRules)  { r.Downscale, r.Upscale = "0 8 * * *", "0 20 * * *" }

func Priority(n int32) func(*v1alpha1.ScheduleRules) {
	return func(r *v1alpha1.ScheduleRules) { r.Priority = n }
}
