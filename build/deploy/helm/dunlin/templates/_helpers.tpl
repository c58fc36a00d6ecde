{{- define "dunlin.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* Short enough for the suffixes that the names of StatefulSets get, and for the label with the hash of a revision. */}}
{{- define "dunlin.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 43 | trimSuffix "-" -}}
{{- else if contains (include "dunlin.name" .) .Release.Name -}}
{{- .Release.Name | trunc 43 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "dunlin.name" .) | trunc 43 | trimSuffix "-" -}}
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

{{/* The StatefulSets: one of equal brokers, or one for each separate service. */}}
{{- define "dunlin.tiers" -}}
{{- if .Values.separateServices.enabled -}}store dist frontend{{- else -}}broker{{- end -}}
{{- end -}}

{{/* The name of a tier's StatefulSet; root and tier. */}}
{{- define "dunlin.tierName" -}}
{{ include "dunlin.fullname" .root }}{{ if ne .tier "broker" }}-{{ .tier }}{{ end }}
{{- end -}}

{{- define "dunlin.tierSelector" -}}
{{ include "dunlin.selector" .root }}
app.kubernetes.io/component: {{ .tier }}
{{- end -}}

{{- define "dunlin.tierLabels" -}}
{{ include "dunlin.labels" .root }}
app.kubernetes.io/component: {{ .tier }}
{{- end -}}

{{/* The values of a tier, as YAML: what its service has replaces what is at the top, but for config, which is added; root and tier. */}}
{{- define "dunlin.values" -}}
{{- $values := deepCopy .root.Values -}}
{{- if ne .tier "broker" -}}
{{- range $key, $value := index .root.Values.separateServices .tier -}}
{{- $_ := set $values $key (eq $key "config" | ternary (printf "%s\n%s" $.root.Values.config $value) $value) -}}
{{- end -}}
{{- end -}}
{{ toYaml $values }}
{{- end -}}

{{/* The tier whose pods clients connect to, and the one that founds the cluster. */}}
{{- define "dunlin.clientTier" -}}
{{- if .Values.separateServices.enabled -}}frontend{{- else -}}broker{{- end -}}
{{- end -}}
{{- define "dunlin.founderTier" -}}
{{- if .Values.separateServices.enabled -}}store{{- else -}}broker{{- end -}}
{{- end -}}

{{/* The domain of the pods' names. */}}
{{- define "dunlin.nodes" -}}
{{ include "dunlin.fullname" . }}-nodes.{{ .Release.Namespace }}.svc.{{ .Values.cluster.domain }}
{{- end -}}

{{- define "dunlin.needsTls" -}}
{{- if or .Values.listeners.tls.enabled .Values.listeners.wss.enabled -}}yes{{- end -}}
{{- end -}}

{{/* What would leave pods that cannot start, or that are killed while they stop. */}}
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
{{- if .Values.separateServices.enabled -}}
{{- include "dunlin.checkServices" . -}}
{{- else if lt (int .Values.replicas) (int .Values.cluster.founders) -}}
{{- fail "replicas must not be less than cluster.founders, which are the seeds of the cluster." -}}
{{- end -}}
{{- range $tier := splitList " " (include "dunlin.tiers" .) -}}
{{- $values := include "dunlin.values" (dict "root" $ "tier" $tier) | fromYaml -}}
{{- if not (has $values.antiAffinity (list "required" "preferred" "none")) -}}
{{- fail "antiAffinity is required, preferred or none." -}}
{{- end -}}
{{- if lt (int $values.terminationGracePeriodSeconds) (add (int $values.preStopSeconds) (int $values.drainSeconds) 90 | int) -}}
{{- fail "terminationGracePeriodSeconds must be at least preStopSeconds and drainSeconds and 90, or a pod may be killed while it stops." -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "dunlin.checkServices" -}}
{{- $own := list "replicas" "config" "persistence" "resources" "jvmOptions" "antiAffinity" "spreadOverZones" "nodeSelector" "tolerations" "affinity" "priorityClassName" "preStopSeconds" "drainSeconds" "terminationGracePeriodSeconds" "podAnnotations" "podLabels" "extraEnv" "extraContainers" "extraVolumes" "extraVolumeMounts" -}}
{{- range $tier, $values := omit .Values.separateServices "enabled" -}}
{{- if not (has $tier (list "store" "dist" "frontend")) -}}
{{- fail (printf "separateServices.%s: the services are store, dist and frontend." $tier) -}}
{{- end -}}
{{- range $key := keys $values -}}
{{- if not (has $key $own) -}}
{{- fail (printf "separateServices.%s.%s: is the same for all services, and is set at the top." $tier $key) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- if lt (int .Values.separateServices.store.replicas) (int .Values.cluster.founders) -}}
{{- fail "separateServices.store.replicas must not be less than cluster.founders, which are the seeds of the cluster." -}}
{{- end -}}
{{- if lt (int .Values.separateServices.dist.replicas) 3 -}}
{{- fail "separateServices.dist.replicas must be at least 3. With fewer, a store has a replica of the routes, and an update, which restarts a store and a dist worker at the same time, could take the majority of them." -}}
{{- end -}}
{{- if lt (int .Values.separateServices.frontend.replicas) 1 -}}
{{- fail "separateServices.frontend.replicas must be at least 1: clients could not connect." -}}
{{- end -}}
{{- end -}}

{{/* The settings of a tier; root and tier. */}}
{{- define "dunlin.conf" -}}
{{- $values := include "dunlin.values" . | fromYaml -}}
{{- $serves := eq .tier (include "dunlin.clientTier" .root) -}}
{{- if eq .tier "store" -}}
dunlin.roles = [store, retain, inbox]
{{ else if ne .tier "broker" -}}
dunlin.roles = [{{ .tier }}]
{{ end -}}
{{- if $serves -}}
dunlin.listeners {
  tcp { enabled = {{ $values.listeners.tcp.enabled }}, host = 0.0.0.0, port = {{ $values.listeners.tcp.port }} }
  {{- if $values.listeners.ws.enabled }}
  ws { type = ws, host = 0.0.0.0, port = {{ $values.listeners.ws.port }} }
  {{- end }}
  {{- if $values.listeners.tls.enabled }}
  tls { type = tls, host = 0.0.0.0, port = {{ $values.listeners.tls.port }}, tls { certificate = /etc/dunlin/listeners/tls.crt, key = /etc/dunlin/listeners/tls.key } }
  {{- end }}
  {{- if $values.listeners.wss.enabled }}
  wss { type = wss, host = 0.0.0.0, port = {{ $values.listeners.wss.port }}, tls { certificate = /etc/dunlin/listeners/tls.crt, key = /etc/dunlin/listeners/tls.key } }
  {{- end }}
}
{{- if $values.auth.passwordsSecret }}
dunlin.auth.password-file = /etc/dunlin/users/passwords
{{- end }}
{{- if $values.auth.anonymous }}
dunlin.auth.anonymous = true
{{- end }}
# Clients are disconnected over this time when the pod is stopped, and not all at once.
dunlin.drain.time = {{ $values.drainSeconds }}s
{{ end -}}
dunlin.cluster {
  seeds = [
    {{- range $node := until (int $values.cluster.founders) }}
    "{{ include "dunlin.tierName" (dict "root" $.root "tier" (include "dunlin.founderTier" $.root)) }}-{{ $node }}.{{ include "dunlin.nodes" $.root }}:{{ $values.cluster.servicePort }}"
    {{- end }}
  ]
  bootstrap-expect = {{ $values.cluster.founders }}
  bind = 0.0.0.0
  service-port = {{ $values.cluster.servicePort }}
  port = {{ $values.cluster.raftPort }}
  {{- if $values.cluster.tls.secretName }}
  tls { certificate = /etc/dunlin/cluster/tls.crt, key = /etc/dunlin/cluster/tls.key, ca = /etc/dunlin/cluster/ca.crt }
  {{- else }}
  plaintext = true
  {{- end }}
}
# For the kubelet; /metrics stays on the admin port, which only the pod itself reaches.
dunlin.health { host = 0.0.0.0, port = 8081 }
{{- with trim $values.config }}
{{ . }}
{{- end }}
{{- end -}}
