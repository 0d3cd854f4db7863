package analysis

import (
	"bufio"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"flyball.dev/flyball/cmd/kubectl-flyball/source"
	"flyball.dev/flyball/engine/policy/tortoise/tune"
	"flyball.dev/flyball/engine/workload"
)

// Formats of files.
const (
	CSV       = "csv"
	JSONLines = "jsonl"
)

const (
	// mostFaults is the largest number of reported faults of one file. A file in another format has a fault in every line.
	mostFaults = 20
	// told is the number of samples after which a further line of progress is printed.
	told = 100_000
)

// mostSamples is the largest number of samples in all files together. It allows MostInstants samples for each of the
// largest number of containers.
var mostSamples = tune.MaxContainers * MostInstants

// ReadFiles reads samples from files. The path - means standard input. An empty format means the format of the name's
// ending (.csv, .jsonl, .ndjson). A sample of an unknown container is an error. The function progress receives lines of
// progress.
func ReadFiles(paths []string, stdin io.Reader, format string, containers []string, progress func(string)) ([]workload.Sample, error) {
	var all []sample
	var faults []error
	for _, path := range paths {
		r := reader{file: path, containers: containers, all: all, progress: progress}
		r.read(stdin, format)
		all, faults = r.all, append(faults, r.faults...)
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return ordered(all)
}

// open opens a file, or standard input. It unpacks compressed files.
func open(path string, stdin io.Reader) (in *bufio.Reader, done func(), err error) {
	in, done = bufio.NewReader(stdin), func() {}
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			var at *fs.PathError
			if errors.As(err, &at) {
				err = at.Err
			}
			return nil, done, err
		}
		in, done = bufio.NewReader(f), func() { _ = f.Close() } // an error of closing does not matter after reading
	}
	if magic, _ := in.Peek(2); string(magic) == "\x1f\x8b" {
		unpacked, err := gzip.NewReader(in)
		if err != nil {
			return nil, done, fmt.Errorf("unpack it: %w", err)
		}
		in = bufio.NewReader(unpacked)
	}
	return in, done, nil
}

// read reads the samples of the present file.
func (r *reader) read(stdin io.Reader, format string) {
	in, done, err := open(r.file, stdin)
	defer done()
	if err != nil {
		r.fault(0, err)
		return
	}
	r.progress("reading " + r.file)
	r.readFrom(in, format)
}

// readFrom reads samples from an opened file.
func (r *reader) readFrom(in io.Reader, format string) {
	before := len(r.all)
	switch formatOf(r.file, format) {
	case CSV:
		r.readCSV(in)
	case JSONLines:
		r.readJSONLines(in)
	default:
		r.fault(0, errors.New("its name does not end in .csv, .jsonl or .ndjson: say which it is with --usage-format"))
	}
	if len(r.faults) == 0 && len(r.all) == before {
		r.fault(0, errors.New("there are no samples in it"))
	}
}

// reader collects the samples of several files, and the faults of the present file.
type reader struct {
	file string
	// containers are the known containers. strange are the unknown containers in the file.
	containers, strange []string
	all                 []sample
	faults              []error
	progress            func(string)
	// any is true if samples of all containers are wanted.
	any bool
	// over is true after the limit of samples was exceeded.
	over bool
}

func formatOf(file, given string) string {
	switch ext := filepath.Ext(strings.TrimSuffix(strings.ToLower(file), ".gz")); {
	case given != "":
		return given
	case ext == ".csv":
		return CSV
	case ext == ".jsonl" || ext == ".ndjson":
		return JSONLines
	}
	return ""
}

func (r *reader) fault(line int, err error) {
	r.faults = append(r.faults, &source.FileError{File: r.file, Line: line, Message: strings.ReplaceAll(err.Error(), "\n", "; ")})
}

// full reports whether reading stops because there are too many samples or faults.
func (r *reader) full() bool { return r.over || len(r.faults) >= mostFaults }

func (r *reader) take(line int, texts map[string]string) {
	s, err := parse(texts)
	if err != nil {
		r.fault(line, err)
		return
	}
	known := slices.Index(r.containers, s.Container)
	if known < 0 && !r.any {
		if slices.Contains(r.strange, s.Container) {
			return // the first sample of this container was reported already
		}
		r.strange = append(r.strange, s.Container)
		r.fault(line, fmt.Errorf("there is no container %q%s", s.Container, workload.Hint(s.Container, r.containers)))
		return
	}
	if len(r.all) >= mostSamples {
		r.over = true
		r.fault(line,
			fmt.Errorf("there are more than %d samples, and no more are replayed: leave out old ones, or take a longer time between two",
				mostSamples))
		return
	}
	if known >= 0 {
		s.Container = r.containers[known] // so that the sample does not keep the text of the line in memory
	}
	if r.all = append(r.all, sample{Sample: s, file: r.file, line: line}); len(r.all)%told == 0 {
		r.progress(fmt.Sprintf("reading %s, %d samples", r.file, len(r.all)))
	}
}

// readCSV reads CSV: a header with the names of fields, and then one sample per line.
func (r *reader) readCSV(in io.Reader) {
	c := csv.NewReader(in)
	c.TrimLeadingSpace, c.Comment, c.ReuseRecord = true, '#', true
	var head []string
	for !r.full() {
		record, err := c.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		var at *csv.ParseError
		if errors.As(err, &at) {
			r.fault(at.Line, at.Err)
			if !errors.Is(err, csv.ErrFieldCount) {
				return
			}
			continue
		}
		if err != nil {
			r.fault(0, err)
			return
		}
		line, _ := c.FieldPos(0)
		if head == nil {
			head = slices.Clone(record)
			if !r.headed(line, head) {
				return
			}
			continue
		}
		texts := make(map[string]string, len(head))
		for i, name := range head {
			texts[name] = strings.TrimSpace(record[i])
		}
		r.take(line, texts)
	}
}

// headed checks the header of a file and reports whether it is valid.
func (r *reader) headed(line int, head []string) bool {
	before := len(r.faults)
	for i := range head {
		head[i] = strings.TrimSpace(strings.TrimPrefix(head[i], "\ufeff"))
		if err := knownField(head[i]); err != nil {
			r.fault(line, err)
		} else if slices.Contains(head[:i], head[i]) {
			r.fault(line, fmt.Errorf("the column %s is there twice", head[i]))
		}
	}
	for _, name := range neededColumns {
		if !slices.Contains(head, name) {
			r.fault(line, fmt.Errorf("the column %s is missing: the first line names the columns", name))
		}
	}
	return len(r.faults) == before
}

// longestLine is the largest length of a line of JSON, in bytes.
const longestLine = 1 << 20

// readJSONLines reads JSON lines, with one object per line. Values are numbers or strings.
func (r *reader) readJSONLines(in io.Reader) {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longestLine)
	line := 0
	for !r.full() && scanner.Scan() {
		line++
		text := strings.TrimSpace(scanner.Text())
		if text == "" {
			continue
		}
		texts, err := object(text)
		if err != nil {
			r.fault(line, err)
			continue
		}
		r.take(line, texts)
	}
	if err := scanner.Err(); err != nil {
		r.fault(line+1, err)
	}
}

// object returns the fields of a JSON object as texts.
func object(text string) (map[string]string, error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var values map[string]any
	if err := d.Decode(&values); err != nil {
		return nil, fmt.Errorf("this is no JSON object: %w", err)
	}
	if d.More() {
		return nil, errors.New("there is more than one value in the line")
	}
	texts := make(map[string]string, len(values))
	var faults []error
	for name, value := range values {
		if err := knownField(name); err != nil {
			faults = append(faults, err)
			continue
		}
		switch v := value.(type) {
		case nil:
		case string:
			texts[name] = strings.TrimSpace(v)
		case json.Number:
			texts[name] = v.String()
		default:
			faults = append(faults, fmt.Errorf("%s: give a number or a text", name))
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return texts, errors.Join(faults...)
}
