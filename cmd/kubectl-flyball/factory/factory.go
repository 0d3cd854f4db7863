package factory

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"flyball.dev/flyball/cmd/kubectl-flyball/printer"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// FieldManager is the field manager of the plugin's writes.
const FieldManager = "kubectl-flyball"

// Factory is one run of the command: the streams, the shared flags, and the values derived from them, which are valid once the
// flags are parsed.
type Factory struct {
	Env
	// Connection has the flags of kubectl for the connection.
	Connection *Connection
	// Output is the value of -o, and Format its format.
	Output string
	Format printer.Format
	// Zone is the time zone in which instants are read and shown.
	Zone *time.Location
	// FlyballNamespace is the namespace that Flyball runs in.
	FlyballNamespace string
	// All is true if all namespaces are asked about.
	All bool
	// World has the manifests of the world. It is empty if the world is a cluster.
	World []string
	// ReadsAsCaller makes reads use the caller's own identity. It is set for verbs in which --as names only the user whose
	// rights are asked about.
	ReadsAsCaller bool

	zoneName string
	noColor  bool
	// namespaceErr is the reason why the namespace could not be determined.
	namespaceErr error
	// noted is the last printed note about missing rights.
	noted string
}

// New returns the factory of a root command, with the flags of all verbs.
func New(env Env, root *cobra.Command) *Factory {
	f := &Factory{Env: env, Connection: newConnection(env.ErrOut)}
	flags := root.PersistentFlags()
	f.Connection.addFlags(flags)
	flags.Lookup("cache-dir").DefValue = "$HOME/.kube/cache" // so that the help is the same on every machine
	flags.StringVarP(&f.Output, "output", "o", string(printer.Table), "Output format: table, wide, json, yaml or name")
	flags.StringVar(&f.zoneName, "time-zone", "", "IANA time zone in which local times are read and instants shown (default: this machine's)")
	flags.StringVar(&f.FlyballNamespace, "flyball-namespace", source.DefaultNamespace, "Namespace in which Flyball runs")
	flags.StringSliceVar(&f.World, "offline", nil,
		"Ask no cluster: work from these files and directories of manifests (- is standard input) and the adapters that come with Flyball")
	_ = root.MarkPersistentFlagFilename("offline", "yaml", "yml", "json")
	flags.BoolVar(&f.noColor, "no-color", false, "No colours; the environment variable NO_COLOR does the same")
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return f.ready(cmd.Annotations[MoreFormats]) }
	return f
}

// ready checks the shared flags. The parameter own is an additional output format of the verb.
func (f *Factory) ready(own string) error {
	var err error
	if f.Format, err = printer.ParseFormat(f.Output); err != nil && (own == "" || f.Output != own) {
		if own != "" {
			err = fmt.Errorf("%w, %s", err, own)
		}
		return err
	}
	for _, path := range f.World {
		if strings.HasPrefix(path, "--") {
			return fmt.Errorf("--offline needs files or directories of manifests, and %s is a flag", path)
		}
	}
	f.Zone, err = printer.ParseZone(f.zoneName)
	return err
}

// Print writes a finding in the requested format.
func (f *Factory) Print(finding printer.Finding) error {
	return printer.Print(f.Out, finding, f.Format, f.Color && !f.noColor)
}

// PrintManifests prints the finding's YAML for people, which has comments. It uses another format only if the user asks
// for another format.
func (f *Factory) PrintManifests(finding printer.Finding) error {
	if f.Format == printer.YAML {
		return printer.Print(f.Out, finding, printer.Table, false)
	}
	return f.Print(finding)
}

// AddAllFlag adds the flag -A.
func (f *Factory) AddAllFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&f.All, "all-namespaces", "A", false, "Look at all namespaces")
}

// Within returns the namespace to read. Empty means all namespaces, and so are manifests read unless -n names one.
func (f *Factory) Within() string {
	if f.All || f.Offline() && f.Connection.Overrides.Context.Namespace == "" {
		return ""
	}
	return f.Namespace()
}

// Namespace returns the namespace of -n or of the kubeconfig's context. Offline it needs no kubeconfig. Otherwise an
// unreadable kubeconfig is an error, which the method Cluster returns later.
func (f *Factory) Namespace() string {
	ns, _, err := f.Connection.Loader().Namespace()
	if err != nil {
		f.namespaceErr = fmt.Errorf("find the namespace: %w", err)
		return "default"
	}
	return ns
}

// Offline reports whether the world is made of manifests alone.
func (f *Factory) Offline() bool { return len(f.World) > 0 }

// At parses a flag's value as an instant.
func (f *Factory) At(flag, text string) (time.Time, error) {
	t, err := printer.ParseInstant(text, f.Now(), f.Zone)
	if err != nil {
		return t, fmt.Errorf("--%s: %w", flag, err)
	}
	return t, nil
}

// Between parses the values of --from and --for. The beginning is truncated to the second.
func (f *Factory) Between(from, span string) (begin, end time.Time, err error) {
	if begin, err = f.At("from", from); err != nil {
		return begin, end, err
	}
	d, err := printer.ParseSpan(span)
	if err != nil {
		return begin, end, fmt.Errorf("--for: %w", err)
	}
	begin = begin.Truncate(time.Second)
	return begin, begin.Add(d), nil
}

// Files returns a reader of manifests.
func (f *Factory) Files(paths []string, namespace string) source.Files {
	return source.Files{Paths: paths, Stdin: f.In, Namespace: namespace, FlyballNamespace: f.FlyballNamespace, Now: f.Now()}
}

// Load reads the world of a query and prints a note about missing rights. Offline it reads files.
func (f *Factory) Load(ctx context.Context, q source.Query) (*source.World, error) {
	w, err := f.Read(ctx, q)
	if err == nil {
		f.NoteMissing(w.Unseen)
	}
	return w, err
}

// NoteMissing prints a note about missing rights. It prints the same note only once.
func (f *Factory) NoteMissing(unseen source.MissingRights) {
	if text := unseen.Note(); text != "" && text != f.noted {
		f.noted = text
		_, _ = fmt.Fprintln(f.ErrOut, "note:", printer.Clean(text))
	}
}

// Read reads the world of a query. Offline it reads files.
func (f *Factory) Read(ctx context.Context, q source.Query) (*source.World, error) {
	if f.Offline() {
		from := f.Files(f.World, f.Namespace())
		from.Also, from.Namespaces, from.Within = q.Also, q.Namespaces, q.Namespace
		return from.Load()
	}
	cluster, err := f.Cluster()
	if err != nil {
		return nil, err
	}
	p := f.StartProgress()
	defer p.Done()
	cluster.Progress = func(what string) { p.Doing("reading " + what) }
	return cluster.Load(ctx, q)
}

// Cluster returns a reader of the cluster that the connection flags name.
func (f *Factory) Cluster() (source.Cluster, error) {
	if f.namespaceErr != nil {
		return source.Cluster{}, f.namespaceErr
	}
	config, err := f.RestConfig()
	if err != nil {
		return source.Cluster{}, err
	}
	if f.ReadsAsCaller {
		config.Impersonate = rest.ImpersonationConfig{}
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	objects, err := metadata.NewForConfig(config)
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	mapper, err := f.Connection.Mapper()
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return source.Cluster{Client: client, Mapper: mapper, Metadata: objects, FlyballNamespace: f.FlyballNamespace, Now: f.Now}, nil
}

// ClusterName returns the name of the cluster in the kubeconfig. Offline it is empty.
func (f *Factory) ClusterName() string {
	if f.Offline() {
		return ""
	}
	raw, err := f.Connection.Loader().RawConfig()
	if err != nil {
		return "a cluster"
	}
	name := ""
	if context := raw.Contexts[cmp.Or(f.Connection.Overrides.CurrentContext, raw.CurrentContext)]; context != nil {
		name = context.Cluster
	}
	return cmp.Or(f.Connection.Overrides.Context.Cluster, name, "a cluster")
}

// requestsPerSecond and requestBurst limit the requests of a verb to the API server.
const requestsPerSecond, requestBurst = 50, 300

// RestConfig returns the configuration of clients. The error says how to give one.
func (f *Factory) RestConfig() (*rest.Config, error) {
	config, err := f.Connection.restConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; set KUBECONFIG or --kubeconfig, or work from files with --offline DIR", err)
	}
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	return config, nil
}

// ShowNotes prints the notes about how the world was read.
func (f *Factory) ShowNotes(w *source.World) {
	for _, note := range w.Notes {
		_, _ = fmt.Fprintln(f.ErrOut, "note:", printer.Clean(note))
	}
}
