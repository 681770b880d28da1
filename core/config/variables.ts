import { INDEXED_FIELDS } from '../domain/log/indexed-fields.ts'
import { LONGEST_START_MS } from '../domain/server/server-table.ts'
import {
  basePath,
  bindAddress,
  boolean,
  connectionUrl,
  duration,
  hostList,
  hostName,
  integer,
  key,
  list,
  matching,
  network,
  oneOf,
  origin,
  type Parser,
  proxyUrl,
  ratio,
  size,
  text,
  userName,
  webUrl,
} from './parsers.ts'
import type { HubConfig } from './schema.ts'

/** One setting: its variable, its key in the configuration and in `systemConfig`, and its parser. */
export interface Variable {
  readonly name: string
  readonly key: string
  readonly parse: Parser<unknown>
  /** The value never appears in a message. */
  readonly secret: boolean
  /** False for settings needed before the settings file is read, and for secrets, as the file may be in a repository. */
  readonly inFile: boolean
  /** Another name of the variable, which other programs use; `name` wins if both are set. */
  readonly alias?: string
}

interface Options extends Pick<Variable, 'alias'> {
  readonly secret?: boolean
  readonly inFile?: boolean
}

function variable<K extends keyof HubConfig>(
  name: string,
  key: K,
  parse: Parser<NonNullable<HubConfig[K]>>,
  options: Options = {},
): Variable {
  const secret = options.secret ?? false
  const { alias } = options
  return { name, key, parse, secret, inFile: options.inFile ?? !secret, ...(alias === undefined ? {} : { alias }) }
}

const FACILITIES = [
  ...['kern', 'user', 'mail', 'daemon', 'auth', 'syslog', 'lpr', 'news', 'uucp', 'cron', 'authpriv', 'ftp'],
  ...['local0', 'local1', 'local2', 'local3', 'local4', 'local5', 'local6', 'local7'],
]

/** All variables of the hub itself. */
export const VARIABLES: readonly Variable[] = [
  variable('PORT', 'port', integer(0, 65_535)),
  variable('HOST', 'host', bindAddress()),
  variable('DATA_DIR', 'dataDir', text(1, 4_096), { inFile: false }),
  variable('SETTINGS_FILE', 'settingsFile', text(1, 4_096), { inFile: false }),
  variable('DATABASE_URL', 'databaseUrl', connectionUrl('postgres:', 'postgresql:'), { secret: true }),
  variable('PUBLIC_URL', 'publicUrl', webUrl()),
  variable('BASE_PATH', 'basePath', basePath()),
  variable('ALLOWED_HOSTS', 'allowedHosts', list(hostName())),
  variable('ALLOWED_ORIGINS', 'allowedOrigins', list(origin())),
  variable('ADMIN_ADDRESSES', 'adminAddresses', list(network({ allowAll: true }))),
  variable('JWT_SECRET', 'jwtSecret', text(1, 4_096), { secret: true }),
  variable('MASTER_KEY', 'masterKey', key(), { secret: true }),
  variable('MASTER_KEY_OLD', 'masterKeyOld', key(), { secret: true }),
  variable('ACCEPT_LOST_SECRETS', 'acceptLostSecrets', boolean(), { inFile: false }),
  variable('ADMIN_USERNAME', 'adminUsername', userName(), { inFile: false }),
  variable('ADMIN_PASSWORD', 'adminPassword', text(12, 256), { secret: true }),
  variable('TRUSTED_PROXIES', 'trustedProxies', list(network({ allowAll: false }))),
  variable('METRICS_TOKEN', 'metricsToken', matching(/^[\x21-\x7e]{1,1024}$/, '1 to 1024 visible ASCII characters'), {
    secret: true,
  }),
  variable('STDIO_POLICY', 'stdioPolicy', oneOf('sandboxed', 'admin', 'off')),
  variable('OUTBOUND_ALLOW', 'outboundAllow', list(network({ allowAll: true }))),
  variable('HTTP_PROXY', 'httpProxy', proxyUrl(), { secret: true, alias: 'http_proxy' }),
  variable('HTTPS_PROXY', 'httpsProxy', proxyUrl(), { secret: true, alias: 'https_proxy' }),
  variable('NO_PROXY', 'noProxy', hostList(), { alias: 'no_proxy' }),
  variable('OUTBOUND_PROXY_NAMES', 'proxyNames', boolean()),
  variable('REGISTRIES', 'registries', list(webUrl())),
  variable('REGISTRIES_CA', 'registriesCa', text(1, 4_096), { inFile: false }),
  variable('START_TIMEOUT', 'startTimeoutMs', duration(1_000, LONGEST_START_MS)),
  variable('WORKERS', 'workers', integer(1, 64)),
  variable('LOG_LEVEL', 'logLevel', oneOf('error', 'warn', 'info', 'debug', 'trace')),
  variable('LOG_FORMAT', 'logFormat', oneOf('json', 'pretty')),
  variable('LOG_FILE', 'logFile', text(1, 4_096)),
  variable('ENABLE_REQUEST_LOGS', 'requestLogs', boolean()),
  variable('LOG_ROTATION', 'logRotation', oneOf('hourly', 'daily', 'weekly', 'none')),
  // Below the size of one batch of lines, each batch would make a file.
  variable('LOG_MAX_SIZE', 'logMaxSizeBytes', size(64_000)),
  variable('LOG_MAX_FILES', 'logMaxFiles', integer(1, 10_000)),
  variable('LOG_COMPRESS', 'logCompress', boolean()),
  variable('LOG_DATABASE', 'logDatabase', boolean()),
  variable('LOG_RETENTION', 'logRetentionMs', duration(60_000)),
  variable(
    'LOG_TABLE',
    'logTable',
    matching(/^(?!sqlite_)[a-z_][a-z0-9_]{0,62}$/, 'a table name: a-z, 0-9 and _, at most 63'),
  ),
  variable('LOG_INDEXES', 'logIndexes', list(oneOf(...INDEXED_FIELDS))),
  variable('SYSLOG_ENABLED', 'syslogEnabled', boolean()),
  variable('SYSLOG_HOST', 'syslogHost', bindAddress()),
  variable('SYSLOG_PORT', 'syslogPort', integer(1, 65_535)),
  variable('SYSLOG_PROTOCOL', 'syslogProtocol', oneOf('udp', 'tcp', 'tls')),
  variable('SYSLOG_CA', 'syslogCa', text(1, 4_096)),
  variable('SYSLOG_FACILITY', 'syslogFacility', oneOf(...FACILITIES)),
  variable('SEARCH_ENGINE_URL', 'searchEngineUrl', connectionUrl('http:', 'https:'), { secret: true }),
  variable(
    'SEARCH_ENGINE_INDEX',
    'searchEngineIndex',
    matching(/^[a-z0-9][a-z0-9_.-]{0,199}$/, 'lower-case letters, digits and _ . -, beginning with a letter or digit'),
  ),
  variable('OTEL_EXPORTER_OTLP_ENDPOINT', 'otelEndpoint', webUrl()),
  variable('OTEL_EXPORTER_OTLP_HEADERS', 'otelHeaders', text(1, 4_096), { secret: true, inFile: false }),
  variable('OTEL_SERVICE_NAME', 'otelServiceName', text(1, 255)),
  variable('OTEL_TRACES_SAMPLER_ARG', 'otelRatio', ratio()),
  variable('DISCOVERY_ENABLED', 'discoveryEnabled', boolean()),
  variable('ASSISTANT_ENABLED', 'assistantEnabled', boolean()),
  variable('ASSISTANT_API_KEY', 'assistantApiKey', text(1, 1_024), { secret: true }),
]
