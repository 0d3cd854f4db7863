package notifications

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"path"
	"strings"
	"syscall"
	"time"
)

const (
	// sendTimeout is the time limit of one attempt to send a message.
	sendTimeout = 10 * time.Second
	// maxHeader and maxBody limit the answer of a receiver, in bytes.
	maxHeader, maxBody = 32 << 10, 64 << 10
)

// Dialer makes connections to allowed addresses. The address is checked after the name was resolved, for each connection, so neither a
// redirect nor a changed DNS answer leads to another address.
type Dialer struct {
	// Resolver resolves names. Nil: the machine's.
	Resolver *net.Resolver

	hosts []string
	nets  []netip.Prefix
}

// NewDialer returns a Dialer that allows public addresses and some others. An entry is a network, such as 10.1.0.0/16, or a host name or
// glob, such as *.corp.example. A host opens all its addresses except link-local, multicast and unspecified ones. Any
// other entry is an error.
func NewDialer(allowed []string) (*Dialer, error) {
	g := &Dialer{}
	for _, entry := range allowed {
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			g.nets = append(g.nets, prefix.Masked())
			continue
		}
		if addr, err := netip.ParseAddr(entry); err == nil {
			g.nets = append(g.nets, netip.PrefixFrom(addr, addr.BitLen()))
			continue
		}
		if _, err := path.Match(entry, ""); err != nil || entry == "" || strings.ContainsAny(entry, "/:@") {
			return nil, fmt.Errorf("%q is neither a network, such as 10.1.0.0/16, nor a host or glob, such as *.corp.example", entry)
		}
		g.hosts = append(g.hosts, strings.ToLower(entry))
	}
	return g, nil
}

// RefusedError is the error for an address to which no message is sent.
type RefusedError struct{ Address, Kind string }

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("the address %s is %s: messages are not sent there unless --notification-allowed-hosts of the manager (chart: "+
		"notifications.allowedHosts) opens it", e.Address, e.Kind)
}

// DialContext makes a connection to an allowed address. A forbidden or unreachable address is an error.
func (g *Dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	named := g.allowsHost(host)
	dialer := net.Dialer{Timeout: sendTimeout, Resolver: g.Resolver, Control: func(_, resolved string, _ syscall.RawConn) error {
		return g.check(resolved, named)
	}}
	return dialer.DialContext(ctx, network, address)
}

func (g *Dialer) allowsHost(host string) bool {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	for _, glob := range g.hosts {
		if ok, err := path.Match(glob, host); err == nil && ok {
			return true
		}
	}
	return false
}

// check returns an error for a resolved address that is not allowed. named is true if the host is allowed by its name.
func (g *Dialer) check(resolved string, named bool) error {
	at, err := netip.ParseAddrPort(resolved)
	if err != nil {
		return &RefusedError{resolved, "no IP address"}
	}
	addr := at.Addr().WithZone("").Unmap()
	for _, prefix := range g.nets {
		if prefix.Contains(addr) {
			return nil
		}
	}
	kind, never := kindOf(addr)
	if kind == "" || named && !never {
		return nil
	}
	return &RefusedError{addr.String(), kind}
}

// special are networks that are not public, besides those that netip knows.
var special = []struct {
	prefix netip.Prefix
	kind   string
}{
	{netip.MustParsePrefix("0.0.0.0/8"), "of this network"}, {netip.MustParsePrefix("100.64.0.0/10"), "shared (RFC 6598)"},
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved"}, {netip.MustParsePrefix("168.63.129.16/32"), "of the host"},
	{netip.MustParsePrefix("198.18.0.0/15"), "for benchmarks"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"}, {netip.MustParsePrefix("fec0::/10"), "site-local"},
	{netip.MustParsePrefix("64:ff9b:1::/48"), "translated"},
}

// embedding are networks of IPv6 that stand for IPv4 addresses, with the place of the address in bytes.
var embedding = map[netip.Prefix]int{
	netip.MustParsePrefix("64:ff9b::/96"): 12, netip.MustParsePrefix("2002::/16"): 2, netip.MustParsePrefix("::/96"): 12,
}

// kindOf returns why an address is not public; empty: it is. never is true for an address that no host name opens.
func kindOf(addr netip.Addr) (kind string, never bool) {
	switch {
	case addr.IsUnspecified():
		return "unspecified", true
	case addr.IsLinkLocalUnicast():
		return "link-local", true
	case addr.IsMulticast():
		return "multicast", true
	case addr.IsLoopback():
		return "a loopback address", false
	case addr.IsPrivate():
		return "private", false
	}
	for _, s := range special {
		if s.prefix.Contains(addr) {
			return s.kind, false
		}
	}
	for prefix, at := range embedding {
		if prefix.Contains(addr) {
			bytes := addr.As16()
			return kindOf(netip.AddrFrom4([4]byte(bytes[at : at+4])))
		}
	}
	return "", false
}

// Transport returns an HTTP transport through the Dialer. It keeps no connection and uses no proxy, because a proxy resolves names itself.
func (g *Dialer) Transport() *http.Transport {
	return &http.Transport{
		DialContext: g.DialContext, TLSHandshakeTimeout: sendTimeout, ResponseHeaderTimeout: sendTimeout, MaxResponseHeaderBytes: maxHeader,
		DisableKeepAlives: true, ForceAttemptHTTP2: true,
	}
}

// permanent marks an error that another attempt would meet again.
type permanent struct{ error }

// Unwrap returns the error.
func (p permanent) Unwrap() error { return p.error }

// IsPermanent reports whether another attempt to send a message makes no sense.
func IsPermanent(err error) bool {
	var p permanent
	var refused *RefusedError
	return errors.As(err, &p) || errors.As(err, &refused)
}
