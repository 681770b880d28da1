declare module '../contract/events.ts' {
  interface PluginEvents {
    'log.record': LogRecord
  }
}

/** Most severe first. */
export type LogLevel = 'ERROR' | 'WARN' | 'INFO' | 'DEBUG' | 'TRACE'

/** The structured log record of the specification. `duration` in milliseconds. */
export interface LogRecord {
  readonly timestamp: string
  readonly level: LogLevel
  readonly message: string
  readonly server?: string
  readonly tool?: string
  readonly duration?: number
  readonly status?: string
  readonly requestId?: string
  readonly userId?: string
  /** The part of the hub that logged it, such as `mcp`, `plugin:groups` or `server`. */
  readonly component?: string
  /** The user who may read it besides administrators. Not part of the written line. */
  readonly ownerId?: string
  readonly [field: string]: unknown
}
