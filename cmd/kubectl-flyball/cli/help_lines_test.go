package cli_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// TestHelpFitsAScreen checks that the help of each verb has at most 35 lines. One line leads to the flags of all verbs.
func TestHelpFitsAScreen(t *testing.T) {
	for _, verb := range verbsOf(cli.New(factory.Env{Now: time.Now})) {
		words := strings.Fields(verb.CommandPath())[2:]
		_, help, _ := strings.Cut(outcome(t, "", append(words, "--help")...), "--- standard output\n")
		if n := strings.Count(help, "\n"); n > 35 || strings.Contains(help, "--kubeconfig") {
			t.Errorf("the help of %s has %d lines", strings.Join(words, " "), n)
		}
	}
}
