package admission_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	shipped "flyball.dev/flyball/adapters"
	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/adapter"
	freezeadmission "flyball.dev/flyball/engine/admission/freeze"
	"flyball.dev/flyball/engine/admission/register"
	"flyball.dev/flyball/engine/policy/freeze"
	"flyball.dev/flyball/engine/policy/selector"
	"flyball.dev/flyball/engine/workload"
)

// inMemory has the policies and adapters of a test. It knows the namespaces shop and gone, and gone is being deleted.
// Labels of other namespaces must be read from the API server.
type inMemory struct {
	set      *freeze.Set
	adapters map[schema.GroupResource]*adapter.Adapter
}

func (m inMemory) Set() *freeze.Set                                { return m.set }
func (m inMemory) Adapter(r schema.GroupResource) *adapter.Adapter { return m.adapters[r] }
func (m inMemory) Resource(gk schema.GroupKind) (schema.GroupVersionResource, bool) {
	for resource, a := range m.adapters {
		if workload.Names(gk, a.GroupKind()) {
			return resource.WithVersion(a.Versions()[0]), true
		}
	}
	return schema.GroupVersionResource{}, false
}
func (m inMemory) Namespace(name string) ([]workload.Pairs, bool, bool) {
	labels := []workload.Pairs{workload.NewPairs(map[string]string{"env": "prod"})}
	return labels, name == "gone", name == "shop" || name == "gone"
}

// stored answers reads of metadata. The object "absent" does not exist. A read of any other object in the namespace
// "broken" fails.
type stored struct{}

func (stored) Metadata(_ context.Context, resource schema.GroupVersionResource, namespace, name string) (*metav1.PartialObjectMetadata,
	error) {
	switch {
	case name == "absent":
		return nil, apierrors.NewNotFound(resource.GroupResource(), name)
	case name == "broken" || namespace == "broken":
		return nil, errors.New("the API server is away")
	}
	labels := map[string]string{"tier": "front", "env": "dev"}
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: "stored", Labels: labels}}, nil
}

func (stored) Whole(_ context.Context, resource schema.GroupVersionResource, _, name string) ([]byte, error) {
	return nil, apierrors.NewNotFound(resource.GroupResource(), name)
}

// freezes compiles ClusterChangeFreezes and the shipped adapters.
func freezes(t testing.TB, texts ...string) inMemory {
	t.Helper()
	m, err := compiled(texts...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func compiled(texts ...string) (inMemory, error) {
	m := inMemory{set: &freeze.Set{}, adapters: map[schema.GroupResource]*adapter.Adapter{}}
	for _, text := range texts {
		f := &v1alpha1.ClusterChangeFreeze{}
		if err := yaml.UnmarshalStrict([]byte(text), f); err != nil {
			return m, err
		}
		rule, _, errs := freeze.CompileObject(f, freeze.Context{Scope: selector.Scope{Protected: sets.New[string]()}})
		if len(errs) > 0 {
			return m, errs.ToAggregate()
		}
		m.set = m.set.With(rule)
	}
	all, err := shipped.All()
	if err != nil {
		return m, err
	}
	for _, a := range all {
		compiled, errs := adapter.Compile(a.Name, a.Spec, adapter.Keys{})
		if len(errs) > 0 {
			return m, errs.ToAggregate()
		}
		m.adapters[schema.ParseGroupResource(a.Name)] = compiled
	}
	return m, nil
}

const (
	frontFreeze = `{metadata: {name: front}, spec: {target: {namespaceSelector: {matchLabels: {env: prod}}, selector: {matchLabels: {tier: ` +
		`front}}}, startTime: 2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, ` +
		`deny: [Create, Delete, RollOut, Scale], message: {reason: sale}}}`
	namedFreeze = `{metadata: {name: named}, spec: {target: {namespaces: [shop, fresh, broken, gone], names: [web]}, startTime: ` +
		`2026-12-20T00:00:00Z, endTime: 2027-01-03T00:00:00Z, deny: [Create, Delete, RollOut, Scale]}}`
)

// review returns an AdmissionReview of a Deployment, or of its scale, as the API server writes it.
func review(operation, namespace, name, subresource, old, object string, more ...string) string {
	fields := append([]string{
		`"uid":"u-1"`, `"kind":{"group":"apps","version":"v1","kind":"Deployment"}`,
		`"resource":{"group":"apps","version":"v1","resource":"deployments"}`,
		fmt.Sprintf(`"subResource":%q`, subresource), fmt.Sprintf(`"namespace":%q`, namespace), fmt.Sprintf(`"name":%q`, name),
		fmt.Sprintf(`"operation":%q`, operation),
		`"userInfo":{"username":"alice","groups":["dev","system:authenticated"],"extra":{"a":["b"]}}`,
		`"oldObject":` + old, `"object":` + object, `"options":{"fieldManager":"kubectl"}`,
	}, more...)
	return `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{` + strings.Join(fields, ",") + `}}`
}

func web(labels string, replicas int, more string) string {
	return fmt.Sprintf(`{"metadata":{"name":"web","uid":"known","labels":{%s}%s},"spec":{"replicas":%d}}`, labels, more, replicas)
}

// of returns a review of a Deployment with its resource replaced.
func of(group, resource, review string) string {
	return strings.NewReplacer(`"group":"apps"`, fmt.Sprintf(`"group":%q`, group), "deployments", resource).Replace(review)
}

func pod(spec string) string {
	return fmt.Sprintf(`{"metadata":{"name":"web","uid":"known"},"spec":{"nodeName":"a"%s}}`, spec)
}

// scaler changes a review of a Deployment into a review of an autoscaler.
func scaler(review string) string {
	return of("autoscaling", "horizontalpodautoscalers", strings.ReplaceAll(review, `"version":"v1"`, `"version":"v2"`))
}

// hpa returns an autoscaler of a Deployment.
func hpa(target string, minimum int) string {
	return fmt.Sprintf(
		`{"metadata":{"name":"scaler","namespace":"shop","uid":"known","resourceVersion":"1"},"spec":{"minReplicas":%d,"maxReplicas":9,`+
			`"scaleTargetRef":{"apiVersion":"apps/v1","kind":"Deployment","name":%q}}}`, minimum, target)
}

// spelled changes the spelling of the kind of an autoscaler's target.
func spelled(kind, review string) string {
	return strings.ReplaceAll(review, `"apiVersion":"apps/v1","kind":"Deployment"`, `"apiVersion":"apps/v1","kind":"`+kind+`"`)
}

// ownZero is an autoscaler whose status says that it has scaled its target to zero.
var ownZero = strings.TrimSuffix(hpa("web", 2), "}") + `,"status":{"conditions":[{"type":"ScaledToZero","status":"True"}]}}`

const (
	promoted = `{"metadata":{"name":"web","uid":"known","labels":{}},"spec":{"replicas":1},"status":{"promoteFull":true}}`

	front = `"tier":"front"`
	none  = "null"
)

func TestVerdictsOfTheWebhook(t *testing.T) {
	scaleOf := func(n int) string { return fmt.Sprintf(`{"metadata":{"name":"web"},"spec":{"replicas":%d}}`, n) }
	tests := []struct {
		reason, policy, review string
		// want is a part of the refusal. Empty means that the change is admitted.
		want string
	}{
		{"a scale", frontFreeze, review("UPDATE", "shop", "web", "", web(front, 1, ""), web(front, 2, "")),
			"Deployment.apps/shop/web refused: ClusterChangeFreeze/front denies Scale: sale. Next allowed: 2027-01-03T00:00:00Z (UTC)"},
		{"metadata", frontFreeze, review("UPDATE", "shop", "web", "", web(front, 1, ""), web(front+`,"a":"b"`, 1, "")), ""},
		{"a label dropped in the same edit", frontFreeze, review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 2, "")), "denies Scale"},
		{"a label dropped alone", frontFreeze, review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 1, "")),
			"an edit of labels or annotations by which the object leaves it (spec.labelChanges: Deny)"},
		{"a label dropped alone from a freeze that may be left", leavable, review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 1, "")),
			""},
		{"a creation that generates its name", frontFreeze, review("CREATE", "shop", "", "", none,
			`{"metadata":{"generateName":"web-","labels":{"tier":"front"}}}`), "Deployment.apps/shop/web- refused"},
		{"a deletion of a collection", namedFreeze, review("DELETE", "shop", "", "", web("", 1, ""), none),
			"Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Delete"},
		{"another of the collection", namedFreeze, review("DELETE", "shop", "", "",
			strings.Replace(web("", 1, ""), `"name":"web"`, `"name":"api"`, 1), none), ""},
		{"a deletion again", namedFreeze, review("DELETE", "shop", "web", "", web("", 1, `,"deletionTimestamp":"2026-12-20T00:00:00Z"`), none),
			""},
		{"a finalizer goes", namedFreeze, review("UPDATE", "shop", "web", "",
			web("", 1, `,"deletionTimestamp":"2026-12-20T00:00:00Z","finalizers":["a"]`), web("", 1, `,"deletionTimestamp":"2026-12-20T00:00:00Z"`)),
			""},
		{"/scale, whose object has the label", namedFreeze, review("UPDATE", "shop", "web", "scale", scaleOf(1), scaleOf(2)), "denies Scale"},
		{"/scale by the labels of the object", frontFreeze, review("UPDATE", "shop", "web", "scale", scaleOf(1), scaleOf(2)),
			"ClusterChangeFreeze/front denies Scale"},
		{"/scale to what it is", namedFreeze, review("UPDATE", "shop", "web", "scale", scaleOf(2), scaleOf(2)), ""},
		{"/scale of nothing to nothing", namedFreeze, review("UPDATE", "shop", "web", "scale", `{"spec":{}}`, scaleOf(0)), ""},
		{"/scale of what has gone", frontFreeze, review("UPDATE", "shop", "absent", "scale", scaleOf(1), scaleOf(2)), ""},
		{"another subresource", namedFreeze, review("UPDATE", "shop", "web", "approval", web("", 1, ""), web("", 2, "")), ""},
		{"a namespace that is not known yet", namedFreeze, review("UPDATE", "fresh", "web", "", web("", 1, ""), web("", 2, "")), "denies Scale"},
		{"the labels of one that is not known yet", frontFreeze, review("UPDATE", "fresh", "web", "", web(front, 1, ""), web(front, 2, "")), ""},
		{"a namespace that is being deleted", namedFreeze, review("DELETE", "gone", "web", "", web("", 1, ""), none), ""},
		{"a status by which people act", namedFreeze, of("argoproj.io", "rollouts",
			review("UPDATE", "shop", "web", "status", web("", 1, ""), promoted)),
			"Rollout.argoproj.io/shop/web refused: ClusterChangeFreeze/named denies RollOut"},
		{"the end of the same, which the controller writes", namedFreeze,
			of("argoproj.io", "rollouts", review("UPDATE", "shop", "web", "status", promoted, web("", 1, ""))), ""},
		{"a container for debugging", namedFreeze, of("", "pods",
			review("UPDATE", "shop", "web", "ephemeralcontainers", pod(""), pod(`,"ephemeralContainers":[{"name":"debug"}]`))), "denies RollOut"},
		{"more memory in place", namedFreeze, of("", "pods", review("UPDATE", "shop", "web", "resize", pod(""),
			pod(`,"containers":[{"resources":{"limits":{"memory":"1Gi"}}}]`))), "denies RollOut"},
		{"the deletion of a pod alone", namedFreeze, of("", "pods", review("DELETE", "shop", "web", "", pod(""), none)), "denies Delete"},
		{"the deletion of a pod that is controlled", namedFreeze,
			of("", "pods", review("DELETE", "shop", "web", "", strings.Replace(pod(""), `"uid"`,
				`"ownerReferences":[{"uid":"rs","controller":true}],"uid"`, 1), none)), ""},
		{"a deletion without an old object", namedFreeze, of("", "pods", review("DELETE", "shop", "web", "", none, none)), "denies Delete"},
		{"an autoscaler made for a frozen target", namedFreeze, scaler(review("CREATE", "shop", "scaler", "", none, hpa("web", 2))),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"one edited", namedFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("web", 3))),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"one deleted", namedFreeze, scaler(review("DELETE", "shop", "scaler", "", hpa("web", 2), none)),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"one pointed elsewhere", namedFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("api", 2))),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"one of another target", namedFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("api", 2), hpa("api", 3))), ""},
		{"one edited in nothing", namedFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("web", 2))), ""},
		{"one whose target is selected by its labels", frontFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("api", 2), hpa("api", 3))),
			"change of Deployment.apps/shop/api refused: ClusterChangeFreeze/front denies Scale"},
		{"one that names the kind in lower case", namedFreeze,
			spelled("deployment", scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("web", 3)))),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"one that names it in capitals, which no autoscaler finds", namedFreeze,
			spelled("DEPLOYMENT", scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("web", 3)))), ""},
		{"one by its plural", namedFreeze, spelled("deployments", scaler(review("UPDATE", "shop", "scaler", "", hpa("web", 2), hpa("web", 3)))),
			""},
		{"a status by which an autoscaler lifts its target from 0", namedFreeze,
			scaler(review("UPDATE", "shop", "scaler", "status", hpa("web", 2), ownZero)),
			"change of Deployment.apps/shop/web refused: ClusterChangeFreeze/named denies Scale"},
		{"a status that tells", namedFreeze, scaler(review("UPDATE", "shop", "scaler", "status", hpa("web", 2),
			strings.Replace(ownZero, "ScaledToZero", "AbleToScale", 1))), ""},
		{"one whose target does not exist", frontFreeze, scaler(review("UPDATE", "shop", "scaler", "", hpa("absent", 2), hpa("absent", 3))), ""},
		{"a kind without adapter", namedFreeze, strings.ReplaceAll(review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 2, "")),
			"deployments", "gadgets"), ""},
		{"the control plane", namedFreeze, strings.Replace(review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 2, "")), `"alice"`,
			`"system:serviceaccount:kube-system:deployment-controller"`, 1), ""},
		{"strings with escapes", frontFreeze, review("UPDATE", "shop", "web", "", web(`"ti\u0065r":"fr\u006fnt"`, 1, ""),
			web(`"tier":"front"`, 2, "")), "denies Scale"},
	}
	for _, test := range tests {
		t.Run(test.reason, func(t *testing.T) {
			var noted []freezeadmission.Judgement
			j := judge(t, freezes(t, test.policy), func(j freezeadmission.Judgement) { noted = append(noted, j) })
			got := ask(t, j, test.review)
			if got.UID != "u-1" || got.Allowed != (test.want == "") {
				t.Fatalf("want refusal %q, got %+v", test.want, got)
			}
			if !got.Allowed && (!strings.Contains(got.Result.Message, test.want) || got.Result.Reason != metav1.StatusReasonForbidden ||
				got.Result.Code != http.StatusForbidden) {
				t.Errorf("want %q, got %+v", test.want, got.Result)
			}
			if len(noted) != 1 || noted[0].Verdict.Allowed != got.Allowed || noted[0].Err != nil {
				t.Errorf("noted %+v", noted)
			}
		})
	}
}

// leavable is frontFreeze with label changes allowed.
var leavable = strings.Replace(frontFreeze, "deny:", "labelChanges: Warn, deny:", 1)

func judge(t testing.TB, m inMemory, note func(freezeadmission.Judgement)) *freezeadmission.Judge {
	return &freezeadmission.Judge{Freezes: m, Objects: stored{},
		Clock: clocktesting.NewFakeClock(time.Date(2026, 12, 24, 0, 0, 0, 0, time.UTC)),
		Note:  note, Log: testr.New(t.(*testing.T))}
}

func post(j *freezeadmission.Judge, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	j.ServeHTTP(w, httptest.NewRequest(http.MethodPost, register.JudgePath, strings.NewReader(body)))
	return w
}

func ask(t *testing.T, j *freezeadmission.Judge, body string) admissionv1.AdmissionResponse {
	t.Helper()
	w := post(j, body)
	var answer admissionv1.AdmissionReview
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	if answer.Kind != "AdmissionReview" || answer.APIVersion != "admission.k8s.io/v1" || answer.Response == nil {
		t.Fatalf("got %+v", answer)
	}
	return *answer.Response
}

// A judgement reports more than the verdict: warnings, audit annotations, and a note.
func TestJudgeReportsWarningsAndAudit(t *testing.T) {
	var noted []freezeadmission.Judgement
	softly := strings.Replace(strings.Replace(namedFreeze, "deny:", "enforcement: Warn, deny:", 1), "name: named", "name: softly", 1)
	quietly := strings.Replace(strings.Replace(namedFreeze, "deny:", "enforcement: Audit, deny:", 1), "name: named", "name: quietly", 1)
	j := judge(t, freezes(t, softly, quietly, frontFreeze), func(j freezeadmission.Judgement) { noted = append(noted, j) })

	got := ask(t, j, review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 2, "")))
	want := admissionv1.AdmissionResponse{
		UID: "u-1", Allowed: true,
		Warnings: []string{"ClusterChangeFreeze/softly asks not to Scale Deployment.apps/shop/web now. " +
			"It ends 2027-01-03T00:00:00Z (UTC)"},
		AuditAnnotations: map[string]string{"warned": "ClusterChangeFreeze/softly: Scale", "would-deny": "ClusterChangeFreeze/quietly: Scale"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warned (-want +got):\n%s", diff)
	}
	object := &corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: types.UID("known")}
	if diff := cmp.Diff(object, noted[0].Object); diff != "" {
		t.Errorf("the object noted (-want +got):\n%s", diff)
	}

	j.Freezes = freezes(t, softly, quietly, leavable)
	got = ask(t, j, review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 1, "")))
	if diff := cmp.Diff(admissionv1.AdmissionResponse{UID: "u-1", Allowed: true,
		Warnings:         []string{"this edit takes Deployment/web out of ClusterChangeFreeze/front, which is active"},
		AuditAnnotations: map[string]string{"escaped": "ClusterChangeFreeze/front"}}, got); diff != "" {
		t.Errorf("a label dropped alone (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]workload.Policy{{Kind: freeze.ClusterKind, Name: "front"}}, noted[1].Escaped); diff != "" {
		t.Error(diff)
	}

	j.Freezes = freezes(t, softly, quietly, frontFreeze)
	got = ask(t, j, review("UPDATE", "shop", "web", "", web(front, 1, ""), web("", 1, "")))
	if diff := cmp.Diff(map[string]string{"denied": "ClusterChangeFreeze/front: Relabel"}, got.AuditAnnotations); diff != "" || got.Allowed ||
		len(noted[2].Escaped) > 0 {
		t.Errorf("a label that must stay: allowed %t, noted %+v\n%s", got.Allowed, noted[2], diff)
	}

	before := len(noted)
	dry := ask(t, j, review("UPDATE", "shop", "web", "", web(front, 1, ""), web(front, 2, ""), `"dryRun":true`))
	if dry.Allowed || len(noted) != before {
		t.Errorf("a dry run: allowed %t, noted %d times", dry.Allowed, len(noted)-before)
	}
	if diff := cmp.Diff(map[string]string{"denied": "ClusterChangeFreeze/front: Scale", "warned": "ClusterChangeFreeze/softly: Scale",
		"would-deny": "ClusterChangeFreeze/quietly: Scale"}, dry.AuditAnnotations); diff != "" {
		t.Error(diff)
	}
}

// A review that cannot be judged is a server error, so that the failure policy decides.
func TestUnjudgeableReviewsAreServerErrors(t *testing.T) {
	var noted []freezeadmission.Judgement
	j := judge(t, freezes(t, namedFreeze, frontFreeze), func(j freezeadmission.Judgement) { noted = append(noted, j) })
	good := review("UPDATE", "shop", "web", "", web("", 1, ""), web("", 1, ""))
	for _, test := range []struct {
		reason, body string
		code         int
	}{
		{"no JSON", good[:len(good)-1], http.StatusBadRequest},
		{"no review", `{"apiVersion":"v1","kind":"Pod"}`, http.StatusBadRequest},
		{"another version of the review", strings.Replace(good, "admission.k8s.io/v1", "admission.k8s.io/v1beta1", 1), http.StatusBadRequest},
		{"labels that cannot be read", review("UPDATE", "shop", "broken", "scale", `{"spec":{"replicas":1}}`, `{"spec":{"replicas":2}}`),
			http.StatusInternalServerError},
		{"a namespace that cannot be read", review("UPDATE", "broken", "web", "", web("", 1, ""), web("", 2, "")),
			http.StatusInternalServerError},
	} {
		if w := post(j, test.body); w.Code != test.code {
			t.Errorf("%s: want %d, got %d %s", test.reason, test.code, w.Code, w.Body)
		}
	}
	if len(noted) != 2 || noted[0].Err == nil || noted[1].Err == nil {
		t.Errorf("noted %+v", noted)
	}
	j.Ready = func(*http.Request) error { return errors.New("not yet") }
	if w := post(j, good); w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" ||
		w.Header().Get("Connection") != "close" {
		t.Errorf("before everything was read: %d %v, want the API server to ask again, elsewhere", w.Code, w.Header())
	}
}

func TestFreezeConfiguration(t *testing.T) {
	kinds := []register.FreezeRule{
		{Group: "batch", Resource: "cronjobs", Versions: []string{"v1"}, Actions: workload.ChangeCreate},
		{Group: "apps", Resource: "statefulsets", Versions: []string{"v1"}, Actions: workload.ChangeScale},
		{Group: "apps", Resource: "deployments", Versions: []string{"v1"}, Actions: workload.ChangeRollOut | workload.ChangeDelete},
		{Group: "apps", Resource: "daemonsets", Versions: []string{"v1"}, Actions: workload.ChangeScale},
		{Group: "apps", Resource: "replicasets", Versions: []string{"v1"}, Subresources: []string{"status"}, Actions: 0},
		{Resource: "pods", Versions: []string{"v1"}, Subresources: []string{"resize", "ephemeralcontainers"}, Actions: workload.ChangeRollOut},
	}
	config := register.FreezeConfiguration(deadClient, kinds,
		register.FreezeScope{Exempt: []string{"kube-system", "flyball"}, Account: `o'neill\x`, FieldManager: "flyball",
			Namespaces: admissionregistrationv1.Ignore})
	var rules []string
	for _, r := range config.Webhooks[0].Rules {
		rules = append(rules, fmt.Sprint(r.APIGroups, r.APIVersions, r.Resources, r.Operations, *r.Scope))
	}
	want := []string{
		"[] [v1] [pods pods/ephemeralcontainers pods/resize pods/status] [UPDATE]*",
		"[apps] [v1] [daemonsets daemonsets/scale daemonsets/status deployments/status statefulsets statefulsets/scale statefulsets/status] " +
			"[UPDATE]*",
		"[apps] [v1] [deployments] [UPDATE DELETE]*",
		"[batch] [v1] [cronjobs] [CREATE UPDATE]*",
		"[batch] [v1] [cronjobs/status] [UPDATE]*",
	}
	if diff := cmp.Diff(want, rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	if got := config.Webhooks[0].MatchConditions[1].Expression; !strings.Contains(got, `request.userInfo.username != 'o\'neill\\x'`) {
		t.Errorf("the account is written as %s", got)
	}
	if len(config.Webhooks) != 2 || *config.Webhooks[1].FailurePolicy != "Ignore" || *config.Webhooks[0].FailurePolicy != "Fail" {
		t.Errorf("webhooks %+v", config.Webhooks)
	}
	if got := register.FreezeConfiguration(deadClient, kinds[4:5], register.FreezeScope{}); got != nil {
		t.Errorf("a configuration of nothing: %+v", got)
	}
	bare := register.FreezeConfiguration(deadClient, kinds[:1], register.FreezeScope{})
	if diff := cmp.Diff(&metav1.LabelSelector{}, bare.Webhooks[0].NamespaceSelector, cmpopts.EquateEmpty()); diff != "" ||
		len(bare.Webhooks) != 1 || len(bare.Webhooks[0].MatchConditions) != 2 {
		t.Errorf("without scope: %+v", bare.Webhooks)
	}
}
