package page

import (
	"strconv"
	"strings"
	"time"

	"flyball.dev/flyball/engine/workload"
)

// Place is the world that the pages show. The top of every page names it.
type Place struct {
	// Cluster is the name of the cluster. It is empty if the world is made of manifests.
	Cluster string
	// Namespace is the only namespace of the pages. It is empty for all namespaces.
	Namespace string
	// Read is the instant at which the objects were read.
	Read time.Time
	// DryRun is true if the manager writes nothing, and the pages show what would be.
	DryRun bool
}

// Scope names the namespaces of the pages.
func (p *Place) Scope() string {
	if p.Namespace == "" {
		return "all namespaces"
	}
	return "namespace " + p.Namespace
}

// count returns a number with its noun, such as "2,000 targets".
func count(n int, noun string) string {
	return strings.Replace(workload.Count(n, noun), strconv.Itoa(n), grouped(n), 1)
}

// grouped returns a number with commas between thousands.
func grouped(n int) string {
	digits := strings.TrimPrefix(strconv.Itoa(n), "-")
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	if n < 0 {
		return "-" + digits
	}
	return digits
}

// spanName names a length of time: Day, Week, Month, or a number of days.
func spanName(from, to time.Time) string {
	switch days := int(to.Sub(from).Hours()/24 + 0.5); {
	case days <= 1:
		return "Day"
	case days == 7:
		return "Week"
	case days >= 28 && days <= 31:
		return "Month"
	default:
		return strconv.Itoa(days) + " days"
	}
}
