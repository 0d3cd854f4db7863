package cli

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"flyball.dev/flyball/engine/admission/evaluate"
)

// pipeline asks the evaluate API as a service account.
type pipeline struct {
	url    string
	client *http.Client
	// authority is the CA that has signed the certificate of the API, in PEM.
	authority []byte
	schema    *validate.SchemaValidator
	token     string
	asked     int
}

// newPipelines finds the address and the CA of the API in the webhook configuration, as an administrator does for a
// pipeline.
func newPipelines(url string) *pipeline {
	GinkgoHelper()
	var authority []byte
	Eventually(func(g Gomega) { // the manager creates the configuration after it has started
		configuration, err := clients().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(ctx, "flyball", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		authority = configuration.Webhooks[0].ClientConfig.CABundle
		g.Expect(authority).NotTo(BeEmpty())
	}).Should(Succeed())
	p := &pipeline{url: url, authority: authority, schema: openAPI("freezereviews", "FreezeReview")}
	trusted := x509.NewCertPool()
	Expect(trusted.AppendCertsFromPEM(p.authority)).To(BeTrue())
	p.client = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}}}
	return p
}

func clients() *kubernetes.Clientset { return kubernetes.NewForConfigOrDie(env.Config) }

// openAPI compiles a schema in an OpenAPI description.
func openAPI(file, name string) *validate.SchemaValidator {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(env.Root, "schemas", file+".openapi.yaml"))
	Expect(err).NotTo(HaveOccurred())
	text, err = yaml.YAMLToJSONStrict(text)
	Expect(err).NotTo(HaveOccurred())
	var described struct {
		Components struct {
			Schemas map[string]spec.Schema `json:"schemas"`
		} `json:"components"`
	}
	Expect(json.Unmarshal(text, &described)).To(Succeed())
	review, known := described.Components.Schemas[name]
	Expect(known).To(BeTrue(), name)
	for name, property := range review.Properties {
		if ref := property.Ref.String(); ref != "" {
			named, known := described.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
			Expect(known).To(BeTrue(), ref)
			review.Properties[name] = named
		}
	}
	return validate.NewSchemaValidator(&review, nil, "", strfmt.Default)
}

// of returns the pipeline of a new service account. The account may ask about objects in its namespace, and for users
// in the given groups.
func (p *pipeline) of(ns, account string, groups ...string) *pipeline {
	GinkgoHelper()
	apply(`
{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: %[1]s, name: %[2]s}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {namespace: %[1]s, name: %[2]s}, rules: [{apiGroups: [flyball.dev], resources: [freezereviews], verbs: [create]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: %[1]s, name: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: %[2]s}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: %[2]s}]
`, ns, account)
	if len(groups) > 0 {
		apply(`
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: %[1]s-%[2]s}
rules:
- {apiGroups: [""], resources: [users], verbs: [impersonate]}
- {apiGroups: [""], resources: [groups], resourceNames: [%[3]s], verbs: [impersonate]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[1]s-%[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %[1]s-%[2]s}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: %[2]s}]
`, ns, account, strings.Join(groups, ", "))
	}
	awaitRights(ns, account, authorizationv1.ResourceAttributes{Verb: "create", Group: "flyball.dev", Resource: "freezereviews",
		Namespace: ns})
	if len(groups) > 0 {
		awaitRights(ns, account, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "users", Name: "alice"})
	}
	for _, group := range groups {
		awaitRights(ns, account, authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "groups", Name: group})
	}
	another := *p
	another.token, another.asked = tokenOf(ns, account), 0
	return &another
}

// awaitRights waits until the API server grants a right to a service account. The API server sees roles by a watch, so
// it grants the right a moment later.
func awaitRights(ns, account string, to authorizationv1.ResourceAttributes) {
	GinkgoHelper()
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: "system:serviceaccount:" + ns + ":" + account, ResourceAttributes: &to}}
	Eventually(func(g Gomega) bool {
		got, err := clients().AuthorizationV1().SubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		return got.Status.Allowed
	}).Should(BeTrue(), "%s of %s", to.Verb, account)
}

// tokenOf returns a token of a service account. The token is for the given audiences, or for the API server if there
// are none.
func tokenOf(ns, account string, audiences ...string) string {
	GinkgoHelper()
	made, err := clients().CoreV1().ServiceAccounts(ns).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences}}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return made.Status.Token
}

// reply is the answer that a pipeline gets.
type reply struct {
	Code   int
	Header http.Header
	Text   string
	Review evaluate.Review
}

// ask posts a review whose spec is given as YAML. It validates the review and the answer against the OpenAPI
// description.
func (p *pipeline) ask(spec string) reply {
	GinkgoHelper()
	body, err := yaml.YAMLToJSON([]byte("{apiVersion: flyball.dev/v1alpha1, kind: FreezeReview, spec: " + spec + "}"))
	Expect(err).NotTo(HaveOccurred())
	p.described(body)
	got := p.post(http.MethodPost, evaluate.Path, body)
	if got.Code == http.StatusOK {
		Expect(got.Header.Get("Content-Type")).To(Equal("application/json"))
		Expect(json.Unmarshal([]byte(got.Text), &got.Review)).To(Succeed(), got.Text)
		Expect(got.Review.Status).NotTo(BeNil(), got.Text)
		p.described([]byte(got.Text))
	} else {
		Expect(got.Header.Get("Content-Type")).To(HavePrefix("text/plain"))
		Expect(strings.TrimSpace(got.Text)).NotTo(BeEmpty())
	}
	return got
}

func (p *pipeline) described(text []byte) {
	GinkgoHelper()
	var review any
	Expect(json.Unmarshal(text, &review)).To(Succeed())
	Expect(p.schema.Validate(review).Errors).To(BeEmpty(), "%s", text)
}

// post sends a request, and sends it again if the connection breaks. The server answers a request that is too large
// without reading it, and then closes the connection. An answer that the client has not read by then is lost.
func (p *pipeline) post(method, path string, body []byte) (got reply) {
	GinkgoHelper()
	var err error
	for range 5 {
		if got, err = p.try(method, path, body); !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			break
		}
	}
	Expect(err).NotTo(HaveOccurred())
	return got
}

func (p *pipeline) try(method, path string, body []byte) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(body))
	if err != nil {
		return reply{}, err
	}
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	return reply{Code: resp.StatusCode, Header: resp.Header, Text: string(text)}, err
}

// agrees compares the API's answer with the answer of the API server, and with the whole answer of the command line.
// The parameter what is YAML with an object and an action, or with a manifest.
func (p *pipeline) agrees(verdict error, cli outcome, user, what, format string, args ...any) {
	GinkgoHelper()
	about := fmt.Sprintf(format, args...)
	p.asked++
	name, group, _ := strings.Cut(user, ":")
	groups := "people"
	if group != groups {
		groups += ", " + group
	}
	got := p.ask(fmt.Sprintf("{user: %s, groups: [%s], %s}", name, groups, what))
	Expect(got.Code).To(Equal(http.StatusOK), "%s: %s", about, got.Text)
	Expect(got.Review.Status.Allowed).To(Equal(verdict == nil), "%s: %s", about, got.Text)
	var answers struct{ Answers []json.RawMessage }
	Expect(json.Unmarshal([]byte(cli.Out), &answers)).To(Succeed(), about)
	Expect(answers.Answers).To(HaveLen(1), about)
	status, err := json.Marshal(got.Review.Status)
	Expect(err).NotTo(HaveOccurred())
	Expect(status).To(MatchJSON(answers.Answers[0]), about)
}
