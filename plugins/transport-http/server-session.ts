import type { GuardedResponse } from 'patchbay/contract'
import { readErrorBody } from './answers.ts'

const PING = '{"jsonrpc":"2.0","id":"session-check","method":"ping"}'
/** Errors of a server that has read the request, and so knows the session: its method or its parameters displease. */
const READ: readonly (number | undefined)[] = [-32_601, -32_602]

/** The session that the server has given, if any. */
export class ServerSession {
  readonly #post: (body: string) => Promise<GuardedResponse>
  #id: string | undefined
  #asking: Promise<boolean> | undefined

  /** `post` sends a request within the session. */
  constructor(post: (body: string) => Promise<GuardedResponse>) {
    this.#post = post
  }

  get given(): boolean {
    return this.#id !== undefined
  }

  /** False: the id cannot be used, since it is not visible ASCII. */
  learn(id: string): boolean {
    if (id.length > 1024 || !/^[\x21-\x7e]+$/.test(id)) return false
    this.#id = id
    return true
  }

  /**
   * Whether the server still knows the session. The specification wants HTTP 404 for one that it does not know, but many
   * servers answer 400, which may have any other reason. A ping can have none of these: where it meets 400 too, the session is
   * gone. One question at a time, whose answer all wait for. True also when nobody answers: that says nothing about the session.
   */
  known(): Promise<boolean> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined
    })
    return this.#asking
  }

  async #ask(): Promise<boolean> {
    try {
      const response = await this.#post(PING)
      if (response.status === 400) return READ.includes(readErrorBody(await response.text(), undefined)?.code)
      response.cancel()
      return response.status !== 404
    } catch {
      return true
    }
  }
}
