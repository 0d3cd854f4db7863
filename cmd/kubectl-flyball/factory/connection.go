package factory

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/util/homedir"
)

// Connection has the flags of kubectl for the connection to a cluster. The flags of cli-runtime would bring kustomize into the binary.
type Connection struct {
	Overrides            clientcmd.ConfigOverrides
	kubeconfig, cacheDir string
	// extra are the extra fields of an impersonated user, as key=value.
	extra []string
	// warnings receives the API server's warnings.
	warnings io.Writer
}

func newConnection(warnings io.Writer) *Connection {
	return &Connection{Overrides: clientcmd.ConfigOverrides{ClusterDefaults: clientcmd.ClusterDefaults}, warnings: warnings}
}

func (c *Connection) addFlags(flags *pflag.FlagSet) {
	names := clientcmd.RecommendedConfigOverrideFlags("")
	names.AuthOverrideFlags.Username.LongName, names.AuthOverrideFlags.Password.LongName = "", "" // API servers have no passwords
	names.ClusterOverrideFlags.APIServer.ShortName = "s"
	clientcmd.BindOverrideFlags(&c.Overrides, flags, names)
	flags.StringArrayVar(&c.extra, "as-user-extra", nil, "Extra field of the user to impersonate, as key=value; may be repeated")
	flags.StringVar(&c.kubeconfig, clientcmd.RecommendedConfigPathFlag, "", "Path of the kubeconfig (default: KUBECONFIG)")
	flags.StringVar(&c.cacheDir, "cache-dir", filepath.Join(homedir.HomeDir(), ".kube", "cache"), "Directory of the discovery cache")
}

// Loader returns the kubeconfig with the flags applied.
func (c *Connection) Loader() clientcmd.ClientConfig {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.DefaultClientConfig, rules.ExplicitPath = &clientcmd.DefaultClientConfig, c.kubeconfig
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &c.Overrides)
}

// restConfig returns the configuration of clients.
func (c *Connection) restConfig() (*rest.Config, error) {
	extra := map[string][]string{}
	for _, text := range c.extra {
		key, value, found := strings.Cut(text, "=")
		if !found {
			return nil, fmt.Errorf("--as-user-extra: %q is not key=value", text)
		}
		extra[key] = append(extra[key], value)
	}
	if len(extra) > 0 {
		c.Overrides.AuthInfo.ImpersonateUserExtra = extra
	}
	config, err := c.Loader().ClientConfig()
	if err == nil {
		config.WarningHandler = rest.NewWarningWriter(c.warnings, rest.WarningWriterOptions{Deduplicate: true})
	}
	return config, err
}

// discovered is the age until which cached discovery counts, as in kubectl.
const discovered = 6 * time.Hour

// unsafeInNames are the characters of a server's address that are replaced in the name of its cache.
var unsafeInNames = regexp.MustCompile(`[^\w/.]`)

// Mapper returns the kinds of the cluster, from the discovery cache that kubectl uses too.
func (c *Connection) Mapper() (meta.RESTMapper, error) {
	config, err := c.restConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = requestsPerSecond, requestBurst
	_, host, found := strings.Cut(config.Host, "://")
	if !found {
		host = config.Host
	}
	server := filepath.Join(c.cacheDir, "discovery", unsafeInNames.ReplaceAllString(host, "_"))
	cached, err := disk.NewCachedDiscoveryClientForConfig(config, server, filepath.Join(c.cacheDir, "http"), discovered)
	if err != nil {
		return nil, err
	}
	warn := func(text string) { _, _ = fmt.Fprintln(c.warnings, text) }
	return restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, warn), nil
}
