// Command cmd runs the offline benchmark of tuning. It prints a table, the figures, and which gates hold. It ends with
// an error if a gate does not hold.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"flyball.dev/flyball/test/bench/tortoise"
)

func main() {
	if err := run(os.Stdout, os.Stderr, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench-tortoise:", err)
		os.Exit(1)
	}
}

func run(out, progress io.Writer, args []string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flags := flag.NewFlagSet("bench-tortoise", flag.ContinueOnError)
	seeds := flags.String("seeds", "1-10", "seeds of the families: `numbers` and ranges, with commas between them")
	families := flags.String("families", "", "`names` of families, with commas between them; all by default")
	contenders := flags.String("contenders", "",
		"`names` of contenders, with commas between them; all by default, and \"fixed\" is the grid of fixed settings")
	traces := flags.String("traces", "", "`directory` with series of real load (*.csv.gz), in place of the families")
	days := flags.Int("days", 0, "simulate so many `days` at most")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options := tortoise.Options{
		Families: list(*families), Contenders: list(*contenders), Traces: *traces, Days: *days,
		Done: func(world string, seed uint64) { fmt.Fprintf(progress, "%s, seed %d: done\n", world, seed) },
	}
	var err error
	if options.Seeds, err = numbers(*seeds); err != nil {
		return err
	}
	results, err := tortoise.Run(ctx, options)
	if err != nil {
		return err
	}
	kind := "synthetic"
	if *traces != "" {
		kind = "real"
	}
	return write(out, kind, results)
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// numbers parses a list of numbers and ranges, such as 1-3,7.
func numbers(text string) ([]uint64, error) {
	var all []uint64
	for _, part := range strings.Split(text, ",") {
		first, last, ranged := strings.Cut(part, "-")
		if !ranged {
			last = first
		}
		from, err := strconv.ParseUint(first, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the seeds %q: %w", text, err)
		}
		to, err := strconv.ParseUint(last, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("read the seeds %q: %w", text, err)
		}
		if to < from {
			return nil, fmt.Errorf("read the seeds %q: %d is below %d", text, to, from)
		}
		for n := from; n <= to; n++ {
			all = append(all, n)
		}
	}
	return all, nil
}

// write writes the table, the figures and the gates.
func write(out io.Writer, kind string, results []tortoise.Result) error {
	if err := tortoise.Table(out, results); err != nil {
		return err
	}
	failed := 0
	for _, f := range tortoise.Figures(kind, results) {
		if _, err := fmt.Fprintf(out, "figure %s %.3f %s\n", f.Name, f.Value, f.Unit); err != nil {
			return err
		}
		word := "holds"
		if !f.Holds() {
			word = "FAILS"
			failed++
		}
		if _, err := fmt.Fprintf(out, "gate %s %s: at most %.3g\n", f.Name, word, f.Most); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d gates do not hold", failed)
	}
	return nil
}
