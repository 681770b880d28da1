import type { AskReply } from '../../connections/api.ts'
import type { JsonObject, JsonValue } from '../../contract/json.ts'
import type { ByteAccount } from '../../domain/byte-account.ts'
import { checkResponse, type InputRequest, inputRequest, missingCapability } from './input-requests.ts'

/** Server requests of an upstream within this time are sent to the client together. */
const ROUND_MS = 20

interface OpenInputRequest extends InputRequest {
  answer(reply: AskReply): void
}

/** Sends the client what is open, now or with its next request; false when the hub cannot wait for its answers. */
type Send = (requests: ReadonlyMap<string, InputRequest>) => boolean

/** The server requests of one call that its client has not answered, sent to it in rounds. */
export class OpenInputRequests {
  readonly #account: ByteAccount
  readonly #send: Send
  readonly #open = new Map<string, OpenInputRequest>()
  #last = 0
  #round: ReturnType<typeof setTimeout> | undefined

  constructor(account: ByteAccount, send: Send) {
    this.#account = account
    this.#send = send
  }

  /** Adds a request to the next round. `signal` withdraws it. */
  add(method: string, params: JsonObject | undefined, signal: AbortSignal): Promise<AskReply> {
    const account = this.#account
    const bytes = params ? 2 * JSON.stringify(params).length : 0
    if (!account.fits(bytes)) return Promise.resolve(tooMuch())
    account.add(bytes)
    this.#last += 1
    const key = `${method.split('/')[0]}_${this.#last}`
    const { promise, resolve } = Promise.withResolvers<AskReply>()
    const answer = (reply: AskReply): void => {
      signal.removeEventListener('abort', withdraw)
      account.give(bytes)
      resolve(reply)
    }
    const withdraw = (): void => {
      if (this.#open.delete(key)) answer(withdrawn())
    }
    signal.addEventListener('abort', withdraw, { once: true })
    this.#open.set(key, { ...inputRequest(method, params), answer })
    return promise
  }

  /** Throws params_invalid for a response of a wrong shape. */
  check(responses: JsonObject): void {
    for (const [key, ask] of this.#open)
      if (Object.hasOwn(responses, key)) checkResponse(key, ask, responses[key] as JsonValue)
  }

  /** Takes the responses of a client with these capabilities, and asks it again for what is still open. */
  takeResponses(responses: JsonObject, capabilities: JsonObject): void {
    for (const [key, { method, params, answer }] of [...this.#open]) {
      const answered = Object.hasOwn(responses, key)
      if (!answered && !missingCapability(method, params, capabilities)) continue
      this.#open.delete(key)
      answer(answered ? { result: responses[key] as JsonValue } : notOffered(method))
    }
    if (this.#open.size > 0) this.beginRound()
  }

  beginRound(): void {
    this.#round ??= setTimeout(() => {
      this.#round = undefined
      this.#sendRound()
    }, ROUND_MS)
  }

  /** The call has ended: the upstream gets an error for each. */
  end(): void {
    clearTimeout(this.#round)
    for (const { answer } of this.#open.values()) answer(withdrawn())
  }

  #sendRound(): void {
    if (this.#open.size === 0 || this.#send(this.#open)) return
    for (const [key, { answer }] of [...this.#open]) {
      this.#open.delete(key)
      answer({
        error: { code: -32603, message: 'The hub cannot wait for the client: too many requests do, or it is stopping' },
      })
    }
  }
}

/** The reply for a request that the client did not declare to support. */
export function notOffered(method: string): AskReply {
  return { error: { code: -32601, message: `The client does not offer ${method}` } }
}

/** The reply for a request that nobody will answer any more. */
export function withdrawn(): AskReply {
  return { error: { code: -32603, message: 'The request was withdrawn before the client answered' } }
}

function tooMuch(): AskReply {
  return { error: { code: -32603, message: 'The hub cannot keep the question: its user has too much in flight' } }
}
