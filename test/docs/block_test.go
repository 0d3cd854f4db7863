package docs

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// block is the text between two fences of a page.
type block struct {
	page string
	line int
	// language is the first word after the fence. scene is the second word: the scene of the commands if it differs
	// from the page's scene.
	language, scene string
	text            string
	// example is true for a block of commands without prompts, as in the pages of the command line.
	example bool
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// command is a typed command with the documented output.
type command struct {
	text, output string
}

// pages are the tested pages.
var pages = []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "docs/*.md", "docs/*/*.md", "test/*/*.md"}

// readBlocks returns the blocks of all pages in order.
func readBlocks(t *testing.T, root string) (all []block) {
	t.Helper()
	for _, pattern := range pages {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("find %s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			page, err := filepath.Rel(root, file)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, blocksOf(t, page, string(text))...)
		}
	}
	return all
}

func blocksOf(t *testing.T, page, text string) (all []block) {
	t.Helper()
	heading, in := "", false
	var b block
	number := 0
	for line := range strings.Lines(text) {
		number++
		fence, isFence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case isFence && !in:
			in = true
			b = block{page: page, line: number, example: heading == "### Examples"}
			words := strings.Fields(fence)
			if len(words) > 0 {
				b.language = words[0]
			}
			if len(words) > 1 {
				b.scene = words[1]
			}
		case isFence:
			in = false
			all = append(all, b)
		case in:
			b.text += line
		case strings.HasPrefix(line, "#"):
			heading = strings.TrimSpace(line)
		}
	}
	if in {
		t.Errorf("%s: the block of line %d has no end", page, b.line)
	}
	return all
}

// prompt is a line that somebody types, here says that its input follows, up to a line that has nothing but a word.
var (
	prompt = regexp.MustCompile(`^\$ `)
	here   = regexp.MustCompile(`<<'?(\w+)'?`)
)

// commands takes a block apart; a block of another language has none.
func (b block) commands() (all []command) {
	if !b.example && b.language != "console" && b.language != "sh" && b.language != "bash" {
		return nil
	}
	lines := bufio.NewScanner(strings.NewReader(b.text))
	for lines.Scan() {
		line := lines.Text()
		switch {
		case b.example:
			line = strings.TrimSpace(line)
		case b.language == "console" && prompt.MatchString(line):
			line = line[2:]
		case b.language == "console":
			if len(all) > 0 {
				all[len(all)-1].output += line + "\n"
			}
			continue
		}
		if line == "" {
			continue
		}
		c := command{text: line}
		for strings.HasSuffix(line, `\`) && lines.Scan() {
			line = lines.Text()
			c.text += "\n" + line
		}
		if m := here.FindStringSubmatch(c.text); m != nil {
			for lines.Scan() {
				c.text += "\n" + lines.Text()
				if lines.Text() == m[1] {
					break
				}
			}
		}
		all = append(all, c)
	}
	return all
}
