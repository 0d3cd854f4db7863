package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// CompanionName returns the name of the objects that Flyball keeps for a target.
func CompanionName(ref Ref) string {
	name := strings.ToLower(ref.GroupKind.String()) + "-" + ref.Name
	const most = 253
	if len(name) <= most {
		return name
	}
	digest := sha256.Sum256([]byte(name))
	return name[:most-17] + "-" + hex.EncodeToString(digest[:8])
}
