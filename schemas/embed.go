package schemas

import (
	"embed"
	"fmt"
	"strings"
)

//go:embed flyball.dev/*.json
var files embed.FS

// Of gives the generated JSON Schema of a kind of flyball.dev; false: there is no such kind.
func Of(kind, version string) ([]byte, bool) {
	text, err := files.ReadFile(fmt.Sprintf("flyball.dev/%s_%s.json", strings.ToLower(kind), version))
	return text, err == nil
}
