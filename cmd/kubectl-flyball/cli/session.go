package cli

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

	"flyball.dev/flyball/cmd/kubectl-flyball/instant"
	"flyball.dev/flyball/cmd/kubectl-flyball/report"
	"flyball.dev/flyball/cmd/kubectl-flyball/source"
)

// session is one run of the command: the shared flags and the values derived from them.
type session struct {
	Env
	config           *connection
	output           string
	zoneName         string
	flyballNamespace string
	noColor          bool
	all              bool
	// world has the manifests of the world. It is empty if the world is a cluster.
	world []string

	format report.Format
	zone   *time.Location
	// namespaceErr is the reason why the namespace could not be determined.
	namespaceErr error
	// readsAsCaller makes reads use the caller's own identity. It is set for verbs in which --as names only the user whose
	// rights are asked about.
	readsAsCaller bool
	// noted is the last printed note about missing rights.
	noted string
}

// complete checks the shared flags. The parameter own is an additional output format of the verb.
func (s *session) complete(own string) error {
	var err error
	if s.format, err = report.ParseFormat(s.output); err != nil && (own == "" || s.output != own) {
		if own != "" {
			err = fmt.Errorf("%w, %s", err, own)
		}
		return err
	}
	for _, path := range s.world {
		if strings.HasPrefix(path, "--") {
			return fmt.Errorf("--offline needs files or directories of manifests, and %s is a flag", path)
		}
	}
	s.zone, err = instant.Zone(s.zoneName)
	return err
}

// print writes a finding in the requested format.
func (s *session) print(finding report.Finding) error {
	return report.Print(s.Out, finding, s.format, s.Color && !s.noColor)
}

// printManifests prints the finding's YAML for people, which has comments. It uses another format only if the user asks
// for another format.
func (s *session) printManifests(finding report.Finding) error {
	if s.format == report.YAML {
		return report.Print(s.Out, finding, report.Table, false)
	}
	return s.print(finding)
}

// answer returns the error that ends a verb after printing. It returns the error of printing, if any, then an exit code
// if the finding has a problem.
func answer(printed error, ill bool, code int) error {
	if printed != nil || !ill {
		return printed
	}
	return exit{code: code}
}

func (s *session) addAllFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVarP(&s.all, "all-namespaces", "A", false, "Look at all namespaces")
}

// within returns the namespace to read. Empty means all namespaces, and so are manifests read unless -n names one.
func (s *session) within() string {
	if s.all || s.offline() && s.config.overrides.Context.Namespace == "" {
		return ""
	}
	return s.namespace()
}

// namespace returns the namespace of -n or of the kubeconfig's context. Offline it needs no kubeconfig. Otherwise an
// unreadable kubeconfig is an error, which the method cluster returns later.
func (s *session) namespace() string {
	ns, _, err := s.config.loader().Namespace()
	if err != nil {
		s.namespaceErr = fmt.Errorf("find the namespace: %w", err)
		return "default"
	}
	return ns
}

// offline reports whether the world is made of manifests alone.
func (s *session) offline() bool { return len(s.world) > 0 }

// manifests are the files of a verb, besides the world.
type manifests struct{ paths []string }

func (m *manifests) addFlags(cmd *cobra.Command, usage string) {
	cmd.Flags().StringSliceVarP(&m.paths, "filename", "f", nil, usage)
	_ = cmd.MarkFlagFilename("filename", "yaml", "yml", "json")
}

// at parses a flag's value as an instant.
func (s *session) at(flag, text string) (time.Time, error) {
	t, err := instant.Parse(text, s.Now(), s.zone)
	if err != nil {
		return t, fmt.Errorf("--%s: %w", flag, err)
	}
	return t, nil
}

// between parses the values of --from and --for. The beginning is truncated to the second.
func (s *session) between(from, span string) (begin, end time.Time, err error) {
	if begin, err = s.at("from", from); err != nil {
		return begin, end, err
	}
	d, err := instant.Span(span)
	if err != nil {
		return begin, end, fmt.Errorf("--for: %w", err)
	}
	begin = begin.Truncate(time.Second)
	return begin, begin.Add(d), nil
}

func (s *session) files(paths []string, namespace string) source.Files {
	return source.Files{Paths: paths, Stdin: s.In, Namespace: namespace, FlyballNamespace: s.flyballNamespace, Now: s.Now()}
}

// load reads the world of a query and prints a note about missing rights. If the session is offline, it reads files.
func (s *session) load(ctx context.Context, q source.Query) (*source.World, error) {
	w, err := s.read(ctx, q)
	if err == nil {
		s.noteMissing(w.Unseen)
	}
	return w, err
}

// noteMissing prints a note about missing rights. It prints the same note only once.
func (s *session) noteMissing(unseen source.MissingRights) {
	if text := unseen.Note(); text != "" && text != s.noted {
		s.noted = text
		_, _ = fmt.Fprintln(s.ErrOut, "note:", report.Clean(text))
	}
}

// read reads the world of a query. If the session is offline, it reads files.
func (s *session) read(ctx context.Context, q source.Query) (*source.World, error) {
	if s.offline() {
		from := s.files(s.world, s.namespace())
		from.Also, from.Namespaces, from.Within = q.Also, q.Namespaces, q.Namespace
		return from.Load()
	}
	cluster, err := s.cluster()
	if err != nil {
		return nil, err
	}
	p := s.startProgress()
	defer p.done()
	cluster.Progress = func(what string) { p.doing("reading " + what) }
	return cluster.Load(ctx, q)
}

// cluster returns a reader of the cluster that the connection flags name.
func (s *session) cluster() (source.Cluster, error) {
	if s.namespaceErr != nil {
		return source.Cluster{}, s.namespaceErr
	}
	config, err := s.restConfig()
	if err != nil {
		return source.Cluster{}, err
	}
	if s.readsAsCaller {
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
	mapper, err := s.config.mapper()
	if err != nil {
		return source.Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return source.Cluster{Client: client, Mapper: mapper, Metadata: objects, FlyballNamespace: s.flyballNamespace, Now: s.Now}, nil
}

// clusterName returns the name of the cluster in the kubeconfig. Offline it is empty.
func (s *session) clusterName() string {
	if s.offline() {
		return ""
	}
	raw, err := s.config.loader().RawConfig()
	if err != nil {
		return "a cluster"
	}
	name := ""
	if context := raw.Contexts[cmp.Or(s.config.overrides.CurrentContext, raw.CurrentContext)]; context != nil {
		name = context.Cluster
	}
	return cmp.Or(s.config.overrides.Context.Cluster, name, "a cluster")
}

// requestsPerSecond and requestBurst limit the requests of a verb to the API server.
const requestsPerSecond, requestBurst = 50, 300

func (s *session) restConfig() (*rest.Config, error) {
	config, err := s.config.restConfig()
	if err != nil {
		return nil, fmt.Errorf("find the cluster: %w; set KUBECONFIG or --kubeconfig, or work from files with --offline DIR", err)
	}
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	return config, nil
}

// showNotes prints the notes about how the world was read.
func (s *session) showNotes(w *source.World) {
	for _, note := range w.Notes {
		_, _ = fmt.Fprintln(s.ErrOut, "note:", report.Clean(note))
	}
}
