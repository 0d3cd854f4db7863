package cli_test

import (
	"strings"
	"testing"
	"time"

	"flyball.dev/flyball/cmd/kubectl-flyball/cli"
	"flyball.dev/flyball/cmd/kubectl-flyball/factory"
)

// TestUsageErrorsAreInPlainWords gives every verb wrong arguments and flags, and expects the usage in plain words.
func TestUsageErrorsAreInPlainWords(t *testing.T) {
	for _, verb := range verbsOf(cli.New(factory.Env{Now: time.Now})) {
		path := strings.Fields(verb.CommandPath())[2:]
		t.Run(strings.Join(path, " "), func(t *testing.T) {
			for name, more := range map[string][]string{
				"no arguments": nil, "too many": {"a", "b", "c"}, "unknown flag": {"--wrong"}, "short flag": {"-q"}, "no value": {"--time-zone"},
				"no boolean": {"--no-color=perhaps"},
			} {
				got := outcome(t, "", append(path, more...)...)
				for _, raw := range []string{"arg(s)", "unknown flag", "unknown shorthand", "unknown command", "flag needs", "invalid argument",
					"strconv"} {
					if strings.Contains(got, raw) {
						t.Errorf("%s: %q of the flag library in %s", name, raw, got)
					}
				}
				if strings.HasPrefix(name, "unknown") && !strings.Contains(got, "there is no flag --wrong; see kubectl flyball "+
					strings.Join(path, " ")+" --help") {
					t.Errorf("%s: %s", name, got)
				}
			}
		})
	}
	for line, want := range map[string]string{
		"explain":                         "kubectl flyball explain needs more: write kubectl flyball explain KIND/NAME",
		"explain deployment web api":      "write kubectl flyball explain KIND/NAME",
		"explain deployment/a sts/b":      "write kubectl flyball explain KIND/NAME",
		"version now":                     `kubectl flyball version takes no "now"`,
		"status --offlien":                "there is no flag --offlien; did you mean offline?",
		"wake deployment/web --timeout x": `--timeout: "x" is no span, such as 90s or 5m`,
		"hold":                            "give TARGETs (KIND/NAME",
		"plan --for":                      "--for needs a value",
		"completion bash now":             "write kubectl flyball completion bash",
	} {
		if got := outcome(t, "", strings.Fields(line)...); strings.HasPrefix(got, "exit code 0") || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", line, got, want)
		}
	}
	if got := outcome(t, "", "--version"); !strings.HasPrefix(got, "exit code 0\n--- standard output\nkubectl flyball ") {
		t.Errorf("--version: %s", got)
	}
}
