import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { isPlainObject, parseExact } from '../../domain/json/exact-json.ts'
import { serverRequestKind } from '../../domain/mcp-methods.ts'
import { type InputRequest, readInputRequests } from '../../domain/tools/input-requests.ts'
import type { RpcError } from '../api.ts'
import type { CallHome, PendingCall } from '../connection/call.ts'

/** Most rounds of input for one call, and the longest time for each round. */
const MOST_ROUNDS = 8
const ROUND_MS = 10 * 60_000
/** The only requests to which a modern server may respond with `inputRequests`. */
const MAY_ASK: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

/**
 * Translates `inputRequests` of modern servers for legacy clients: each becomes a server request on the stream of the
 * call, all at once; then the call is sent again with the answers and the server's `requestState`.
 */
export class InputRounds implements CallHome {
  readonly #again: (call: PendingCall) => void
  readonly #asking = new Map<PendingCall, AbortController>()

  /** `again` sends the call again. */
  constructor(again: (call: PendingCall) => void) {
    this.#again = again
  }

  /** Number of calls that wait for input. */
  get size(): number {
    return this.#asking.size
  }

  /** `text` is the result with `inputRequests`. From here on this object alone holds the call. */
  begin(call: PendingCall, text: string): void {
    const result = parseExact(text)
    const { inputRequests, requestState } = isPlainObject(result) ? result : {}
    const questions = inputRequests === undefined ? [] : readInputRequests(inputRequests)
    const state = typeof requestState === 'string' ? requestState : undefined
    if (!MAY_ASK.has(call.request.method) || !questions || (questions.length === 0 && state === undefined)) {
      call.fail('upstream_protocol', 'The server answered with a request for input that cannot be understood')
      return
    }
    call.rounds += 1
    if (call.rounds > MOST_ROUNDS) {
      call.fail('upstream_protocol', `The server asked for input more than ${MOST_ROUNDS} times for one request`)
      return
    }
    const unable = questions.find(({ method }) => !canAnswer(call, method))
    if (unable) {
      call.fail('client_capability_missing', `The server asks for ${unable.method}, which the client does not offer`)
      return
    }
    call.home = this
    void this.#round(call, questions, state)
  }

  withdraw(call: PendingCall): void {
    this.#asking.get(call)?.abort()
    this.#asking.delete(call)
  }

  async #round(call: PendingCall, questions: readonly InputRequest[], state: string | undefined): Promise<void> {
    const controller = new AbortController()
    this.#asking.set(call, controller)
    let failure: RpcError | undefined
    let late = false
    const stop = (error?: RpcError): void => {
      failure ??= error
      controller.abort()
    }
    const timer = setTimeout(() => {
      late = true
      stop()
    }, ROUND_MS)
    const responses: JsonObject = {}
    await Promise.all(
      questions.map(async ({ key, method, params }) => {
        try {
          const reply = await call.request.ask?.(method, params, controller.signal)
          if (reply && 'result' in reply) responses[key] = reply.result
          // The first error decides; those that follow come from requests that it aborted.
          else if (!controller.signal.aborted) stop(reply?.error)
        } catch (error) {
          stop({ code: -32603, message: error instanceof HubError ? error.message : 'The client could not be asked' })
        }
      }),
    )
    clearTimeout(timer)
    if (!this.#asking.delete(call)) return
    if (late) {
      call.fail(
        'upstream_timeout',
        `The client did not answer the server's questions within ${ROUND_MS / 60_000} minutes`,
      )
    } else if (controller.signal.aborted) {
      call.finish({ kind: 'error', error: failure ?? { code: -32603, message: 'The client could not be asked' } })
    } else {
      call.input = {
        ...(questions.length > 0 ? { inputResponses: responses } : {}),
        ...(state === undefined ? {} : { requestState: state }),
      }
      this.#again(call)
    }
  }
}

function canAnswer({ request }: PendingCall, method: string): boolean {
  const capability = serverRequestKind(method)
  return (
    request.ask !== undefined && capability !== undefined && request.session?.capabilities[capability] !== undefined
  )
}
