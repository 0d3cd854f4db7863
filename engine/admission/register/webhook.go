package register

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"flyball.dev/flyball/crds/v1alpha1"
	"flyball.dev/flyball/engine/admission/review"
)

// These are the names of the webhook configurations: of Flyball's own kinds, with the guard of freezes; of freezes; and
// of new pods.
const (
	OwnConfigurationName    = "flyball"
	FreezeConfigurationName = "flyball-freeze"
	PodsConfigurationName   = "flyball-pods"
)

// These are the paths of the server.
const (
	// ValidatePath is the path for reviews of Flyball's own kinds.
	ValidatePath = "/validate-flyball-dev-v1alpha1"
	// JudgePath is the path for reviews of adapted kinds, judged against freezes.
	JudgePath = "/judge"
	// PodsPath is the path for reviews of new pods.
	PodsPath = "/pods"
	// ProbePath is the path for probes.
	ProbePath = "/probe"
)

// Timeout is the API server's timeout for an answer, in seconds.
const Timeout = 5

// Server is the part of the admission server that configurations depend on.
type Server interface {
	// Client returns the client configuration of a path of the server. It has no authorities before the first
	// certificate is made.
	Client(path string) admissionregistrationv1.WebhookClientConfig
	// Replaced returns a channel that is closed when the authorities in client configurations are replaced.
	Replaced() <-chan struct{}
}

// Endpoint is the address of the server for API servers. Exactly one field is set.
type Endpoint struct {
	// URL is https://host:port, without a path, for a manager outside the cluster.
	URL string
	// Service is the Service of a manager in the cluster. Its Path is not used.
	Service *admissionregistrationv1.ServiceReference
}

// Hosts returns the names that the certificate must have. A URL that is not https://host:port is an error.
func (e Endpoint) Hosts() ([]string, error) {
	if e.Service != nil {
		return []string{e.Service.Name + "." + e.Service.Namespace + ".svc"}, nil
	}
	u, err := url.Parse(e.URL)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("the webhook URL %q is not https://host:port", e.URL)
	}
	return []string{u.Hostname()}, nil
}

// Client returns the client configuration of a path of the server.
func (e Endpoint) Client(path string, bundle []byte) admissionregistrationv1.WebhookClientConfig {
	if e.Service == nil {
		return admissionregistrationv1.WebhookClientConfig{URL: new(strings.TrimSuffix(e.URL, "/") + path), CABundle: bundle}
	}
	service := e.Service.DeepCopy()
	service.Path = &path
	if service.Port == nil {
		service.Port = new(int32(443))
	}
	return admissionregistrationv1.WebhookClientConfig{Service: service, CABundle: bundle}
}

// metaOf returns the metadata of an object of Flyball's.
func metaOf(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{"app.kubernetes.io/name": "flyball"}}
}

// newWebhook returns a webhook that fails closed, with all fields that have API defaults.
func newWebhook(name string, client admissionregistrationv1.WebhookClientConfig, rules []admissionregistrationv1.RuleWithOperations,
	conditions ...admissionregistrationv1.MatchCondition) admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name:                    name,
		ClientConfig:            client,
		Rules:                   rules,
		FailurePolicy:           new(admissionregistrationv1.Fail),
		MatchPolicy:             new(admissionregistrationv1.Equivalent),
		SideEffects:             new(admissionregistrationv1.SideEffectClassNoneOnDryRun),
		TimeoutSeconds:          new(int32(Timeout)),
		AdmissionReviewVersions: []string{"v1"},
		NamespaceSelector:       &metav1.LabelSelector{},
		ObjectSelector:          &metav1.LabelSelector{},
		MatchConditions:         conditions,
	}
}

// These sets of operations are sent.
var (
	updates    = []admissionregistrationv1.OperationType{admissionregistrationv1.Update}
	edits      = []admissionregistrationv1.OperationType{admissionregistrationv1.Create, admissionregistrationv1.Update}
	everyWrite = append(slices.Clone(edits), admissionregistrationv1.Delete)
)

// ruleOf returns a rule for operations on resources of a group, in some versions, namespaced and cluster-scoped.
func ruleOf(operations []admissionregistrationv1.OperationType, group string, versions []string,
	resources ...string) admissionregistrationv1.RuleWithOperations {
	return admissionregistrationv1.RuleWithOperations{
		Operations: operations,
		Rule: admissionregistrationv1.Rule{APIGroups: []string{group}, APIVersions: versions, Resources: resources,
			Scope: new(admissionregistrationv1.AllScopes)},
	}
}

// condition returns a match condition.
func condition(name, expression string) admissionregistrationv1.MatchCondition {
	return admissionregistrationv1.MatchCondition{Name: name, Expression: expression}
}

// passFinalizers excludes updates of an object under deletion that only remove a finalizer. They work even if no
// replica runs.
const passFinalizers = "request.operation != 'UPDATE' || !has(object.metadata.deletionTimestamp) || object.spec != oldObject.spec || " +
	ofStatus

// ofStatus matches writes of the status. passStatus excludes status writes without a change of the fields for Flyball alone.
const (
	ofStatus   = "request.?subResource.orValue('') != ''"
	passStatus = "!(" + ofStatus +
		") || object.?status.?createdBy != oldObject.?status.?createdBy || object.?status.?createdAt != oldObject.?status.?createdAt" +
		" || object.?status.?announced != oldObject.?status.?announced"
)

// passAdapterMetadata excludes edits of an Adapter with an unchanged spec. Flyball must be able to add its finalizer,
// without which it writes nothing, even if no replica answers. The deletion of an Adapter and every edit of its spec
// are judged.
const passAdapterMetadata = "request.operation != 'UPDATE' || request.resource.resource != 'adapters' || object.spec != oldObject.spec"

// Configuration returns the ValidatingWebhookConfiguration of Flyball's own kinds. Requests are refused while no
// replica answers. Of the subresources only changes of the status are sent, and only of the fields for Flyball alone.
func Configuration(name string, endpoint Endpoint, kinds []review.OwnKind,
	bundle []byte) *admissionregistrationv1.ValidatingWebhookConfiguration {
	var edited, written, reported []string
	for _, k := range kinds {
		if k.Deletions {
			written = append(written, k.Resource)
		} else {
			edited = append(edited, k.Resource)
		}
		if k.Status {
			reported = append(reported, k.Resource+"/status")
		}
	}
	var rules []admissionregistrationv1.RuleWithOperations
	for _, sent := range []struct {
		resources  []string
		operations []admissionregistrationv1.OperationType
	}{{edited, edits}, {written, everyWrite}, {reported, updates}} {
		if len(sent.resources) > 0 {
			slices.Sort(sent.resources)
			rules = append(rules, ruleOf(sent.operations, v1alpha1.GroupVersion.Group, []string{v1alpha1.GroupVersion.Version}, sent.resources...))
		}
	}
	return &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metaOf(name),
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			newWebhook("validate.v1alpha1.flyball.dev", endpoint.Client(ValidatePath, bundle), rules,
				condition("pass-finalizer-removal", passFinalizers),
				condition("pass-adapter-metadata", passAdapterMetadata),
				condition("pass-mere-status", passStatus)),
		}}
}
