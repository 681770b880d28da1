import type { PluginLogger } from '../contract/plugin.ts'

const PER_SECOND = 100
const BURST = 1_000

/** The server that said something. */
interface Speaker {
  readonly id: string
  readonly ownerId: string
  readonly name: string
}

interface Allowance {
  left: number
  atMs: number
  leftOut: number
  timer: ReturnType<typeof setTimeout> | undefined
}

/**
 * Logs what upstream servers say, as records of the server: 100 a second for each, after 1,000 at once. The number of
 * those left out is logged within a second.
 */
export class UpstreamRecords {
  readonly #log: Pick<PluginLogger, 'debug' | 'info' | 'warn' | 'error'>
  readonly #now: () => number
  readonly #allowances = new Map<string, Allowance>()

  /** `now`: milliseconds of a clock that never goes back. */
  constructor(
    log: Pick<PluginLogger, 'debug' | 'info' | 'warn' | 'error'>,
    now: () => number = () => performance.now(),
  ) {
    this.#log = log
    this.#now = now
  }

  write(
    server: Speaker,
    level: 'debug' | 'info' | 'warn' | 'error',
    message: string,
    fields: Readonly<Record<string, string>>,
  ): void {
    const allowance = this.#allowance(server.id)
    if (allowance.left < 1) {
      allowance.leftOut += 1
      allowance.timer ??= setTimeout(() => this.#tell(server, allowance), 1_000).unref()
      return
    }
    allowance.left -= 1
    this.#log[level](message, { ...of(server), ...fields })
  }

  /** The server was deleted. */
  forget(serverId: string): void {
    clearTimeout(this.#allowances.get(serverId)?.timer)
    this.#allowances.delete(serverId)
  }

  #allowance(serverId: string): Allowance {
    const ms = this.#now()
    const known = this.#allowances.get(serverId)
    if (known) {
      known.left = Math.min(BURST, known.left + ((ms - known.atMs) / 1_000) * PER_SECOND)
      known.atMs = ms
      return known
    }
    const made: Allowance = { left: BURST, atMs: ms, leftOut: 0, timer: undefined }
    this.#allowances.set(serverId, made)
    return made
  }

  #tell(server: Speaker, allowance: Allowance): void {
    const { leftOut } = allowance
    allowance.timer = undefined
    allowance.leftOut = 0
    this.#log.warn(
      `${leftOut} records of a server were left out: it wrote more than ${PER_SECOND} a second`,
      of(server),
    )
  }
}

function of({ id, ownerId, name }: Speaker) {
  return { component: 'server', server: name, serverId: id, ownerId }
}
