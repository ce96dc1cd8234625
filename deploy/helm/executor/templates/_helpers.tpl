{{- define "executor.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end }}

{{- define "executor.selector" -}}
app.kubernetes.io/name: executor
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "executor.labels" -}}
{{ include "executor.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- define "executor.image" -}}
image: {{ printf "%s:%s" .Values.image.repository (.Values.image.tag | default .Chart.AppVersion) | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{- define "executor.podSecurity" -}}
automountServiceAccountToken: false
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {{ toJson .Values.seccompProfile }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
{{- end }}

{{- define "executor.containerSecurity" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
{{- end }}

{{- define "executor.env" -}}
- {name: EXECUTOR_DATABASE_URL, value: {{ required "set database.url" .Values.database.url | quote }}}
{{- with .Values.database.directUrl }}
- {name: EXECUTOR_DATABASE_DIRECT_URL, value: {{ quote . }}}
{{- end }}
- {name: PGPASSFILE, value: /var/lib/executor/data/pgpass}
- {name: EXECUTOR_SECRETS_KEY, value: shared}
- {name: EXECUTOR_SECRETS_KEY_FILE, value: /var/lib/executor/data/keys}
- {name: EXECUTOR_DRAIN_SECONDS, value: {{ .Values.drainSeconds | quote }}}
{{- range $name, $value := .Values.settings }}
- {name: {{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* The data directory and the log files are in memory. Unlike files of a Secret, those in it belong to the user. */}}
{{- define "executor.setup" -}}
- name: setup
  {{- include "executor.image" .root | nindent 2 }}
  command: [sh, -euc]
  args:
    - |
      umask 077
      mkdir -p /var/lib/executor/data
      install -m 0600 /etc/executor/* /var/lib/executor/data/
      {{- if and .root.Release.IsInstall (eq .role "serve") }}
      # Tokens without this record look like an installation that has lost its database. The first one has none yet.
      echo '{"organization": "", "heads": {}}' > /var/lib/executor/data/installation.json
      {{- end }}
  {{- include "executor.containerSecurity" .root | nindent 2 }}
  resources:
    requests: {cpu: 10m, memory: 16Mi}
    limits: {memory: 64Mi}
  volumeMounts:
    - {name: secret, mountPath: /etc/executor, readOnly: true}
    - {name: home, mountPath: /var/lib/executor}
{{- end }}

{{- define "executor.mounts" -}}
- {name: home, mountPath: /var/lib/executor}
- {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "executor.volumes" -}}
- name: secret
  secret:
    secretName: {{ required "set existingSecret to the name of a Secret" .root.Values.existingSecret }}
    defaultMode: 0440
    items:
      {{- range .keys }}
      - {key: {{ . }}, path: {{ . }}}
      {{- end }}
- {name: home, emptyDir: {medium: Memory, sizeLimit: 128Mi}}
- {name: tmp, emptyDir: {sizeLimit: 2Gi}}
{{- end }}

{{- define "executor.probes" -}}
startupProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 2
  failureThreshold: 60
readinessProbe:
  httpGet: {path: /readyz, port: http}
  periodSeconds: 3
  timeoutSeconds: 5
livenessProbe:
  httpGet: {path: /healthz, port: http}
  periodSeconds: 10
  timeoutSeconds: 10
  failureThreshold: 6
{{- end }}

{{- define "executor.placement" -}}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "executor.selector" .root | nindent 8 }}
        app.kubernetes.io/component: {{ .role }}
{{- with .given.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .given.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .given.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- end }}
