{{/* The resources of Flyball's policies, as in RBAC rules. Generated from the table of policy kinds. */}}

{{/* All kinds of policies. */}}
{{- define "flyball.policies" -}}
changefreezes, clusterchangefreezes, clusterdeletioncosts, clusterfreezeexceptions, clustermaintenancewindows, clusteroverrides, clusterschedules, clustertortoises, clustertriggers, deletioncosts, freezeexceptions, maintenancewindows, overrides, schedules, tortoises, triggers
{{- end -}}

{{/* Kinds that act on targets: Flyball keeps a finalizer on them. */}}
{{- define "flyball.policies.acting" -}}
changefreezes, clusterchangefreezes, clusterdeletioncosts, clustermaintenancewindows, clusteroverrides, clusterschedules, clustertortoises, clustertriggers, deletioncosts, maintenancewindows, overrides, schedules, tortoises, triggers
{{- end -}}

{{/* Cluster-scoped kinds. */}}
{{- define "flyball.policies.cluster" -}}
clusterchangefreezes, clusterdeletioncosts, clusterfreezeexceptions, clustermaintenancewindows, clusteroverrides, clusterschedules, clustertortoises, clustertriggers
{{- end -}}

{{/* Kinds that act on no target. */}}
{{- define "flyball.policies.passive" -}}
clusterfreezeexceptions, freezeexceptions
{{- end -}}

{{/* Kinds whose deletion is judged: they restrict changes of workloads, and can be in force. */}}
{{- define "flyball.policies.guarded" -}}
changefreezes, clusterchangefreezes, clustermaintenancewindows, maintenancewindows
{{- end -}}

{{/* Namespaced kinds that the role edit may write. */}}
{{- define "flyball.policies.edit" -}}
deletioncosts, overrides, schedules, tortoises, triggers
{{- end -}}

{{/* Namespaced kinds that only the role admin may write. */}}
{{- define "flyball.policies.admin" -}}
changefreezes, freezeexceptions, maintenancewindows
{{- end -}}

{{/* Kinds that the manager deletes some time after their end. */}}
{{- define "flyball.policies.expiring" -}}
clusteroverrides, overrides
{{- end -}}

{{/* Namespaced kinds by which chats and pipelines keep targets awake. */}}
{{- define "flyball.policies.orders" -}}
overrides
{{- end -}}
