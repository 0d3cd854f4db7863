package structure_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// style is a count of words that make sentences hard to read, per 1,000 words of a text.
type style struct {
	name     string
	word     *regexp.Regexp
	comments [2]float64 // least and most
	docs     [2]float64
	messages [2]float64
}

var pronouns = regexp.MustCompile(`(?i)^(that|those|ones?|its?|they|them|this|these|others?|another|there|who|which|such)$`)

// styles are the counts of the style in CONTRIBUTING.md. A sentence with a noun in the place of a pronoun is easier to read.
var styles = []style{
	{"what", regexp.MustCompile(`(?i)^(what|whatever|whom|whoever|nobody|somebody|whose)$`),
		[2]float64{0, 3}, [2]float64{0, 3}, [2]float64{0, 3}},
	{"tell", regexp.MustCompile(`(?i)^(tell|tells|told|telling)$`), [2]float64{0, 0.4}, [2]float64{0, 0.4}, [2]float64{0, 0.4}},
	{"that", pronouns, [2]float64{0, 55}, [2]float64{0, 50}, [2]float64{0, 72}},
	{"returns", regexp.MustCompile(`(?i)^(returns?|reports?)$`), [2]float64{5, 1000}, [2]float64{0, 1000}, [2]float64{0, 1000}},
}

// mostWords limits the words of all written documents, without code, and readmeWords those of README.md. Each fact needs one place.
const mostWords, readmeWords = 40_000, 1_000

// generated are the documents that make generate writes.
var generated = regexp.MustCompile(`^\.\./\.\./docs/(cli/|(kinds|holidays)\.md$)`)

var (
	wordRE    = regexp.MustCompile(`[A-Za-z']+`)
	commentRE = regexp.MustCompile(`^\s*//\s?(.*)`)
	directive = regexp.MustCompile(`^(nolint|\+|go:)`)
	codeRE    = regexp.MustCompile("`[^`]*`")
	// sentenceRE finds three words in a row.
	sentenceRE = regexp.MustCompile(`[A-Za-z']+ [A-Za-z']+ [A-Za-z']+`)
)

// TestProse holds the style of comments, of messages (logs, conditions, events, errors and texts of the CLI) and of documents,
// and the length of documents.
func TestProse(t *testing.T) {
	comments := texts(t, ".go", commentsOf, "../../engine", "../../cmd", "../../crds")
	messages := texts(t, ".go", messagesOf, "../../engine", "../../cmd", "../../crds")
	docs := texts(t, ".md", proseOf, "../../docs", "../../README.md", "../../CONTRIBUTING.md", "../../SECURITY.md", "../../CHANGELOG.md")
	for _, s := range styles {
		s.check(t, "comments", comments, s.comments)
		s.check(t, "messages", messages, s.messages)
		s.check(t, "documents", docs, s.docs)
	}
	total := 0
	for file, words := range docs {
		if !generated.MatchString(file) {
			total += len(words)
		}
	}
	if total > mostWords {
		t.Errorf("the documents have %d words, at most %d are wanted", total, mostWords)
	}
	if n := len(docs["../../README.md"]); n > readmeWords {
		t.Errorf("README.md has %d words, at most %d are wanted", n, readmeWords)
	}
}

// failureRE finds a logged error whose text has another form than "Failed to <verb> <object>".
var failureRE = regexp.MustCompile(`\b(?:[lL]og|[lL]og\(\)|FromContext\(ctx\))\.Error\([\w.]+, "([^"]*)"`)

func TestFailuresAreLoggedByVerbAndObject(t *testing.T) {
	found := 0
	for file, messages := range loggedFailures(t, "../../engine", "../../cmd") {
		for _, m := range messages {
			if found++; !strings.HasPrefix(m, "Failed to ") {
				t.Errorf("%s: logs %q instead of \"Failed to <verb> <object>\"", file, m)
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d logged failures were found", found)
	}
}

// loggedFailures returns the texts of logged errors by file.
func loggedFailures(t *testing.T, roots ...string) map[string][]string {
	all := map[string][]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
				return err
			}
			raw, err := os.ReadFile(file)
			for _, m := range failureRE.FindAllStringSubmatch(string(raw), -1) {
				all[file] = append(all[file], m[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

var (
	testRE     = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	nameWordRE = regexp.MustCompile(`[A-Z][a-z0-9]*`)
	riddle     = regexp.MustCompile(`^(What|Whatever|Who|Whom|Whose|Whoever|Told|Tell|Tells|Nobody|Somebody)$`)
	// ginkgoRE finds the entry of a Ginkgo suite, which is named after its subject. Its specs are sentences.
	ginkgoRE = regexp.MustCompile(`\b(RunSpecs|suite\.Run)\(`)
)

// TestNamesOfTestsSayTheirProof finds test names of a single word, and names with a pronoun in the place of a noun.
func TestNamesOfTestsSayTheirProof(t *testing.T) {
	for file, text := range testFiles(t) {
		for _, m := range testRE.FindAllStringSubmatch(text, -1) {
			words := nameWordRE.FindAllString(strings.TrimPrefix(m[1], "Test"), -1)
			entry := ginkgoRE.MatchString(text) || m[1] == "TestMain" || m[1] == "TestProse"
			if len(words) < 2 && !entry || slices.ContainsFunc(words, riddle.MatchString) {
				t.Errorf("%s: the name %s does not say what the test proves", file, m[1])
			}
		}
	}
}

// testFiles returns the text of each test file of the repository, by its path.
func testFiles(t *testing.T) map[string]string {
	all := map[string]string{}
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		raw, err := os.ReadFile(file)
		all[filepath.ToSlash(file)] = string(raw)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// check compares the share of a style's words with its bounds, and names the files with most of them.
func (s style) check(t *testing.T, of string, all map[string][]string, bounds [2]float64) {
	found, total := map[string]int{}, 0
	sum := 0
	for file, words := range all {
		total += len(words)
		for _, w := range words {
			if s.word.MatchString(w) {
				found[file]++
				sum++
			}
		}
	}
	share := 1000 * float64(sum) / float64(total)
	if total > 10_000 && bounds[0] <= share && share <= bounds[1] {
		return
	}
	files := slices.SortedFunc(maps.Keys(found), func(a, b string) int { return cmp.Compare(found[b], found[a]) })
	t.Errorf("%s: %.1f of 1,000 words are like %q, wanted are %v to %v; most are in %v",
		of, share, s.name, bounds[0], bounds[1], files[:min(5, len(files))])
}

// texts returns the words of each file with a suffix, by its path.
func texts(t *testing.T, suffix string, linesOf func(text string) []string, roots ...string) map[string][]string {
	all := map[string][]string{}
	for _, root := range roots {
		err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
			isText := strings.HasSuffix(file, suffix) && !strings.HasSuffix(file, "_test.go") && !strings.HasPrefix(d.Name(), "zz_")
			if err != nil || d.IsDir() || !isText {
				return err
			}
			raw, err := os.ReadFile(file)
			all[filepath.ToSlash(file)] = wordRE.FindAllString(strings.Join(linesOf(string(raw)), "\n"), -1)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// commentsOf returns the lines of a Go file that are comments, without directives.
func commentsOf(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if m := commentRE.FindStringSubmatch(line); m != nil && !directive.MatchString(m[1]) {
			lines = append(lines, m[1])
		}
	}
	return lines
}

// messagesOf returns the text constants of a Go file that are sentences or parts of sentences: they have at least three words
// in a row. Import paths, tags of fields, and one-word constants such as names are left out.
func messagesOf(text string) (messages []string) {
	file, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec, *ast.StructType:
			return false
		case *ast.BasicLit:
			if value, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && sentenceRE.MatchString(value) {
				messages = append(messages, value)
			}
		}
		return true
	})
	return messages
}

// proseOf returns the lines of a document outside of code.
func proseOf(text string) (lines []string) {
	code := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
		} else if !code {
			lines = append(lines, codeRE.ReplaceAllString(line, ""))
		}
	}
	return lines
}
