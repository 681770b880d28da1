import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { McpMessage, McpMiddleware } from '../../contract/points.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import { mustHoldMore, scanShape } from '../../domain/json/json-shape.ts'
import type { Exchange, Outcome } from './exchange.ts'

/** Carries an outcome that is not a result through the middlewares unchanged. */
class Passed extends Error {
  readonly outcome: Outcome
  constructor(outcome: Outcome) {
    super('error' in outcome ? outcome.error.message : 'The call was cancelled')
    this.outcome = outcome
  }
}

type Dispatch = (params: JsonObject | undefined) => Outcome | Promise<Outcome>

/** The middlewares that apply to a method, outermost first; none for most methods of most hubs. */
export function matchingMiddlewares(middlewares: readonly McpMiddleware[], method: string): readonly McpMiddleware[] {
  const matching = middlewares.filter(({ method: pattern }) =>
    pattern.endsWith('*') ? method.startsWith(pattern.slice(0, -1)) : pattern === method,
  )
  return matching.sort((a, b) => (a.order ?? 0) - (b.order ?? 0))
}

/** Result of the middlewares. `isError`: the result has it set. */
export interface MiddlewareEnd {
  readonly outcome: Outcome
  readonly isError: boolean
}

/**
 * Runs an exchange through middlewares, with these parameters. `dispatch` checks names and rights on the parameters that reach it, so a
 * middleware that rewrites them gains no rights.
 */
export async function runMiddlewares(
  middlewares: readonly McpMiddleware[],
  exchange: Exchange,
  given: JsonObject | undefined,
  dispatch: Dispatch,
): Promise<MiddlewareEnd> {
  const run = async (index: number, message: McpMessage): Promise<JsonValue> => {
    const middleware = middlewares[index]
    if (middleware) return guarded(middleware, message, next => run(index + 1, next))
    if (message.method !== exchange.method)
      throw new HubError('request_invalid', `A middleware may not turn ${exchange.method} into another method`)
    const { params } = message
    if (params !== given && params !== undefined) refuseLargeParams(params)
    const outcome = await dispatch(params)
    if (outcome.kind !== 'result') throw new Passed(outcome)
    return parseExact(String(outcome.resultText))
  }
  try {
    const result = await run(0, { method: exchange.method, params: given, actor: exchange.actor })
    const resultText = writtenResult(result, exchange.target?.member.server.maxResultBytes)
    return { outcome: { kind: 'result', resultText }, isError: isJsonObject(result) && result.isError === true }
  } catch (error) {
    if (error instanceof Passed) return { outcome: error.outcome, isError: false }
    throw error
  }
}

/** Applies the limits for client requests to parameters that a middleware changed. */
function refuseLargeParams(params: JsonObject): void {
  const text = JSON.stringify(params)
  if (Buffer.byteLength(text) > LIMITS.mcpBodyBytes) {
    const message = `A middleware made the request larger than ${LIMITS.mcpBodyBytes} bytes`
    throw new HubError('body_too_large', message)
  }
  const shape = scanShape(text)
  // The message around them is one level.
  if (shape.depth >= LIMITS.jsonDepth) {
    throw new HubError('json_too_deep', `A middleware nested the request more than ${LIMITS.jsonDepth} levels deep`)
  }
  if (mustHoldMore(shape, LIMITS.mcpJsonMembers)) {
    const message = `A middleware gave the request more than ${LIMITS.mcpJsonMembers} members`
    throw new HubError('json_too_large', message)
  }
}

/** Applies the server's result limit to a result that middlewares changed. */
function writtenResult(result: JsonValue, maxBytes: number = LIMITS.resultBytes): string {
  const text = JSON.stringify(result ?? {})
  if (Buffer.byteLength(text) <= maxBytes) return text
  const message = `The result is longer than ${maxBytes} bytes after the middlewares`
  throw new HubError('result_too_large', message)
}

/** A request of this method may have side effects, so it is not sent twice. */
const ACTING = 'tools/call'

type Next = (message: McpMessage) => Promise<JsonValue>

/** Runs one middleware within its own time limit; the time spent in `next` does not count. */
async function guarded(middleware: McpMiddleware, message: McpMessage, next: Next): Promise<JsonValue> {
  const late = Promise.withResolvers<never>()
  let behind: Promise<JsonValue> | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  let over = false
  const watch = () => {
    if (over) return
    timer = setTimeout(
      () => late.reject(new HubError('internal', `A middleware for ${middleware.method} took too long`)),
      middleware.timeoutMs,
    )
  }
  watch()
  try {
    const handled = middleware.handle(message, async changed => {
      if (behind && message.method === ACTING) {
        throw new HubError('internal', `A middleware for ${middleware.method} called next twice for one ${ACTING}`)
      }
      clearTimeout(timer)
      behind = next(changed)
      try {
        return await behind
      } finally {
        watch()
      }
    })
    return await Promise.race([handled, late.promise])
  } catch (error) {
    if (error instanceof Passed) throw error
    if (middleware.onError === 'closed') throw closedError(middleware, error)
    // Not dispatched again after `next` ran: a tools/call may have had its side effects.
    return await (behind ?? next(message))
  } finally {
    over = true
    clearTimeout(timer)
  }
}

function closedError(middleware: McpMiddleware, error: unknown): HubError {
  // A plugin's own error text goes to the log, not to the caller.
  if (error instanceof HubError && error.code !== 'internal') return error
  return new HubError('internal', `A middleware for ${middleware.method} failed, so the request was refused`, {
    cause: error,
  })
}
