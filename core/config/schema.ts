import type { OutboundProxy } from '../domain/outbound/proxy.ts'

/**
 * The hub's own configuration after all layers, beside which the object has the settings of plugins. Paths are absolute; durations
 * are milliseconds.
 */
export interface HubConfig {
  /** 0 chooses a free port. */
  readonly port: number
  readonly host: string
  readonly dataDir: string
  readonly settingsFile: string
  /** `postgres://…`; absent: SQLite in dataDir. */
  readonly databaseUrl?: string
  readonly publicUrl?: string
  /** `''` or `/hub`: no slash at the end. */
  readonly basePath: string
  /** Lower-case host names without port. */
  readonly allowedHosts: readonly string[]
  readonly allowedOrigins: readonly string[]
  /** CIDR; empty: any address. */
  readonly adminAddresses: readonly string[]
  readonly jwtSecret?: string
  /** 32 bytes as base64url, base64 or hex; absent: `master.key` of dataDir. */
  readonly masterKey?: string
  readonly masterKeyOld?: string
  /** Absent: the hub does not start while stored secrets are sealed with a missing key. */
  readonly acceptLostSecrets?: boolean
  readonly adminUsername?: string
  readonly adminPassword?: string
  /** CIDR or addresses. */
  readonly trustedProxies: readonly string[]
  readonly metricsToken?: string
  readonly stdioPolicy: 'sandboxed' | 'admin' | 'off'
  /** CIDR. */
  readonly outboundAllow: readonly string[]
  /** `http://[user:password@]host:port`; absent: http and ws addresses are reached directly. */
  readonly httpProxy?: string
  /** The same for https and wss addresses. */
  readonly httpsProxy?: string
  /** Hosts that are reached without a proxy, as `NO_PROXY` lists them. Default none. */
  readonly noProxy?: readonly string[]
  /** True: the proxy resolves host names for every user's servers. Default false: for administrators' servers only. */
  readonly proxyNames?: boolean
  /** The four settings above combined; absent without a proxy. */
  readonly outboundProxy?: OutboundProxy
  /** Registries for package runners in the sandbox; empty: those configured for npm and uv on this machine. */
  readonly registries: readonly string[]
  /** A file of certificates (PEM) that installations trust besides those of the system. */
  readonly registriesCa?: string
  /** Deadline of a start for servers without one of their own, in milliseconds. Absent: 60 s for programs, 30 s for others. */
  readonly startTimeoutMs?: number
  readonly workers: number
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly logFormat: 'json' | 'pretty'
  readonly logFile?: string
  readonly requestLogs: boolean
  // loadConfig always fills in the following, except addresses and the key, which have no default.
  /** When a new `logFile` is started. Default `daily`. */
  readonly logRotation?: 'hourly' | 'daily' | 'weekly' | 'none'
  /** Maximum size of one log file in bytes. Default 100,000,000. */
  readonly logMaxSizeBytes?: number
  /** True when old log files are compressed. Default true. */
  readonly logCompress?: boolean
  /** Old log files kept, 1 to 10,000. Default 14. */
  readonly logMaxFiles?: number
  /** True when log records are stored for searching. Default true. */
  readonly logDatabase?: boolean
  /** Time for which they are kept, in milliseconds. Default 30 days. */
  readonly logRetentionMs?: number
  /** Name of their table. Default `log_record`. */
  readonly logTable?: string
  /** Fields that have an index for queries by hand. Default `timestamp`. */
  readonly logIndexes?: readonly string[]
  /** Default false; true needs `syslogHost`. */
  readonly syslogEnabled?: boolean
  readonly syslogHost?: string
  /** Default 514. */
  readonly syslogPort?: number
  /** `udp` (default), `tcp` or `tls`. */
  readonly syslogProtocol?: 'udp' | 'tcp' | 'tls'
  /** A file of certificates (PEM) to trust instead of the system's. */
  readonly syslogCa?: string
  /** A facility of RFC 5424 by its usual name. Default `local0`. */
  readonly syslogFacility?: string
  readonly searchEngineUrl?: string
  /** Default `patchbay-logs`. */
  readonly searchEngineIndex?: string
  /** Default false; true needs `assistantApiKey`. */
  /** Collector of traces (OTLP over HTTP); absent: nothing is traced. */
  readonly otelEndpoint?: string
  /** `name=value`, joined by commas. */
  readonly otelHeaders?: string
  /** Default `patchbay`. */
  readonly otelServiceName?: string
  /** Part of the calls that is traced if the caller does not decide, 0 to 1. Default 0.01. */
  readonly otelRatio?: number
  /** Strangers may read names and descriptions of public groups. Default false. */
  readonly discoveryEnabled?: boolean
  readonly assistantEnabled?: boolean
  readonly assistantApiKey?: string
}

/** Source of a value; `env` outranks `file`, which outranks `store`. */
export type ConfigSource = 'default' | 'file' | 'env' | 'store'
