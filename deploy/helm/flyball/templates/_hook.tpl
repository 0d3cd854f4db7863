{{/*
A job that Helm waits for, with an account and rights of its own. It takes root, name (also the program's verb), on (the hook), rules
(YAML), args (a list) and timeoutSeconds.
*/}}
{{- define "flyball.hook" -}}
{{- $name := printf "%s-%s" (include "flyball.fullname" .root) .name -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels: {{- include "flyball.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-weight: "-1"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name | quote }}
  labels: {{- include "flyball.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-weight: "-1"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
rules:
{{ .rules | trim }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name | quote }}
  labels: {{- include "flyball.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-weight: "-1"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name | quote }}}
subjects:
- {kind: ServiceAccount, name: {{ $name | quote }}, namespace: {{ .root.Release.Namespace | quote }}}
{{- if .root.Values.networkPolicy.enabled }}
---
# Where the namespace lets nobody out by default, the job still reaches the API server.
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ $name }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels: {{- include "flyball.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .on }}
    helm.sh/hook-weight: "-1"
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  podSelector:
    matchLabels:
      app.kubernetes.io/name: flyball-{{ .name }}
      app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
  policyTypes: [Ingress, Egress]
  egress:
  - ports:
    {{- range .root.Values.networkPolicy.apiServerPorts }}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
    {{- range .root.Values.networkPolicy.dnsPorts }}
    - {port: {{ . }}, protocol: UDP}
    - {port: {{ . }}, protocol: TCP}
    {{- end }}
{{- end }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name | quote }}
  namespace: {{ .root.Release.Namespace | quote }}
  labels: {{- include "flyball.labels" .root | nindent 4 }}
  annotations:
    helm.sh/hook: {{ .on }}
    # A failed Job is kept, for its log, until the next attempt.
    helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
spec:
  backoffLimit: 0
  activeDeadlineSeconds: {{ int .timeoutSeconds }}
  template:
    metadata:
      labels:
        app.kubernetes.io/name: flyball-{{ .name }}
        app.kubernetes.io/instance: {{ .root.Release.Name | quote }}
    spec:
      restartPolicy: Never
      serviceAccountName: {{ $name }}
      {{- with .root.Values.podSecurityContext }}
      securityContext: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with (include "flyball.placement" .root) }}{{ . | nindent 6 }}{{ end }}
      containers:
      - name: {{ .name }}
        image: {{ include "flyball.image" .root }}
        imagePullPolicy: {{ .root.Values.image.pullPolicy }}
        command: [/flyball-hook, {{ .name }}]
        args:
        - --timeout={{ sub (int .timeoutSeconds) 10 }}s
        {{- range .args }}
        - {{ . }}
        {{- end }}
        resources:
          requests: {cpu: 10m, memory: 32Mi}
          limits: {memory: 128Mi}
        {{- with .root.Values.securityContext }}
        securityContext: {{- toYaml . | nindent 10 }}
        {{- end }}
{{- end -}}

{{- define "flyball.uninstall.rules" -}}
- apiGroups: [flyball.dev]
  resources: [adapters]
  verbs: [list, delete]
# Once everything is given back, policies need not wait for a manager any more when they are deleted.
- apiGroups: [flyball.dev]
  resources: [{{ include "flyball.policies.acting" . }}]
  verbs: [list, patch]
# A freeze in force guards the adapters that it judges by.
- apiGroups: [flyball.dev]
  resources: [{{ include "flyball.policies.guarded" . }}]
  verbs: [override]
{{- end -}}

{{- define "flyball.adopt.rules" -}}
- apiGroups: [flyball.dev]
  resources: [adapters]
  verbs: [list]
{{- end -}}
