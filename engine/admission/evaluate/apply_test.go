package evaluate

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// deployment returns a Deployment with containers and an annotation.
func deployment(containers int, annotation string) string {
	var list []string
	for i := range containers {
		list = append(list, fmt.Sprintf(`{"name":"c%d","args":["a"]}`, i))
	}
	return fmt.Sprintf(
		`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","annotations":{"kubectl.kubernetes.io/last-applied-configuration":%q}},"spec":{"template":{"spec":{"containers":[%s]}}}}`,
		annotation, strings.Join(list, ","))
}

// Merging lists by keys takes quadratic time or more, so a caller could keep a core busy for hours.
func TestLongListsAreNotMerged(t *testing.T) {
	short, long := deployment(3, "{}"), deployment(maxListed+1, "{}")
	for name, test := range map[string]struct {
		live, manifest string
		refused        bool
	}{
		"short":                       {short, deployment(maxListed, "{}"), false},
		"a long list in the manifest": {short, long, true},
		"in the object":               {long, short, true},
		"in what was applied last":    {deployment(3, deployment(maxListed+1, "{}")), short, true},
		"many short lists": {short, strings.Replace(short, `"spec":{`,
			`"spec":{`+strings.Repeat(`"a":[0,0,0,0,0,0,0,0,0,0],`, maxListedInAll/10), 1), true},
		"a number beyond all bounds before it": {
			short, strings.Replace(long, `"spec":{`, `"spec":{"a":1e999,`, 1), true,
		},
	} {
		after, err := applied([]byte(test.live), []byte(test.manifest))
		if errors.Is(err, errListed) != test.refused || err != nil && !test.refused {
			t.Errorf("%s: %v, want refused %t", name, err, test.refused)
		}
		if err == nil && strings.Count(string(after), `"name":"c`) != maxListed {
			t.Errorf("%s: %d containers", name, strings.Count(string(after), `"name":"c`))
		}
	}
	// Lists of kinds without merge keys may have any length.
	cluster := strings.NewReplacer("apps/v1", "example.com/v1", "Deployment", "Farm")
	if _, err := applied([]byte(cluster.Replace(short)), []byte(cluster.Replace(long))); err != nil {
		t.Errorf("a custom resource: %v", err)
	}
}
