package notifications

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/wneessen/go-mail"
)

// Email is a mail server with a sender and receivers.
type Email struct {
	host    string
	from    string
	to      []string
	options []mail.Option
	// roots are the authorities of certificates for smtps; nil: those of the machine.
	roots *x509.CertPool
}

// dial makes a connection.
type dial func(ctx context.Context, network, address string) (net.Conn, error)

// maxReceivers is the largest number of receivers of a mail.
const maxReceivers = 50

// NewEmail returns an Email. The address is smtp://USER:PASSWORD@HOST:PORT/?from=ADDRESS&to=ADDRESS,ADDRESS with STARTTLS, or smtps:// with
// TLS from the first byte. With tls=optional, a server without STARTTLS gets the message in clear text, but never a
// password. Any other address is an UnusableValue, as an error.
func NewEmail(g *Dialer, address string) (*Email, error) {
	fault := func(text string) error {
		return UnusableValue{"spec.to.service.urlFrom",
			text + ": write smtp://USER:PASSWORD@HOST:587/?from=ADDRESS&to=ADDRESS into the Secret"}
	}
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil || u.Hostname() == "" || u.Scheme != "smtp" && u.Scheme != "smtps" {
		return nil, fault("the value in the Secret is no URL of a mail server")
	}
	// A plus is a part of many mail addresses, but a space in the query of a URL.
	query, err := url.ParseQuery(strings.ReplaceAll(u.RawQuery, "+", "%2B"))
	if err != nil {
		return nil, fault("the part after the question mark cannot be read")
	}
	e := &Email{host: u.Hostname(), from: query.Get("from")}
	for _, to := range strings.Split(strings.Join(query["to"], ","), ",") {
		if to = strings.TrimSpace(to); to != "" {
			e.to = append(e.to, to)
		}
	}
	if e.from == "" || len(e.to) == 0 {
		return nil, fault("the URL in the Secret needs from and to")
	}
	if len(e.to) > maxReceivers {
		return nil, fault(fmt.Sprintf("to in the Secret has %d addresses, more than %d; use a mailing list", len(e.to), maxReceivers))
	}
	if _, err := e.message(&Envelope{}); err != nil {
		return nil, fault("from or to in the Secret is no mail address")
	}
	port, dial := 587, bounded(g, sendTimeout)
	if u.Scheme == "smtps" {
		port, dial = 465, e.encrypted(dial)
	}
	if given := u.Port(); given != "" {
		if port, err = strconv.Atoi(given); err != nil {
			return nil, fault("the port in the Secret is no number")
		}
	}
	policy := mail.TLSMandatory
	if query.Get("tls") == "optional" || u.Scheme == "smtps" {
		policy = mail.TLSOpportunistic
	}
	e.options = []mail.Option{mail.WithTLSPolicy(policy), mail.WithPort(port), mail.WithTimeout(sendTimeout), mail.WithHELO("flyball"),
		mail.WithDialContextFunc(mail.DialContextFunc(dial))}
	if password, ok := u.User.Password(); ok {
		e.options = append(e.options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()),
			mail.WithPassword(password))
	}
	return e, nil
}

// bounded returns a function that makes a connection with an end, from which at most maxBody bytes are read. The mail library has no such
// limits before it sends the message. It extends the time for the message itself.
func bounded(g *Dialer, limit time.Duration) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := g.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connect to %s: %w", address, err)
		}
		return &limited{conn, maxBody}, nil
	}
}

// limited is a connection from which at most left bytes are read.
type limited struct {
	net.Conn
	left int
}

// Read implements net.Conn.
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the answers of the mail server are too long")
	}
	n, err := l.Conn.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

// encrypted returns a function that connects with TLS.
func (e *Email) encrypted(connect dial) dial {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		plain, err := connect(ctx, network, address)
		if err != nil {
			return nil, err
		}
		conn := tls.Client(plain, &tls.Config{ServerName: e.host, MinVersion: tls.VersionTLS12, RootCAs: e.roots})
		if err := conn.HandshakeContext(ctx); err != nil {
			_ = plain.Close()
			return nil, fmt.Errorf("connect to %s with TLS: %w", address, err)
		}
		return conn, nil
	}
}

// message returns the mail.
func (e *Email) message(of *Envelope) (*mail.Msg, error) {
	m := mail.NewMsg()
	if err := m.From(e.from); err != nil {
		return nil, err
	}
	if err := m.To(e.to...); err != nil {
		return nil, err
	}
	m.Subject(fmt.Sprintf("Flyball: %s of %s", of.Data.Event, of.Data.Policy))
	m.SetDateWithValue(of.Time)
	m.SetMessageIDWithValue(of.ID + "@flyball.dev")
	m.SetBodyString(mail.TypeTextPlain, of.Text)
	return m, nil
}

// Send makes one attempt to send a message. The error is the mail server's refusal, or a lost connection.
func (e *Email) Send(ctx context.Context, of *Envelope) error {
	m, err := e.message(of)
	if err != nil {
		return permanent{err}
	}
	client, err := mail.NewClient(e.host, e.options...)
	if err != nil {
		return permanent{fmt.Errorf("use the mail server: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, 2*sendTimeout)
	defer cancel()
	if err := client.DialAndSendWithContext(ctx, m); err != nil {
		var answer *mail.SendError
		if errors.As(err, &answer) && !answer.IsTemp() && answer.ErrorCode() >= 500 {
			return permanent{fmt.Errorf("the mail server refused the message: %w", err)}
		}
		return fmt.Errorf("send the mail: %w", err)
	}
	return nil
}
