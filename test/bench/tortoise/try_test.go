package tortoise

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"flyball.dev/flyball/engine/policy/tortoise/optimize"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
)

func TestTry(t *testing.T) {
	o := Options{Seeds: TuningSeeds}
	b := optimize.Profiles["Balanced"]
	for k, v := range map[string]*float64{"Q": &b.Violation, "PM": &b.Memory, "H": &b.Headroom, "C": &b.CatchUp, "MM": &b.MemoryMargin} {
		if e := os.Getenv(k); e != "" {
			fmt.Sscan(e, v)
		}
	}
	optimize.Profiles["Balanced"] = b
	if e := os.Getenv("U"); e != "" {
		tweak = func(s *tune.Spec) { fmt.Sscan(e, &s.Bounds.MinUtilisation) }
	}
	if e := os.Getenv("SEEDS"); e != "" {
		o.Seeds = nil
		for _, f := range strings.Fields(e) {
			v := uint64(0)
			fmt.Sscan(f, &v)
			o.Seeds = append(o.Seeds, v)
		}
	}
	if f := os.Getenv("FAM"); f != "" {
		o.Families = strings.Split(f, ",")
	}
	if f := os.Getenv("WHO"); f != "" {
		o.Contenders = strings.Split(f, ",")
	}
	rs, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	type key struct{ f, w string }
	sum := map[key]tally{}
	for _, r := range rs {
		if os.Getenv("V") != "" {
			fmt.Printf("%-13s %d %-17s viol %7.1f core %8.1f gib %8.1f kills %d restarts %d changes %d fallen %.0f R %.0f side %.0f mem %.0f U %d\n", r.Family, r.Seed, r.Contender, r.ViolationMinutes, r.CoreHours, r.GiBHours, r.Kills, r.Restarts, r.Changes, r.Fallen, r.final.app, r.final.side, r.final.memory, r.final.target)
		}
		s := sum[key{r.Family, r.Contender}]
		s.ViolationMinutes += r.ViolationMinutes / 5
		s.CoreHours += r.CoreHours / 5
		s.GiBHours += r.GiBHours / 5
		s.Kills += r.Kills
		s.Restarts += r.Restarts
		s.Changes += r.Changes / 5
		s.Fallen += r.Fallen
		sum[key{r.Family, r.Contender}] = s
	}
	for _, f := range families {
		for _, w := range contenders {
			if s, ok := sum[key{f, w.name}]; ok {
				b := sum[key{f, baseline}]
				fmt.Printf("%-13s %-17s viol %7.1f (%5.2f) core %8.1f (%5.2f) gib %8.1f kills %3d restarts %5d changes %d fallen %.0f\n", f, w.name, s.ViolationMinutes, s.ViolationMinutes/b.ViolationMinutes, s.CoreHours, s.CoreHours/b.CoreHours, s.GiBHours, s.Kills, s.Restarts, s.Changes, s.Fallen)
			}
		}
	}
}
