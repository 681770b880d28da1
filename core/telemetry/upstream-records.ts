import type { PluginLogger } from '../contract/plugin.ts'
import { GatheredNotices } from '../domain/log/gathered-notices.ts'
import type { ContentFilter } from '../features/filters.ts'
import { RecordAllowance } from './record-allowance.ts'

const NONE: ReadonlyMap<string, ContentFilter> = new Map()

/** The server that sent a message. */
interface Speaker {
  readonly id: string
  readonly ownerId: string
  readonly name: string
  readonly tags?: readonly string[]
}

/** Logs what upstream servers say, as records of the server, each within its allowance. */
export class UpstreamRecords {
  readonly #log: Pick<PluginLogger, 'debug' | 'info' | 'warn' | 'error'>
  readonly #allowance: RecordAllowance<Speaker>
  readonly #filters: () => ReadonlyMap<string, Pick<ContentFilter, 'logged'>>
  /** By server, over all its connections. */
  readonly #malformed = new Map<string, GatheredNotices>()

  /** `now`: milliseconds of a clock that never goes back. `filters`: change messages before they are logged. */
  constructor(
    log: Pick<PluginLogger, 'debug' | 'info' | 'warn' | 'error'>,
    now?: () => number,
    filters: () => ReadonlyMap<string, Pick<ContentFilter, 'logged'>> = () => NONE,
  ) {
    this.#log = log
    this.#filters = filters
    this.#allowance = new RecordAllowance((server, leftOut) => {
      log.warn(`${leftOut} records of a server were left out: it wrote more than 100 a second`, of(server))
    }, now)
  }

  write(
    server: Speaker,
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields: Readonly<Record<string, string>>,
  ): void {
    if (!this.#allowance.take(server)) return
    // The logger is the only field with a text of the server.
    const logger = fields.logger === undefined ? {} : { logger: this.#filtered(server, fields.logger) }
    this.#log[level](this.#filtered(server, message), { ...of(server), ...fields, ...logger })
  }

  #filtered(server: Speaker, text: string): string {
    let filtered = text
    for (const filter of this.#filters().values()) filtered = filter.logged?.(server, filtered) ?? filtered
    return filtered
  }

  /** Reports `count` malformed messages of the server; `detail` describes the last one. At most one WARN a second is written. */
  malformed(server: Speaker, detail: string, count: number): void {
    let notices = this.#malformed.get(server.id)
    if (!notices) {
      notices = new GatheredNotices((last, sent) => {
        const message =
          sent === 1 ? `The server sent ${last}` : `The server sent ${sent} malformed messages, last ${last}`
        const { component: _, ...about } = of(server)
        this.#log.warn(message, { ...about, count: sent })
      })
      this.#malformed.set(server.id, notices)
    }
    notices.add(detail, count)
  }

  /** The server was deleted. */
  forget(serverId: string): void {
    this.#malformed.get(serverId)?.flush()
    this.#malformed.delete(serverId)
    this.#allowance.forget(serverId)
  }
}

function of({ id, ownerId, name }: Speaker) {
  return { component: 'server', server: name, serverId: id, ownerId }
}
