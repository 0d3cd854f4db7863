package cluster

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// User is a test user with a token. Users other than admin have no rights until a test grants rights to them or to
// their groups.
type User struct {
	Name   string
	Groups []string
}

// Users returns the users of every cluster.
func Users() []User {
	return []User{
		{Name: "admin", Groups: []string{"system:masters"}},
		{Name: "alice", Groups: []string{"developers"}},
		{Name: "bob", Groups: []string{"developers", "oncall"}},
		{Name: "sre", Groups: []string{"sre"}},
	}
}

// identities returns the users of the cluster's own programs. They have tokens too: the API server would verify the signatures of a client
// certificate at each request, a twentieth of its work in tests.
func identities() []User {
	return []User{
		{Name: administrator, Groups: []string{"system:masters"}},
		{Name: "system:" + binControllerManager},
		{Name: "system:" + binScheduler},
		{Name: binKWOK, Groups: []string{"system:masters"}},
		{Name: binMetricsServer, Groups: []string{"system:masters"}},
		{Name: binVPARecommender, Groups: []string{"system:masters"}},
	}
}

// administrator is the user of Cluster.Kubeconfig.
const administrator = "kubernetes-admin"

// writeKubeconfig writes a self-contained kubeconfig file in JSON, which is valid YAML.
func writeKubeconfig(file, url string, ca *authority, token string) error {
	caPEM, err := os.ReadFile(ca.certFile())
	if err != nil {
		return fmt.Errorf("read the authority for %s: %w", filepath.Base(file), err)
	}
	named := func(key string, value any) []any {
		return []any{map[string]any{"name": "flyball", key: value}}
	}
	config := map[string]any{
		"apiVersion":      "v1",
		"kind":            "Config",
		"current-context": "flyball",
		"clusters": named("cluster", map[string]any{
			"server":                     url,
			"certificate-authority-data": base64.StdEncoding.EncodeToString(caPEM),
		}),
		"users":    named("user", map[string]any{"token": token}),
		"contexts": named("context", map[string]any{"cluster": "flyball", "user": "flyball"}),
	}
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(file), err)
	}
	return writeSecret(file, append(raw, '\n'))
}

// writeTokens writes the API server's token file, and returns the tokens by user name.
func writeTokens(dir string) (map[string]string, error) {
	tokens := map[string]string{}
	var lines strings.Builder
	for _, u := range append(Users(), identities()...) {
		tokens[u.Name] = rand.Text()
		fmt.Fprintf(&lines, "%s,%s,%s,%q\n", tokens[u.Name], u.Name, u.Name, strings.Join(u.Groups, ","))
	}
	return tokens, writeSecret(tokenFile(dir), []byte(lines.String()))
}

// writeUsers writes one kubeconfig file per user, and returns their paths by user name.
func writeUsers(dir, url string, ca *authority, tokens map[string]string) (map[string]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "users"), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of users: %w", err)
	}
	files := map[string]string{}
	for _, u := range Users() {
		files[u.Name] = filepath.Join(dir, "users", u.Name+".kubeconfig")
		if err := writeKubeconfig(files[u.Name], url, ca, tokens[u.Name]); err != nil {
			return nil, err
		}
	}
	return files, nil
}

func tokenFile(dir string) string { return filepath.Join(dir, "pki", "tokens.csv") }
