package serve

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"slices"
)

// clientAuth restricts the clients in a TLS configuration. A client needs a certificate signed by an authority in the
// file. If names are given, the certificate must have one of them. If optional is true, clients without a certificate
// are accepted too. Without a file every client is accepted.
func clientAuth(config *tls.Config, file string, names []string, optional bool) error {
	if file == "" {
		return nil
	}
	bundle, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the authorities of the API servers' certificates: %w", err)
	}
	config.ClientCAs = x509.NewCertPool()
	if !config.ClientCAs.AppendCertsFromPEM(bundle) {
		return fmt.Errorf("read the authorities of the API servers' certificates: %s has none", file)
	}
	config.ClientAuth = tls.RequireAndVerifyClientCert
	if optional {
		config.ClientAuth = tls.VerifyClientCertIfGiven
	}
	if len(names) > 0 {
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return nil // certificates are optional
			}
			if name := state.PeerCertificates[0].Subject.CommonName; !slices.Contains(names, name) {
				return fmt.Errorf("the client is %q, not an API server", name)
			}
			return nil
		}
	}
	return nil
}
