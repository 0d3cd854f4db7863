package docs

import (
	"bufio"
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestTryServesTheWeekOfTheDemo runs make try as the README has it, and reads the first page at the printed address.
func TestTryServesTheWeekOfTheDemo(t *testing.T) {
	t.Parallel()
	c := exec.CommandContext(t.Context(), "make", "--no-print-directory", "try", "TRY_FLAGS=--no-browser --time-zone=UTC", "BIN="+t.TempDir())
	c.Dir = "../.."
	c.Env = append(os.Environ(), "KUBECONFIG=/dev/null")
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Stderr = t.Output()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-c.Process.Pid, syscall.SIGINT)
		_ = c.Wait()
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	browser := &http.Client{Jar: jar}
	address := addressIn(t, out)
	get(t, browser, address) // it sets the cookie, and sends the browser to the page without the token
	root, _, _ := strings.Cut(address, "?")
	page := get(t, browser, root)
	for _, name := range []string{"web", "orders", "shop-open"} {
		if !strings.Contains(page, name) {
			t.Errorf("the first page lacks %s:\n%s", name, page)
		}
	}
}

// addressIn returns the first address that a command prints.
func addressIn(t *testing.T, out io.Reader) string {
	t.Helper()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "http://") {
			return lines.Text()
		}
	}
	t.Fatalf("no address is printed: %v", lines.Err())
	return ""
}

// get returns the page at an address.
func get(t *testing.T, browser *http.Client, address string) string {
	t.Helper()
	answer, err := browser.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v", answer.Status, text, err)
	}
	return string(text)
}
