import type { LogLevel } from '../features/log-records.ts'

/** A level as it is configured: the least severe one that is logged. */
export type LevelName = Lowercase<LogLevel>

/** Names of the hub's components in records, whose levels can be set. */
export const COMPONENTS: readonly string[] = [
  ...['hub', 'http', 'mcp', 'connections', 'registry', 'plugins', 'alerts', 'assistant'],
]

/** Severity by level; a record is logged if it is at least as severe as the configured level. */
export const SEVERITY: Readonly<Record<LogLevel, number>> = { ERROR: 50, WARN: 40, INFO: 30, DEBUG: 20, TRACE: 10 }

/** One level that was set at run time. `key` is a component or `server:owner~name`. */
export interface LevelChange {
  readonly key: string
  /** null: the level of `LOG_LEVEL` applies again. */
  readonly level: LevelName | null
  /** The server that `key` names. A server keeps its level when it is renamed. */
  readonly serverId?: string
  /** Milliseconds after which the change ends. Absent: when the hub stops. */
  readonly forMs?: number
}

interface Override {
  readonly key: string
  readonly level: LevelName
  readonly until: string | undefined
  readonly timer: ReturnType<typeof setTimeout> | undefined
}

/** Log levels: the hub's level, and others for single components and servers. */
export class LogLevels {
  #default: LevelName
  #least: number
  readonly #components = new Map<string, Override>()
  /** By server id. */
  readonly #servers = new Map<string, Override>()

  constructor(level: LevelName) {
    this.#default = level
    this.#least = severityOf(level)
  }

  get default(): LevelName {
    return this.#default
  }

  setDefault(level: LevelName): void {
    this.#default = level
    this.#least = severityOf(level)
  }

  /** True when the level is logged. A server's own level overrides that of the component. */
  allows(level: LogLevel, component: string | undefined, serverId: string | undefined): boolean {
    const severity = SEVERITY[level]
    if (this.#components.size === 0 && this.#servers.size === 0) return severity >= this.#least
    const server = serverId === undefined ? undefined : this.#servers.get(serverId)
    const override = server ?? this.#ofComponent(component)
    return severity >= (override ? severityOf(override.level) : this.#least)
  }

  /** Override of a component. `plugins` applies to every `plugin:<name>`. */
  #ofComponent(component = ''): Override | undefined {
    const all = component.startsWith('plugin:') ? 'plugins' : ''
    return this.#components.get(component) ?? this.#components.get(all)
  }

  set({ key, level, serverId, forMs }: LevelChange): void {
    const map = serverId === undefined ? this.#components : this.#servers
    const id = serverId ?? key
    clearTimeout(map.get(id)?.timer)
    map.delete(id)
    if (level === null) return
    const until = forMs === undefined ? undefined : new Date(Date.now() + forMs).toISOString()
    const timer = forMs === undefined ? undefined : setTimeout(() => map.delete(id), forMs)
    timer?.unref()
    map.set(id, { key, level, until, timer })
  }

  /** Levels that differ from the default, by key. `until`: ISO 8601 UTC. */
  list(): readonly { readonly key: string; readonly level: LevelName; readonly until?: string }[] {
    return [...this.#components.values(), ...this.#servers.values()]
      .map(({ key, level, until }) => ({ key, level, ...(until === undefined ? {} : { until }) }))
      .sort((a, b) => (a.key < b.key ? -1 : 1))
  }
}

function severityOf(level: LevelName): number {
  return SEVERITY[level.toUpperCase() as LogLevel]
}
