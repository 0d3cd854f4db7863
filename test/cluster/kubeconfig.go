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

// credential is the authentication in a kubeconfig file: by certificate or by token.
type credential struct {
	identity *pair
	token    string
}

// writeKubeconfig writes a self-contained kubeconfig file in JSON, which is valid YAML.
func writeKubeconfig(file, url string, ca *authority, who credential) error {
	caPEM, err := os.ReadFile(ca.certFile())
	if err != nil {
		return fmt.Errorf("read the authority for %s: %w", filepath.Base(file), err)
	}
	user := map[string]any{"token": who.token}
	if who.identity != nil {
		user = map[string]any{
			"client-certificate-data": base64.StdEncoding.EncodeToString(who.identity.cert),
			"client-key-data":         base64.StdEncoding.EncodeToString(who.identity.key),
		}
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
		"users":    named("user", user),
		"contexts": named("context", map[string]any{"cluster": "flyball", "user": "flyball"}),
	}
	raw, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(file), err)
	}
	return writeSecret(file, append(raw, '\n'))
}

// writeUsers writes a token for each user, the API server's token file, and one kubeconfig file per user. It returns
// the paths of the kubeconfig files by user name.
func writeUsers(dir, url string, ca *authority) (map[string]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, "users"), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of users: %w", err)
	}
	files := map[string]string{}
	var tokens strings.Builder
	for _, u := range Users() {
		token := rand.Text()
		fmt.Fprintf(&tokens, "%s,%s,%s,%q\n", token, u.Name, u.Name, strings.Join(u.Groups, ","))
		files[u.Name] = filepath.Join(dir, "users", u.Name+".kubeconfig")
		if err := writeKubeconfig(files[u.Name], url, ca, credential{token: token}); err != nil {
			return nil, err
		}
	}
	return files, writeSecret(tokenFile(dir), []byte(tokens.String()))
}

func tokenFile(dir string) string { return filepath.Join(dir, "pki", "tokens.csv") }
