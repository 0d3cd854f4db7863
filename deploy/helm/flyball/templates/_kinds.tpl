{{/* Flyball's own kinds, as in RBAC rules. Generated from the table of policy kinds. */}}
{{- define "flyball.statuses" -}}
[adapters/status, calendars/status, {{ include "flyball.namespacedKinds" . | replace "," "/status," }}/status, {{ include "flyball.clusterKinds" . | replace "," "/status," }}/status]
{{- end -}}

{{- define "flyball.namespacedKinds" -}}
schedules, triggers, changefreezes, maintenancewindows, freezeexceptions
{{- end -}}

{{- define "flyball.clusterKinds" -}}
clusterschedules, clustertriggers, clusterchangefreezes, clustermaintenancewindows, clusterfreezeexceptions
{{- end -}}
