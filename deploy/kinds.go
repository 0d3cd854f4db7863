package deploy

import (
	"fmt"
	"strings"

	"flyball.dev/flyball/engine/policy/kinds"
)

// kindsFile is the chart's helper that names the kinds of policies.
const kindsFile = "deploy/helm/flyball/templates/_kinds.tpl"

const kindsText = `{{/* Flyball's own kinds, as in RBAC rules. Generated from the table of policy kinds. */}}
{{- define "flyball.statuses" -}}
[adapters/status, calendars/status, {{ include "flyball.namespacedKinds" . | replace "," "/status," }}/status, {{ include "flyball.clusterKinds" . | replace "," "/status," }}/status]
{{- end -}}

{{- define "flyball.namespacedKinds" -}}
%s
{{- end -}}

{{- define "flyball.clusterKinds" -}}
%s
{{- end -}}
`

// kindsTemplate is the text of kindsFile.
func kindsTemplate() []byte {
	var namespaced, cluster []string
	for _, k := range kinds.All() {
		if k.ClusterScoped {
			cluster = append(cluster, k.Resource)
		} else {
			namespaced = append(namespaced, k.Resource)
		}
	}
	return fmt.Appendf(nil, kindsText, strings.Join(namespaced, ", "), strings.Join(cluster, ", "))
}
