{{- define "dunlin.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for the suffixes that the names of pods and services get. */}}
{{- define "dunlin.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- else if contains (include "dunlin.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "dunlin.name" .) | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "dunlin.selector" -}}
app.kubernetes.io/name: {{ include "dunlin.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dunlin.labels" -}}
{{ include "dunlin.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{/* The domain of the pods' names. */}}
{{- define "dunlin.nodes" -}}
{{ include "dunlin.fullname" . }}-nodes.{{ .Release.Namespace }}.svc.{{ .Values.cluster.domain }}
{{- end -}}

{{- define "dunlin.needsTls" -}}
{{- if or .Values.listeners.tls.enabled .Values.listeners.wss.enabled -}}yes{{- end -}}
{{- end -}}

{{/* What would leave pods that cannot start. */}}
{{- define "dunlin.check" -}}
{{- if and .Values.cluster.plaintext .Values.cluster.tls.secretName -}}
{{- fail "Set only one of cluster.tls.secretName and cluster.plaintext." -}}
{{- end -}}
{{- if not (or .Values.cluster.plaintext .Values.cluster.tls.secretName) -}}
{{- fail "The brokers need TLS between them: set cluster.tls.secretName. Or set cluster.plaintext=true, with which every pod that reaches the cluster ports is trusted." -}}
{{- end -}}
{{- if not (or .Values.auth.passwordsSecret .Values.auth.anonymous .Values.auth.inConfig) -}}
{{- fail "Who may connect? Set auth.passwordsSecret, auth.anonymous=true, or auth.inConfig=true with settings in config." -}}
{{- end -}}
{{- if and (include "dunlin.needsTls" .) (not .Values.listeners.tlsSecret) -}}
{{- fail "The listeners tls and wss need listeners.tlsSecret." -}}
{{- end -}}
{{- if not (or .Values.listeners.tcp.enabled .Values.listeners.ws.enabled .Values.listeners.tls.enabled .Values.listeners.wss.enabled) -}}
{{- fail "No listener is enabled: clients could not connect." -}}
{{- end -}}
{{- if lt (int .Values.replicas) (int .Values.cluster.founders) -}}
{{- fail "replicas must not be less than cluster.founders, which are the seeds of the cluster." -}}
{{- end -}}
{{- if not (has .Values.antiAffinity (list "required" "preferred" "none")) -}}
{{- fail "antiAffinity is required, preferred or none." -}}
{{- end -}}
{{- end -}}
