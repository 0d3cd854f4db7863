package factory

import (
	"bytes"
	"context"
	"time"

	"github.com/spf13/cobra"
)

// watchEvery is the refresh interval of --watch.
const watchEvery = 2 * time.Second

// clearScreen moves the cursor of a terminal to the upper left and clears the screen.
const clearScreen = "\x1b[H\x1b[2J"

// AddWatchFlag adds the flag -w to a command.
func (f *Factory) AddWatchFlag(cmd *cobra.Command, watch *bool) {
	cmd.Flags().BoolVarP(watch, "watch", "w", false, "Go on, and print the answer whenever it changes; a terminal is redrawn")
}

// Redraw calls show, which prints an answer. With watch, it calls show until the context ends, and prints each new answer. The error is
// the first one of show.
func (f *Factory) Redraw(ctx context.Context, watch bool, show func() error) error {
	if !watch {
		return show()
	}
	out := f.Out
	defer func() { f.Out = out }()
	for last := []byte(nil); ; {
		var now bytes.Buffer
		f.Out = &now
		if err := show(); err != nil {
			return err
		}
		if !bytes.Equal(now.Bytes(), last) {
			last = now.Bytes()
			text := now.Bytes()
			if f.Color {
				text = append([]byte(clearScreen), text...)
			}
			if _, err := out.Write(text); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchEvery):
		}
	}
}
