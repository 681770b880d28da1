import type { AskClient } from '../api.ts'
import { within } from '../within.ts'
import { PendingCall } from './call.ts'
import type { Connection } from './connection.ts'

/** Longest wait of calls for the server's question about the roots; a session's client has as long to answer. */
const ROOTS_MS = 300
/** The same after a change of the roots, of a server that has asked after such a change before. */
const AGAIN_MS = 2_000
/** After this many waits in a row without a question, the server does not ask after changes. */
const SILENT_WAITS = 3
/** Shortest time that a server may need after the answer, in milliseconds, since it checks the folders before it uses them. */
const TAKEN_MS = 40
/** The server gets this many times the round trip of a ping to check the folders, at most `ROOTS_MS`: a busy machine needs more time. */
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
    this.#limit()
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
    this.#timer = setTimeout(() => this.#over(), this.#changed && this.#asksAgain ? AGAIN_MS : ROOTS_MS)
  }

  async #answered(connection: Connection, turn: number): Promise<void> {
    if (this.#turn !== turn) return
    this.#open -= 1
    if (this.#open > 0) return
    this.#limit()
    // The server has read the client's answer when it answers this.
    const ping = new PendingCall({ method: 'ping', params: undefined })
    const askedMs = performance.now()
    connection.send(ping)
    if ((await within(ping.reply, ROOTS_MS)) === undefined) ping.cancel()
    const takenMs = Math.min(Math.max(TAKEN_MS, TAKEN_TIMES * (performance.now() - askedMs)), ROOTS_MS)
    await new Promise(resolve => setTimeout(resolve, takenMs))
    if (this.#turn === turn && this.#open === 0) this.#over()
  }

  #over(): void {
    const ready = this.#ready
    this.#silentWaits = this.#heard ? 0 : this.#silentWaits + 1
    this.end()
    ready?.()
  }
}
