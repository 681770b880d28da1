import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import type { McpContext, McpMessage, McpMiddleware } from '../../contract/points.ts'
import { parseExact } from '../../domain/json/exact-json.ts'
import { mustHoldMore, scanShape } from '../../domain/json/json-shape.ts'
import type { Exchange, Outcome } from './exchange.ts'
import { checkPassed, checkResult, readableRefusal } from './middleware-faults.ts'

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

/** Counts what middlewares do, by the plugin that each is of. */
export interface MiddlewareWatch {
  /** The name of the plugin. */
  pluginOf(middleware: McpMiddleware): string
  /** `refused`: it refused the request or answered it itself; `failed`, `skipped`: it threw or took too long. */
  ended(middleware: McpMiddleware, how: 'refused' | 'failed' | 'skipped', error?: unknown): void
}

/** Effects of middlewares on one request, recorded while they run. */
export interface MiddlewareTrace {
  /** The plugin that refused the request, answered it, or made a failure of its result. */
  by?: string
  /** Plugins whose middleware failed and was skipped. */
  readonly skipped: Set<string>
}

/** Result of the middlewares. `isError`: the result has it set. */
export interface MiddlewareEnd {
  readonly outcome: Outcome
  readonly isError: boolean
}

/** One request, and what its middlewares need. */
export interface MiddlewareRun {
  readonly exchange: Exchange
  readonly given: JsonObject | undefined
  readonly watch: MiddlewareWatch
  readonly trace: MiddlewareTrace
  readonly context: (params: JsonObject | undefined) => McpContext
}

/**
 * Runs an exchange through middlewares, with the given parameters. `dispatch` checks names and rights on the parameters that
 * reach it, so a middleware that rewrites them gains no rights.
 */
export async function runMiddlewares(
  middlewares: readonly McpMiddleware[],
  dispatch: Dispatch,
  one: MiddlewareRun,
): Promise<MiddlewareEnd> {
  const { exchange, given } = one
  const run = async (index: number, message: Omit<McpMessage, 'context'>): Promise<JsonValue> => {
    const middleware = middlewares[index]
    const { params } = message
    if (middleware) {
      const whole = { ...message, context: one.context(params) }
      return guarded(middleware, whole, next => run(index + 1, next), one)
    }
    if (params !== given && params !== undefined) refuseLargeParams(params)
    const outcome = await dispatch(params)
    if (outcome.kind !== 'result') throw new Passed(outcome)
    return parseExact(String(outcome.resultText))
  }
  try {
    const result = await run(0, { method: exchange.method, params: given, actor: exchange.actor })
    const resultText = writtenResult(result, exchange.target?.member.server.maxResultBytes)
    return { outcome: { kind: 'result', resultText }, isError: isFailure(result) }
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
  const text = JSON.stringify(result)
  if (Buffer.byteLength(text) <= maxBytes) return text
  const message = `The result is longer than ${maxBytes} bytes after the middlewares`
  throw new HubError('result_too_large', message)
}

/** A request of this method may have side effects, so it is not sent twice. */
const ACTING = 'tools/call'

type Next = (message: Omit<McpMessage, 'context'>) => Promise<JsonValue>

/** Result or error that `next` gave to a middleware; undefined: `next` was not called, or has not returned yet. */
type Inside = { readonly value: JsonValue } | { readonly error: unknown } | undefined

/** Runs one middleware, and notes what it did to the request. */
async function guarded(middleware: McpMiddleware, message: McpMessage, next: Next, run: MiddlewareRun) {
  let behind: Promise<JsonValue> | undefined
  let inside: Inside
  const goInside: Next = async changed => {
    checkPassed(middleware, message, changed)
    behind = next(changed)
    try {
      const value = await behind
      inside = { value }
      return value
    } catch (error) {
      inside = { error }
      throw error
    }
  }
  try {
    const result = await limited(middleware, message, goInside)
    checkResult(middleware, message, result, givenInside(inside))
    if (behind === undefined || isOwnFailure(result, inside)) noteEnd(run, middleware, 'refused')
    return result
  } catch (error) {
    // An error of what lies inside is passed on, and is not of this middleware.
    if (error instanceof Passed || isOf(inside, error)) throw error
    const refusal = asRefusal(error)
    if (middleware.onError === 'closed' || refusal?.code === 'blocked_by_plugin') {
      noteEnd(run, middleware, refusal ? 'refused' : 'failed', error)
      throw toCaller(run, middleware, refusal, error)
    }
    noteEnd(run, middleware, 'skipped', error)
    // Not dispatched again after `next` ran: a tools/call may have had its side effects.
    return await (behind ?? next(message))
  }
}

/** Runs a middleware within its own time limit; the time spent in `next` does not count. */
async function limited(middleware: McpMiddleware, message: McpMessage, next: Next): Promise<JsonValue> {
  const { method, timeoutMs } = middleware
  const late = Promise.withResolvers<never>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let entered = false
  let over = false
  const startClock = () => {
    if (over) return
    const reason = `A middleware for ${method} took longer than ${timeoutMs} ms`
    timer = setTimeout(() => late.reject(new HubError('internal', reason)), timeoutMs)
  }
  startClock()
  try {
    const handled = middleware.handle(message, async changed => {
      if (entered && message.method === ACTING) {
        throw new HubError('internal', `A middleware for ${method} called next twice for one ${ACTING}`)
      }
      entered = true
      clearTimeout(timer)
      try {
        return await next(changed)
      } finally {
        startClock()
      }
    })
    return await Promise.race([handled, late.promise])
  } finally {
    over = true
    clearTimeout(timer)
  }
}

function noteEnd(
  { watch, trace }: MiddlewareRun,
  middleware: McpMiddleware,
  how: 'refused' | 'failed' | 'skipped',
  error?: unknown,
): void {
  const plugin = watch.pluginOf(middleware)
  if (how === 'skipped') trace.skipped.add(plugin)
  else trace.by = plugin
  watch.ended(middleware, how, error)
}

/** True for a result with `isError` that what lies inside did not give. */
function isOwnFailure(result: JsonValue, inside: Inside): boolean {
  return isFailure(result) && !(inside && 'value' in inside && isFailure(inside.value))
}

/** True for the error of what lies inside. */
function isOf(inside: Inside, error: unknown): boolean {
  return inside !== undefined && 'error' in inside && isSame(error, inside.error)
}

function asRefusal(error: unknown): HubError | undefined {
  return error instanceof HubError && !FAILURES.has(error.code) ? error : undefined
}

/** Codes of a middleware that failed, rather than refused. */
const FAILURES: ReadonlySet<string> = new Set(['internal', 'plugin_failed'])

/** An error that crossed a thread is another object with the same words. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true
  return (
    one instanceof HubError && other instanceof HubError && one.code === other.code && one.message === other.message
  )
}

function isFailure(result: JsonValue): boolean {
  return isJsonObject(result) && result.isError === true
}

/** The error that the caller gets for a request that a middleware refused, or that was refused since it failed. */
function toCaller({ watch }: MiddlewareRun, middleware: McpMiddleware, refusal: HubError | undefined, error: unknown) {
  return refusal ? readableRefusal(refusal, watch.pluginOf(middleware)) : closedError(middleware, error)
}

/** The result that `next` gave; undefined without one. */
function givenInside(inside: Inside): JsonValue | undefined {
  return inside && 'value' in inside ? inside.value : undefined
}

/** A plugin's own error text goes to the log, not to the caller. */
function closedError(middleware: McpMiddleware, cause: unknown): HubError {
  return new HubError('internal', `A middleware for ${middleware.method} failed, so the request was refused`, { cause })
}
