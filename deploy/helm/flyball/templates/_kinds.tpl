{{/* The resources of Flyball's policies, as in RBAC rules. Generated from the table of policy kinds. */}}

{{/* All kinds of policies. */}}
{{- define "flyball.policies" -}}
changefreezes, clusterchangefreezes, clusterdeletioncosts, clusterfreezeexceptions, clustermaintenancewindows, clusterschedules, clustertortoises, clustertriggers, deletioncosts, freezeexceptions, maintenancewindows, schedules, tortoises, triggers
{{- end -}}

{{/* Those that act on targets: Flyball keeps a finalizer on them. */}}
{{- define "flyball.policies.acting" -}}
changefreezes, clusterchangefreezes, clusterdeletioncosts, clustermaintenancewindows, clusterschedules, clustertortoises, clustertriggers, deletioncosts, maintenancewindows, schedules, tortoises, triggers
{{- end -}}

{{/* Those outside namespaces, which govern many of them. */}}
{{- define "flyball.policies.cluster" -}}
clusterchangefreezes, clusterdeletioncosts, clusterfreezeexceptions, clustermaintenancewindows, clusterschedules, clustertortoises, clustertriggers
{{- end -}}

{{/* All others. */}}
{{- define "flyball.policies.passive" -}}
clusterfreezeexceptions, freezeexceptions
{{- end -}}

{{/* Those whose deletion is judged: they restrict who may change workloads, and can be in force. */}}
{{- define "flyball.policies.guarded" -}}
changefreezes, clusterchangefreezes, clustermaintenancewindows, maintenancewindows
{{- end -}}

{{/* Those in namespaces that the role edit gives the right to write. */}}
{{- define "flyball.policies.edit" -}}
deletioncosts, schedules, tortoises, triggers
{{- end -}}

{{/* Those in namespaces that it takes the role admin to write. */}}
{{- define "flyball.policies.admin" -}}
changefreezes, freezeexceptions, maintenancewindows
{{- end -}}

{{/* Those with the verb wake, which lets a person keep their targets awake. */}}
{{- define "flyball.policies.waking" -}}
clusterschedules, schedules
{{- end -}}
