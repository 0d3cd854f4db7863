package cli

import (
	"bufio"
	"context"
	"crypto/x509"
	"encoding/pem"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
	"flyball.dev/flyball/test/integration/suite"
)

// inCluster is a server of the pages for many people, whose service account may create token reviews and nothing else.
type inCluster struct {
	address string
	trusted http.RoundTripper
}

// serveInCluster starts the server.
func serveInCluster() *inCluster {
	GinkgoHelper()
	ns := suite.Namespace(ctx, env)
	apply(`
{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: %[1]s, name: ui}}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: ui-%[1]s}, rules: [{apiGroups: [authentication.k8s.io], resources: [tokenreviews], verbs: [create]}]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: ui-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: ui-%[1]s}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: ui}]
`, ns)
	awaitRights(ns, "ui", authorizationv1.ResourceAttributes{Verb: "create", Group: "authentication.k8s.io", Resource: "tokenreviews"})

	borrowed := httptest.NewTLSServer(nil) // for its certificate
	pair, trusted := borrowed.TLS.Certificates[0], borrowed.Client().Transport
	borrowed.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	Expect(err).NotTo(HaveOccurred())
	dir := GinkgoT().TempDir()
	files := map[string]*pem.Block{"tls.crt": {Type: "CERTIFICATE", Bytes: pair.Certificate[0]}, "tls.key": {Type: "PRIVATE KEY", Bytes: key}}
	for name, block := range files {
		Expect(os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600)).To(Succeed())
	}

	read, write := io.Pipe()
	serving, stop := context.WithCancel(ctx)
	code := make(chan int, 1)
	args := []string{"ui", "in-cluster", "--listen=127.0.0.1:0", "--time-zone=UTC", "--tls-cert-file=" + filepath.Join(dir, "tls.crt"),
		"--tls-private-key-file=" + filepath.Join(dir, "tls.key"), "--kubeconfig=" + kubeconfigOf(ns, "ui")}
	go func() {
		defer GinkgoRecover()
		code <- cli.Run(serving, args, factory.Env{
			IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: write, ErrOut: GinkgoWriter},
			Now:       clock.Now})
		_ = write.Close()
	}()
	DeferCleanup(func() {
		stop()
		Eventually(code).Should(Receive(Equal(0)))
	})
	line, err := bufio.NewReader(read).ReadString('\n')
	Expect(err).NotTo(HaveOccurred())
	return &inCluster{strings.TrimSpace(line), trusted}
}

// enter returns a browser in which a token was pasted. The status is that of the first page.
func (s *inCluster) enter(token, namespace string, status int) *browser {
	GinkgoHelper()
	jar, err := cookiejar.New(nil)
	Expect(err).NotTo(HaveOccurred())
	b := &browser{Client: http.Client{Jar: jar, Transport: s.trusted}, address: s.address}
	Expect(b.page(http.MethodGet, "/", nil, http.StatusOK)).To(ContainSubstring("Token of the cluster"), "it asks for a token")
	b.page(http.MethodPost, "/login", url.Values{"token": {token}, "namespace": {namespace}}, status)
	return b
}

// status returns the status of a request with headers, without redirects.
func (s *inCluster) status(method, path, form string, headers ...string) (int, string) {
	GinkgoHelper()
	r, err := http.NewRequestWithContext(ctx, method, s.address+path, strings.NewReader(form))
	Expect(err).NotTo(HaveOccurred())
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := s.trusted.RoundTrip(r)
	Expect(err).NotTo(HaveOccurred())
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	Expect(err).NotTo(HaveOccurred())
	return answer.StatusCode, string(text)
}

var _ = Describe("Pages in the cluster", func() {
	var (
		ns string
		s  *inCluster
	)
	BeforeEach(func() {
		ns = suite.Namespace(ctx, env)
		apply(shop, ns)
		DeferCleanup(removeNights, ns)
		clock.SetTime(noon.Add(10 * time.Hour))
		Eventually(func() string { return run("", "", "status", "-n", ns).Out }).Should(ContainSubstring("2 asleep"))
		apply(`
{apiVersion: v1, kind: ServiceAccount, metadata: {namespace: %[1]s, name: editor}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {namespace: %[1]s, name: editor}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cli-edit}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: editor}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: editor-%[1]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cli-view}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: editor}]
`, ns)
		awaitRights(ns, "editor", authorizationv1.ResourceAttributes{Verb: "patch", Group: "batch", Resource: "cronjobs", Namespace: ns})
		awaitRights(ns, "editor", authorizationv1.ResourceAttributes{Verb: "list", Group: "flyball.dev", Resource: "schedules"})
		s = serveInCluster()
	})

	It("give each person the rights of the person's own token", func() {
		place := "/target/CronJob.batch/" + ns + "/report"
		form := url.Values{"verb": {"wake"}, "on": {"cronjob.batch/report"}, "namespace": {ns},
			"until": {"2027-01-01T00:00:00Z"}, "reason": {"x"}, "confirmed": {"yes"}}
		editor, viewer := s.enter(tokenOf(ns, "editor"), ns, http.StatusOK), s.enter(tokenOf("default", "viewer"), "", http.StatusOK)
		nobody := s.enter(tokenOf("default", "nobody"), "", http.StatusForbidden)

		Expect(viewer.page(http.MethodGet, place, nil, http.StatusOK)).NotTo(ContainSubstring("<option>cronjob.batch/report</option>"))
		Expect(viewer.act(form, http.StatusUnprocessableEntity)).To(ContainSubstring("default:viewer"))
		Expect(overridesOf(ns)).To(BeEmpty())

		Expect(editor.page(http.MethodGet, place, nil, http.StatusOK)).To(ContainSubstring("<option>cronjob.batch/report</option>"))
		editor.act(form, http.StatusOK)
		Expect(overridesOf(ns)).To(HaveLen(1))

		for _, path := range []string{"/", "/policies", "/savings", place} {
			text := nobody.page(http.MethodGet, path, nil, http.StatusForbidden)
			Expect(text).To(ContainSubstring("list schedules.flyball.dev"), "it names the missing right")
			Expect(text).NotTo(ContainSubstring("nights"), "the pages of others are not shown")
		}
	})

	It("let nobody in without a token of the own", func() {
		token := tokenOf(ns, "editor")
		editor := s.enter(token, ns, http.StatusOK)
		for _, refused := range []struct {
			method, path, form string
			headers            []string
			code               int
			text               string
		}{
			{http.MethodGet, "/policies", "", nil, http.StatusSeeOther, ""},
			{http.MethodGet, "/events", "", nil, http.StatusSeeOther, ""},
			{http.MethodPost, "/act", "verb=wake", []string{"Origin", s.address}, http.StatusSeeOther, ""},
			{http.MethodGet, "/policies", "", []string{"Authorization", "Bearer no-token-of-this-cluster"}, http.StatusUnauthorized,
				"does not know this token"},
			{http.MethodGet, "/policies", "", []string{"Authorization", "Basic YTpi"}, http.StatusUnauthorized, "give a token of the cluster"},
			{http.MethodGet, "/policies", "", []string{"Cookie", "__Host-flyball-token=no-token-of-this-cluster"}, http.StatusUnauthorized,
				"does not know this token"},
			{http.MethodGet, "/policies", "", []string{"Authorization", "Bearer " + token, "Impersonate-User", "admin"}, http.StatusBadRequest,
				"Impersonate-User is not supported"},
			{http.MethodPost, "/act", "verb=wake", []string{"Authorization", "Bearer " + token, "Origin", "https://evil.example.com"},
				http.StatusForbidden, "comes from another site"},
			{http.MethodPost, "/act", "verb=wake", []string{"Authorization", "Bearer " + token}, http.StatusForbidden, "a form needs an Origin"},
			{http.MethodGet, "/policies", "", []string{"Authorization", "Bearer " + token, "Sec-Fetch-Site", "cross-site"}, http.StatusForbidden,
				"comes from another site"},
			{http.MethodPost, "/act", "verb=wake", []string{"Authorization", "Bearer " + token, "Origin", s.address}, http.StatusForbidden,
				"the form is not of this page"},
			{http.MethodPost, "/login", "token=a;b", []string{"Origin", s.address}, http.StatusBadRequest, "this is no token"},
			{http.MethodPost, "/login", "token=" + strings.Repeat("a", 4000), []string{"Origin", s.address}, http.StatusBadRequest,
				"too long for a cookie"},
			{http.MethodPost, "/login", "token=" + token, nil, http.StatusForbidden, "a form needs an Origin"},
		} {
			code, text := s.status(refused.method, refused.path, refused.form, refused.headers...)
			Expect(code).To(Equal(refused.code), "%s %s %v: %s", refused.method, refused.path, refused.headers, text)
			Expect(text).To(ContainSubstring(refused.text))
			Expect(text).NotTo(Or(ContainSubstring("nights"), ContainSubstring(token)))
		}
		code, text := s.status(http.MethodGet, "/policies", "", "Authorization", "Bearer "+token)
		Expect(code).To(Equal(http.StatusOK), text)
		Expect(text).To(And(ContainSubstring("nights"), Not(ContainSubstring(token))), "a token is in no page")

		other := formToken.FindStringSubmatch(editor.page(http.MethodGet, "/preview", nil, http.StatusOK))[1]
		viewer := s.enter(tokenOf("default", "viewer"), "", http.StatusOK)
		Expect(viewer.page(http.MethodPost, "/act", url.Values{"verb": {"pause"}, "on": {"schedule/nights"}, "namespace": {ns}, "token": {other}},
			http.StatusForbidden)).To(ContainSubstring("the form is not of this page"), "a form of another person")

		root, err := url.Parse(s.address)
		Expect(err).NotTo(HaveOccurred())
		for _, cookie := range editor.Jar.Cookies(root) {
			Expect(cookie.Name).To(HavePrefix("__Host-flyball-"))
		}
		editor.page(http.MethodPost, "/logout", nil, http.StatusOK)
		Expect(editor.page(http.MethodGet, "/policies", nil, http.StatusOK)).To(ContainSubstring("Token of the cluster"), "it asks again")
	})
})
