{{/*
Fills in what the values lack, in place: those of an older version, which an upgrade has kept, know nothing of what came later, and a
value can be set to null. What is free-form may be left out on purpose, and so may parts of a security context. Every template begins
with it.
*/}}
{{- define "flyball.prepare" -}}
{{- $defaults := omit (fromYaml (.Files.Get "files/defaults.yaml")) "resources" "affinity" "nodeSelector" -}}
{{- include "flyball.fill" (list .Values $defaults) -}}
{{- end -}}

{{- define "flyball.fill" -}}
{{- $values := first . -}}
{{- range $key, $default := last . -}}
{{- $value := index $values $key -}}
{{- if kindIs "invalid" $value -}}
{{- $_ := set $values $key $default -}}
{{- else if and (kindIs "map" $default) (kindIs "map" $value) (not (hasSuffix "ecurityContext" $key)) -}}
{{- include "flyball.fill" (list $value $default) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The name of everything. */}}
{{- define "flyball.fullname" -}}
{{- .Values.fullnameOverride | default "flyball" | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "flyball.selector" -}}
app.kubernetes.io/name: flyball
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "flyball.labels" -}}
{{ include "flyball.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "flyball.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "flyball.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "flyball.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The label by which the manager's role gathers its rules. */}}
{{- define "flyball.aggregate" -}}
flyball.dev/aggregate-to-manager: "true"
{{- end -}}

{{- define "flyball.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}
