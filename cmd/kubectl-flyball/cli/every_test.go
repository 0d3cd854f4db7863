package cli_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// shownElsewhere has, by verb, the flags that need no golden file: flags that need a cluster (test/integration/cli
// tests them), flags that write files, flags that need a Prometheus (test/integration/idle), and flags with which a verb does not end by
// itself.
var shownElsewhere = map[string][]string{
	"status": {"watch"}, "explain": {"watch", "prometheus", "prometheus-token-file", "prometheus-tenant-label"},
	"wake": {"wait", "timeout", "dry-run"}, "sleep": {"dry-run"}, "pause": {"dry-run"},
	"adapter test": {"update"}, "adapter new": {"into"},
	"doctor":           {"prometheus", "prometheus-token-file", "prometheus-tenant-label"},
	"suggest schedule": {"idle", "asleep-after", "prometheus-tenant-label"},
}

// TestEveryVerb checks that every verb has golden files of its table, its JSON and an error, and that every flag
// appears in a golden file.
func TestEveryVerb(t *testing.T) {
	env := factory.Terminal()
	seen := 0
	for _, verb := range verbsOf(cli.New(env)) {
		seen++
		words := strings.Fields(verb.CommandPath())[2:]
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			lines := goldens(t, words)
			has := func(what string, is func(line, outcome string) bool) {
				if !slices.ContainsFunc(lines, func(g [2]string) bool { return is(g[0], g[1]) }) {
					t.Errorf("no golden file has %s", what)
				}
			}
			answers := func(_, outcome string) bool { return strings.Contains(outcome, "--- standard output\n") }
			if words[0] == "ui" { // this verb serves until it is stopped, see TestUI
				has("an error", isError)
				return
			}
			has("its output as a table", func(line, outcome string) bool { return answers(line, outcome) && !strings.Contains(line, " -o ") })
			has("its output as JSON", func(line, outcome string) bool { return answers(line, outcome) && strings.Contains(line, " -o json") })
			has("an error", isError)
			verb.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name == "help" || slices.Contains(shownElsewhere[strings.Join(words, " ")], f.Name) {
					return
				}
				has("the flag --"+f.Name, func(line, _ string) bool {
					return strings.Contains(line+" ", " --"+f.Name+" ") || strings.Contains(line, " --"+f.Name+"=") || f.Shorthand != "" &&
						strings.Contains(line+" ", " -"+f.Shorthand+" ")
				})
			})
		})
	}
	if seen < 15 {
		t.Errorf("%d verbs were looked at", seen)
	}
}

func isError(_, outcome string) bool {
	return !strings.HasPrefix(outcome, "exit code 0\n") && strings.Contains(outcome, "--- standard error\nerror: ")
}

// verbsOf returns the leaf commands below a command, except the built-in commands of cobra.
func verbsOf(cmd *cobra.Command) (verbs []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.Name() == "help" || c.Name() == "completion" {
			continue
		}
		if c.Runnable() {
			verbs = append(verbs, c)
		}
		verbs = append(verbs, verbsOf(c)...)
	}
	return verbs
}

// goldens returns the command lines of a verb with their outcomes.
func goldens(t *testing.T, words []string) (all [][2]string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "golden", words[0], "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		line, outcome, _ := strings.Cut(string(text), "\n")
		if strings.HasPrefix(line+" ", "$ kubectl flyball "+strings.Join(words, " ")+" ") {
			all = append(all, [2]string{line, outcome})
		}
	}
	return all
}
