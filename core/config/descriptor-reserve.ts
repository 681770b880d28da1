import { closeSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { onThreadStarts } from '../events/thread-starts.ts'
import { StartError } from './start-error.ts'

/** Accepts connections from the system, and can stop that. */
export interface ConnectionGate {
  /** Stops accepting connections until `open`: new ones wait in the system's queue. False if that is not possible. */
  close(): boolean
  open(): void
  /**
   * Closes idle connections, so that new ones can be accepted. `more`: number of connections in use that are closed as well, all of
   * the client that holds the most.
   */
  closeIdle(more: number): void
  /** Takes connections as before; the gate cannot be used any more. */
  dispose(): void
}

/** With fewer descriptors the hub does not start: it needs about half of them for itself. */
const LEAST = 96
/** Descriptors that are held for threads, files and programs of the hub: an eighth of the limit, 12 to 64. */
const HELD = { part: 8, least: 12, most: 64 }
/** No connection is accepted while fewer descriptors than this are free, not counting the held ones. */
const CLOSE_BELOW = 8
/** Streams are refused while fewer than an eighth of the limit are left, at least this many, so that requests of others have room. */
const CROWDED = { part: 8, least: 24 }
/**
 * Longest time for which the gate is closed while clients keep their connections, in milliseconds; then some connections of the
 * client with the most are ended.
 */
const WAIT_MS = 1_000
/** Longest time in which a starting thread opens its descriptors, in milliseconds. */
const THREAD_START_MS = 1_000
/**
 * With more free descriptors than this, none must be kept for a thread: one turn accepts no more connections than the system
 * queues.
 */
const PLENTY = 2_048
/** A folder with the open descriptors of this process. */
const OPEN = '/proc/self/fd'
/** Between two counts, in milliseconds: with few descriptors left, and with plenty. */
const COUNT_MS = { few: 100, plenty: 1_000 }
/** Pause until the next count, as a multiple of the last count's duration, which grows with the number of connections. */
const REST = 20

/**
 * Keeps file descriptors free for the hub itself, since connections of clients use all that are available. It holds some open;
 * when the others are used up, it closes the gate for connections and releases them, until enough are free again. Does nothing
 * if the system does not report the number of open ones.
 */
export class DescriptorReserve {
  readonly #wanted: number
  readonly #unsubscribe: () => void
  #held: number[] = []
  #gate: ConnectionGate | undefined
  #isClosed = false
  #isCrowded = false
  /** Since when too few are left to take connections. */
  #shortSinceMs: number | undefined
  /** Number of starting threads that have not opened their descriptors yet. */
  #threads = 0
  #closedUntilMs = 0
  #timer: ReturnType<typeof setTimeout> | undefined

  /** Throws StartError: descriptors_short. */
  constructor() {
    const limit = descriptorLimit()
    if (limit !== undefined && limit < LEAST) throw tooFew(limit)
    this.#wanted = limit === undefined ? 0 : Math.min(HELD.most, Math.max(HELD.least, Math.floor(limit / HELD.part)))
    this.#hold()
    this.#unsubscribe = onThreadStarts({ before: () => this.#makeRoom(), running: () => this.#threadRuns() })
  }

  /** Counts from now on, and closes the gate while descriptors are short. Returns what ends that. */
  guard(gate: ConnectionGate): () => void {
    this.#gate = gate
    // The reserve was released for the threads that started before, so it is opened again.
    this.#hold()
    this.#count()
    return () => {
      if (this.#gate === gate) this.#unguard()
    }
  }

  /** Number of free descriptors, including reserved ones; undefined when unknown. */
  get free(): number | undefined {
    const counted = freeDescriptors()
    return counted === undefined ? undefined : counted + this.#held.length
  }

  /** True when few descriptors are left, so that no connection should stay open for long; counted at most 100 ms ago. */
  get isCrowded(): boolean {
    return this.#isCrowded
  }

  dispose(): void {
    this.#unsubscribe()
    this.#unguard()
  }

  #unguard(): void {
    clearTimeout(this.#timer)
    this.#gate?.dispose()
    this.#gate = undefined
    this.#isClosed = false
    this.#isCrowded = false
    this.#release()
  }

  /** A thread is starting: connections must not use the descriptors that it needs. */
  #makeRoom(): void {
    const { free } = this
    this.#threads += 1
    if (free === undefined || free > PLENTY) return
    this.#closedUntilMs = performance.now() + THREAD_START_MS
    this.#close()
    // Released even if the gate cannot be closed, since the thread needs them.
    this.#release()
    this.#schedule(COUNT_MS.few)
  }

  /** Connections wait no longer than the threads take. */
  #threadRuns(): void {
    this.#threads -= 1
    if (this.#threads > 0 || !this.#isClosed) return
    this.#closedUntilMs = 0
    this.#count()
  }

  readonly #count = (): void => {
    const startedAtMs = performance.now()
    const { free } = this
    if (free === undefined) return
    const left = free - this.#wanted
    this.#isCrowded = left < Math.max(CROWDED.least, (descriptorLimit() ?? 0) / CROWDED.part)
    if (left < CLOSE_BELOW) this.#close()
    else if (this.#isClosed && left >= 2 * CLOSE_BELOW && performance.now() >= this.#closedUntilMs) this.#open()
    if (this.#isCrowded) this.#gate?.closeIdle(this.#missing(left))
    const tookMs = performance.now() - startedAtMs
    this.#schedule(Math.max(left > PLENTY ? COUNT_MS.plenty : COUNT_MS.few, REST * tookMs))
  }

  /** Number of connections in use that must end, so that others are taken again. */
  #missing(left: number): number {
    const nowMs = performance.now()
    if (!this.#isClosed || left >= 2 * CLOSE_BELOW) this.#shortSinceMs = undefined
    else this.#shortSinceMs ??= nowMs
    if (this.#shortSinceMs === undefined || nowMs - this.#shortSinceMs < WAIT_MS) return 0
    // They need a moment to end.
    this.#shortSinceMs = nowMs
    return 2 * CLOSE_BELOW - left
  }

  #schedule(ms: number): void {
    if (!this.#gate) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(this.#count, ms)
    this.#timer.unref()
  }

  #close(): void {
    // Released in the same turn of the event loop, in which no connection is accepted.
    if (!this.#isClosed && this.#gate?.close() === false) return
    this.#isClosed = this.#gate !== undefined
    this.#release()
  }

  #open(): void {
    this.#hold()
    this.#isClosed = false
    this.#gate?.open()
  }

  #hold(): void {
    try {
      while (this.#held.length < this.#wanted) this.#held.push(openSync('/dev/null', 'r'))
    } catch {
      // Holds as many as are available.
    }
  }

  #release(): void {
    for (const held of this.#held.splice(0)) closeSync(held)
  }
}

function tooFew(limit: number): StartError {
  const how = 'raise the limit (ulimit -n 1024, LimitNOFILE=1024 of systemd, --ulimit nofile=1024 of docker)'
  return new StartError(
    'descriptors_short',
    `The hub may open ${limit} files and connections at once, and needs ${LEAST} at least; ${how}`,
  )
}

/** Soft limit of this process; undefined: none, or not known. Read each time, since it can be changed from outside. */
export function descriptorLimit(): number | undefined {
  try {
    return limitIn(readFileSync('/proc/self/limits', 'latin1'))
  } catch {
    return undefined
  }
}

/** Number of descriptors that this process can still open; undefined when unknown. */
export function freeDescriptors(): number | undefined {
  try {
    const limit = limitIn(readFileSync('/proc/self/limits', 'latin1'))
    // Since Linux 6.2 the size of this folder is the number of its entries; before, it is 0.
    return limit === undefined ? undefined : limit - (statSync(OPEN).size || readdirSync(OPEN).length)
  } catch (error) {
    // Reading needs one descriptor.
    return (error as NodeJS.ErrnoException).code === 'EMFILE' ? 0 : undefined
  }
}

function limitIn(limits: string): number | undefined {
  const soft = /^Max open files +(\d+)/m.exec(limits)?.[1]
  return soft === undefined ? undefined : Number(soft)
}
