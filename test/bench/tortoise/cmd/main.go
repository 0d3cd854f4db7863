// Command cmd runs the offline benchmark of tuning: twelve families of load, five seeds each, seven contenders. It prints a table, the
// figures and the gates, and writes the table and a plot a family below a directory. It ends with an error where a gate does not hold.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"flyball.dev/flyball/test/bench/tortoise"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench-tortoise:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	out := flag.String("out", "bin/bench-tortoise", "`directory` for the table and the plots")
	tuning := flag.Bool("tuning", false, "use the seeds for tuning, not those for reporting")
	first := flag.Uint64("first-seed", 0, "use the five seeds from this one on, not those for reporting")
	flag.Parse()
	options := tortoise.Options{Seeds: tortoise.ReportingSeeds}
	if *tuning {
		options.Seeds = tortoise.TuningSeeds
	}
	if *first > 0 {
		options.Seeds = []uint64{*first, *first + 1, *first + 2, *first + 3, *first + 4}
	}
	results, err := tortoise.Run(ctx, options)
	if err != nil {
		return err
	}
	if err := tortoise.Plots(*out, results); err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(*out, "table.txt"))
	if err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	defer func() {
		if e := file.Close(); err == nil {
			err = e
		}
	}()
	return write(io.MultiWriter(os.Stdout, file), results)
}

// write writes table, figures and gates.
func write(w io.Writer, results []tortoise.Result) error {
	if err := tortoise.Table(w, results); err != nil {
		return err
	}
	for _, f := range tortoise.Figures(results) {
		if _, err := fmt.Fprintf(w, "figure %s %.3f %s\n", f.Name, f.Value, f.Unit); err != nil {
			return err
		}
	}
	failed := 0
	for _, g := range tortoise.Gates(results) {
		word := "pass"
		if !g.Holds {
			word = "FAIL"
			failed++
		}
		if _, err := fmt.Fprintf(w, "gate %s %s: %s\n", word, g.Name, g.Text); err != nil {
			return err
		}
	}
	if failed > 0 {
		return fmt.Errorf("%d gates do not hold", failed)
	}
	return nil
}
