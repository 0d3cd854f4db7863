package notifications

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"flyball.dev/flyball/crds/v1alpha1"
)

// Notifications of one second are as old as their names, so a new one can be older than those that send messages. Several can be deleted
// before the first deletion is handled.
func TestMailboxesFollowTheOrderOfNotifications(t *testing.T) {
	for _, tc := range []struct{ exist, open, want string }{
		{"a b c", "b c", "a c"},
		{"c d e f", "", "c d"},
		{"a b", "a b", ""},
		{"a b c", "a b", ""},
	} {
		objects := []client.Object{}
		for name := range strings.FieldsSeq(tc.exist) {
			n := &v1alpha1.Notification{}
			n.Namespace, n.Name = "shop", name
			objects = append(objects, n)
		}
		other := &v1alpha1.Notification{}
		other.Namespace, other.Name = "other", "a"
		scheme := runtime.NewScheme()
		if err := v1alpha1.AddToScheme(scheme); err != nil {
			t.Fatal(err)
		}
		c := &Controller{Options: Options{PerNamespace: 2, Client: fake.NewClientBuilder().WithScheme(scheme).
			WithObjects(append(objects, other)...).Build()}, shares: map[string]*share{"shop": {boxes: map[string]*mailbox{}}}}
		for name := range strings.FieldsSeq(tc.open) {
			c.shares["shop"].boxes[name] = &mailbox{}
		}
		got := []string{}
		for _, r := range c.displaced(t.Context(), objects[0]) {
			got = append(got, r.Name)
		}
		slices.Sort(got)
		if strings.Join(got, " ") != tc.want {
			t.Errorf("of %q, while %q send messages, %q change, want %q", tc.exist, tc.open, got, tc.want)
		}
	}
}
