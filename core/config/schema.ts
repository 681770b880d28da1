/** The hub's own configuration after all layers. Paths are absolute; durations are milliseconds. */
export interface HubConfig {
  /** 0 takes a free port. */
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
  readonly adminUsername?: string
  readonly adminPassword?: string
  /** CIDR or addresses. */
  readonly trustedProxies: readonly string[]
  readonly metricsToken?: string
  readonly stdioPolicy: 'sandboxed' | 'admin' | 'off'
  /** CIDR. */
  readonly outboundAllow: readonly string[]
  readonly workers: number
  readonly logLevel: 'error' | 'warn' | 'info' | 'debug' | 'trace'
  readonly logFormat: 'json' | 'pretty'
  readonly logFile?: string
  readonly requestLogs: boolean
}

export type ConfigSource = 'default' | 'file' | 'env' | 'store'
