package page

import (
	"net/url"

	"flyball.dev/flyball/engine/workload"
)

// View is an entry of the navigation.
type View struct{ Path, Name string }

// Views returns the views of the server.
func (v *view) Views() []View {
	return []View{{"/", "Week"}, {"/policies", "Policies"}, {"/freezes", "Freezes"}, {"/savings", "Savings"}, {"/health", "Health"}}
}

// Target returns the address of a target.
func (v *view) Target(ref workload.Ref) string {
	return v.Query.link("/target/"+url.PathEscape(ref.GroupKind.String())+"/"+url.PathEscape(ref.Namespace)+"/"+url.PathEscape(ref.Name), "group", "")
}
