{{/* The name of everything. */}}
{{- define "flyball.fullname" -}}
{{- .Values.fullnameOverride | default "flyball" | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "flyball.selector" -}}
app.kubernetes.io/name: flyball
app.kubernetes.io/instance: {{ .Release.Name }}
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

{{/* The security context of every container: the restricted Pod Security Standard. */}}
{{- define "flyball.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- define "flyball.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
seccompProfile: {type: RuntimeDefault}
{{- end -}}

{{- define "flyball.placement" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
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

{{- /* The Secret that the manager keeps: its certificates and its path, or the path alone beside cert-manager's. */}}
{{- define "flyball.webhookSecret" -}}
{{ include "flyball.fullname" . }}-webhook-{{ if .Values.webhook.certManager.enabled }}path{{ else }}cert{{ end }}
{{- end }}
