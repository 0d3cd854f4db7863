package adapters

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/inspect"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/status"
	"flyball.dev/flyball/engine/world"
	"flyball.dev/flyball/test/worldtest"
)

// If the adapter's role was deleted before the adapter, nothing can be restored, and the status of the adapter names
// the missing rights.
func TestADeletedAdapterReportsMissingRights(t *testing.T) {
	mayPatch := false
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authorizationv1.SelfSubjectAccessReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		review.APIVersion, review.Kind = "authorization.k8s.io/v1", "SelfSubjectAccessReview"
		review.Status.Allowed = mayPatch || review.Spec.ResourceAttributes.Verb != "patch"
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(&review)
	}))
	defer api.Close()
	inspector, err := inspect.New(&rest.Config{Host: api.URL, ContentConfig: rest.ContentConfig{ContentType: "application/json"}})
	if err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	k := worldtest.Kind(t, worldtest.Deployments)
	a := &v1alpha1.Adapter{ObjectMeta: metav1.ObjectMeta{Name: worldtest.Deployments, Finalizers: []string{v1alpha1.FinalizerRestore},
		DeletionTimestamp: &metav1.Time{Time: time.Now()}}}
	a.Spec.Target = v1alpha1.AdapterTarget{Group: "apps", Kind: "Deployment", Versions: []string{"v1"}}
	a.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionAuthorized, Status: metav1.ConditionTrue, Reason: "Authorized",
		Message: "Flyball holds every right the adapter needs"}}
	w := world.New(selector.Scope{})
	store := fake.NewClientBuilder().WithScheme(scheme).WithObjects(a).WithStatusSubresource(a).Build()
	live, objects := world.NewLive(k.Adapter), &worldtest.Store{}
	live.Objects = objects
	asleep := worldtest.Project(t, k, worldtest.Deployment("web", 0,
		`,"annotations":{"flyball.dev/ledger":`+
			`"{\"/spec/replicas\":{\"was\":3,\"set\":0,\"by\":\"Schedule/shop/nights\"},\"of\":\"Deployment/web\"}"}`))
	objects.Put(asleep)
	w.ObjectChanged(live, nil, asleep)
	w.Update(func(tx *world.Tx) { tx.UseKind(&world.LiveKind{Kind: k, Live: live}) })
	registry := prometheus.NewRegistry()
	m, err := NewMetrics(registry, w)
	if err != nil {
		t.Fatal(err)
	}
	told := events.NewFakeRecorder(10)
	c := &Controller{Options: Options{World: w, Client: store, Clock: clock.RealClock{}, Recorder: told,
		Health: status.NewAdapterHealth(), ChangedOn: func(schema.GroupKind) (int, string) { return 0, "" }},
		Metrics: m, inspector: inspector, suspected: map[string]time.Time{}, checked: map[string]*checks{},
		hidden: map[string]bool{}}
	look := func() (ready, authorized *metav1.Condition, rules string) {
		t.Helper()
		var now v1alpha1.Adapter
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(a), &now); err != nil {
			t.Fatal(err)
		}
		if _, err := c.release(t.Context(), &now); err != nil {
			t.Fatal(err)
		}
		if err := store.Get(t.Context(), client.ObjectKeyFromObject(a), &now); err != nil {
			t.Fatal(err)
		}
		return meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionReady),
			meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionAuthorized), now.Status.MissingRules
	}
	if ready, authorized, rules := look(); ready.Message != "being deleted: 1 object has still to be given back: Deployment.apps/shop/web" ||
		authorized.Status != metav1.ConditionTrue || rules != "" {
		t.Errorf("at first: %v, %v, %s", ready, authorized, rules)
	}
	if len(told.Events) != 0 {
		t.Errorf("told at the first look: %s", <-told.Events)
	}
	c.Forbidden(k)
	if ready, authorized, rules := look(); !strings.Contains(ready.Message,
		"1 object has still to be given back: Deployment.apps/shop/web: add to a ClusterRole") || authorized.Status != metav1.ConditionFalse ||
		!strings.Contains(rules, "patch") {
		t.Errorf("once a write was forbidden: %v, %v, %s", ready, authorized, rules)
	}
	if event := <-told.Events; !strings.Contains(event, "Warning DeletionWaits") ||
		!strings.Contains(event, "Deployment.apps/shop/web: add to a ClusterRole") {
		t.Errorf("the event is %s", event)
	}
	c.ChangedOn = func(schema.GroupKind) (int, string) { return 0, "the pods are not known yet" }
	mayPatch = true
	delete(c.suspected, a.Name)
	if ready, authorized, rules := look(); ready.Message != "being deleted: 1 object has still to be given back: Deployment.apps/shop/web" ||
		authorized.Status != metav1.ConditionTrue || rules != "" {
		t.Errorf("once the right is back: %v, %v, %s", ready, authorized, rules)
	}
	objects.Remove(asleep.Namespace, asleep.Name)
	w.ObjectChanged(live, asleep, nil)
	if ready, _, _ := look(); ready.Message != "being deleted: the pods are not known yet" {
		t.Errorf("with pods that are not known: %s", ready.Message)
	}
}
