// Command flyball-release writes the files of a release into a directory. It publishes none of them. make release runs
// it.
package main

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/pflag"

	"flyball.dev/flyball/deploy/release"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flyball-release:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	o := release.Options{Say: func(step string) { fmt.Println("== " + step) }}
	flags := pflag.NewFlagSet("flyball-release", pflag.ContinueOnError)
	flags.StringVar(&o.Root, "root", ".", "Repository.")
	flags.StringVar(&o.Dir, "dir", "dist/release", "Empty directory for the files.")
	flags.StringVar(&o.Version, "version", "", "Version, such as v1.2.3.")
	flags.StringVar(&o.Revision, "revision", "", "Commit.")
	flags.StringVar(&o.Image, "image", "", "Repository of the image, with the registry's host.")
	flags.StringVar(&o.Downloads, "downloads", "", "Address below which the archives will be, in a folder of the version's name.")
	flags.StringVar(&o.Inventory, "cyclonedx", "", "Program cyclonedx-gomod, for bills of materials.")
	at := flags.Int64("time", -1, "Time of the commit, in seconds since 1970.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *at >= 0 {
		o.Time = time.Unix(*at, 0)
	}
	return o.Make()
}
