package factory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"flyball.dev/flyball/engine/workload"
)

// ExplainUsage makes a command and its subcommands answer wrong arguments with an error that shows the usage, and accept objects
// in the words of kubectl get.
func ExplainUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if check(cmd, joined(cmd, args)) == nil {
				return nil
			}
			return usageError(cmd, args)
		}
	}
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, joined(cmd, args)) }
	}
	for _, c := range cmd.Commands() {
		ExplainUsage(c)
	}
}

// joined returns the arguments of a verb with KIND NAME... as KIND/NAME....
func joined(cmd *cobra.Command, args []string) []string {
	first := slices.IndexFunc(strings.Fields(cmd.Use), func(word string) bool {
		return strings.Contains(word, "KIND/NAME") || strings.Contains(word, "TARGET") || strings.Contains(word, "POLICY")
	})
	if first < 1 || len(args) <= first || slices.ContainsFunc(args[first-1:], func(arg string) bool { return strings.Contains(arg, "/") }) {
		return args
	}
	all := slices.Clone(args[:first-1])
	for _, name := range args[first:] {
		all = append(all, args[first-1]+"/"+name)
	}
	return all
}

// Reference is the annotation of a command whose value is printed below its help with -o wide, and always in its page.
const Reference = "reference"

// AppendReference makes the help of a command and its subcommands print the value of the annotation Reference, with -o wide.
func AppendReference(cmd *cobra.Command) {
	if text := cmd.Annotations[Reference]; text != "" {
		help := cmd.HelpFunc()
		cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
			help(cmd, args)
			if output := cmd.Flag("output"); output != nil && output.Value.String() == "wide" {
				_, _ = fmt.Fprintf(cmd.OutOrStdout(), "\n%s", text)
			}
		})
	}
	for _, c := range cmd.Commands() {
		AppendReference(c)
	}
}

// usageError returns the error for arguments that a verb does not accept. The error has the verb's usage.
func usageError(cmd *cobra.Command, args []string) error {
	name, usage := cmd.CommandPath(), strings.TrimSuffix(cmd.UseLine(), " [flags]")
	_, takes, _ := strings.Cut(cmd.Use, " ")
	switch {
	case len(args) == 0:
		return fmt.Errorf("%s needs more: write %s; see %s --help", name, usage, name)
	case takes == "":
		return fmt.Errorf("%s takes no %q: write %s with flags alone; see %s --help", name, strings.Join(args, " "), usage, name)
	}
	return fmt.Errorf("%s does not take %q: write %s; see %s --help", name, strings.Join(args, " "), usage, name)
}

// FlagError returns an error that says in plain words why the flags cannot be parsed.
func FlagError(cmd *cobra.Command, err error) error {
	var (
		unknown  *pflag.NotExistError
		unvalued *pflag.ValueRequiredError
		invalid  *pflag.InvalidValueError
		said     string
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		said = fmt.Sprintf("there is no flag --%s%s", unknown.GetSpecifiedName(), workload.Meant(unknown.GetSpecifiedName(), flagsOf(cmd)))
	case errors.As(err, &unknown) && unknown.GetSpecifiedName() == "f" && cmd.Flag("offline") != nil:
		said = "there is no flag -f: manifests in place of a cluster go with --offline"
	case errors.As(err, &unknown):
		said = fmt.Sprintf("there is no flag -%s", unknown.GetSpecifiedName())
	case errors.As(err, &unvalued):
		said = fmt.Sprintf("--%s needs a value: %s", unvalued.GetFlag().Name, unvalued.GetFlag().Usage)
	case errors.As(err, &invalid):
		said = fmt.Sprintf("--%s: %q is no %s", invalid.GetFlag().Name, invalid.GetValue(), typeOf(invalid.GetFlag()))
	default:
		said = err.Error()
	}
	return fmt.Errorf("%s; see %s --help", said, cmd.CommandPath())
}

// typeOf returns words for the values that a flag accepts.
func typeOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "span, such as 90s or 5m"
	case "int", "int32", "int64", "uint":
		return "whole number"
	}
	return f.Value.Type()
}

func flagsOf(cmd *cobra.Command) (names []string) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return names
}
