import type { AskClient } from '../api.ts'
import { within } from '../within.ts'
import { PendingCall } from './call.ts'
import type { Connection } from './connection.ts'

/** Longest wait of calls for the question about the roots of a server that has read all that the hub sent. */
const ROOTS_MS = 300
/**
 * Longest wait for a server or a client that is busy, in milliseconds: for a ping that shows what the server has read, and for
 * the client's answer. A call that did not wait would see folders that its client does not share.
 */
const BUSY_MS = 5_000
/** The same after a change of the roots, of a server that has asked after such a change before. */
const AGAIN_MS = 2_000
/** After this many waits in a row without a question, the server does not ask after changes. */
const SILENT_WAITS = 3
/** Shortest time that a server may need after the answer, in milliseconds, since it checks the folders before it uses them. */
const TAKEN_MS = 40
/** The server gets this many times the round trip of a ping to check the folders, at most `ROOTS_MS` or the trip: a busy machine needs more time. */
const TAKEN_TIMES = 8
const ROOTS_METHOD = 'roots/list'

/**
 * Holds the calls of a client's own connection until the server knows the client's roots: until then it may use folders
 * that the client does not share.
 */
export class RootsWait {
  #connection: Connection | undefined
  #ready: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  /** Questions that the client has not answered. */
  #open = 0
  /** Number of the wait: an answer to a question of an earlier one does not count. */
  #turn = 0
  #heard = false
  /** The server has answered a ping of this wait: it has read all that could make it ask. */
  #reached = false
  /** The time for the question is over, but the server is not reached. */
  #isDue = false
  /** The wait is for a question after a change of the roots. */
  #changed = false
  #asksAgain = false
  #silentWaits = 0

  /** The connection whose calls wait; undefined: none waits. */
  get holding(): Connection | undefined {
    return this.#connection
  }

  /** True when the server asks for no roots in such waits. */
  get silent(): boolean {
    return this.#silentWaits >= SILENT_WAITS
  }

  /** Calls `ready` when calls may be sent over the connection. `changed`: `notifications/roots/list_changed` was sent before. */
  hold(connection: Connection, ready: () => void, changed: boolean): void {
    this.end()
    this.#changed = changed
    this.#connection = connection
    this.#ready = ready
    this.#heard = false
    this.#reached = false
    this.#isDue = false
    this.#limit()
    void this.#reach(connection, this.#turn)
  }

  /** Nothing waits any longer, and `ready` is not called. */
  end(): void {
    clearTimeout(this.#timer)
    this.#connection = undefined
    this.#ready = undefined
    this.#open = 0
    this.#turn += 1
  }

  /**
   * The way to the client, watched for the questions about its roots. `parks`: the client answers with its next request,
   * which the call waits for anyway.
   */
  watched(ask: AskClient, parks: boolean): AskClient {
    return (method, params, signal) => {
      const reply = ask(method, params, signal)
      const connection = this.#connection
      if (method !== ROOTS_METHOD || !connection) return reply
      this.#open += 1
      this.#heard = true
      this.#asksAgain ||= this.#changed
      if (parks) clearTimeout(this.#timer)
      else this.#limit()
      const turn = this.#turn
      const answered = (): void => void this.#answered(connection, turn)
      reply.then(answered, answered)
      return reply
    }
  }

  #limit(): void {
    clearTimeout(this.#timer)
    const forQuestion = this.#changed && this.#asksAgain ? AGAIN_MS : ROOTS_MS
    this.#timer = setTimeout(() => this.#expired(), this.#heard ? BUSY_MS : forQuestion)
  }

  #expired(): void {
    if (this.#heard || this.#reached) this.#over()
    else this.#isDue = true
  }

  /** Finds out when the server has read what was sent before; a server that asks does so at about that time. */
  async #reach(connection: Connection, turn: number): Promise<void> {
    await settle(connection, () => this.#turn === turn)
    if (this.#turn !== turn) return
    this.#reached = true
    if (this.#isDue && !this.#heard) this.#over()
  }

  async #answered(connection: Connection, turn: number): Promise<void> {
    if (this.#turn !== turn) return
    this.#open -= 1
    if (this.#open > 0) return
    this.#limit()
    // The server has read the client's answer when it answers the ping.
    await settle(connection, () => this.#turn === turn)
    if (this.#turn === turn && this.#open === 0) this.#over()
  }

  #over(): void {
    const ready = this.#ready
    this.#silentWaits = this.#heard ? 0 : this.#silentWaits + 1
    this.end()
    ready?.()
  }
}

/**
 * Waits until the server has answered a ping, and has had time to work on what it read before. The second ping shows that it ran in
 * that time: the system may have given a busy machine's processor to others.
 */
async function settle(connection: Connection, isWaiting: () => boolean): Promise<void> {
  const tripMs = await pingedMs(connection)
  if (tripMs === undefined) return
  const takenMs = Math.min(Math.max(TAKEN_MS, TAKEN_TIMES * tripMs), Math.max(ROOTS_MS, tripMs))
  await new Promise(resolve => setTimeout(resolve, takenMs))
  if (isWaiting()) await pingedMs(connection)
}

/** The time that a ping takes; undefined when it is not answered in time. */
async function pingedMs(connection: Connection): Promise<number | undefined> {
  const ping = new PendingCall({ method: 'ping', params: undefined })
  const sentMs = performance.now()
  connection.send(ping)
  if ((await within(ping.reply, BUSY_MS)) !== undefined) return performance.now() - sentMs
  ping.cancel()
  return undefined
}
