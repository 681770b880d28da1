import { LIMITS } from '../../config/limits.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import { type JsonText, weightOfText } from '../../domain/json/long-text.ts'
import { suggestNames } from '../../domain/nearest.ts'
import type { ResultSource, ScopeView, ToolSet, ToolSetCall } from '../../features/tools.ts'
import { invalid, isPlainObject, parseExact } from '../rpc/rpc.ts'
import type { Scope } from '../scope/scope.ts'
import type { ExchangeTarget } from '../scope/scope-types.ts'
import { scopeInfo } from '../scope/tool-sets.ts'
import type { Exchange, Outcome } from './exchange.ts'
import type { Routed } from './forwarder.ts'

/** A result text as plugins write it begins or ends with this member where the tool failed. */
const FAILED = /^\{"isError":true[,}]|,"isError":true\}$/
/** Longest time for a call of a plugin's tool, in milliseconds. */
const CALL_MS = 60_000
/** The methods whose results are shortened. */
const SHORTENED: ReadonlySet<string> = new Set<ResultSource['method']>(['tools/call', 'prompts/get', 'resources/read'])

/** The parameters of the member's call that a call of a plugin's tool stands for; undefined when it stands for none. */
export function innerCall(exchange: Exchange, scope: Scope): JsonObject | undefined {
  const { params } = exchange
  const { sets } = scope.catalog.added
  const name = params?.name
  const set = sets.size > 0 && typeof name === 'string' ? sets.get(name) : undefined
  if (!set?.inner || typeof name !== 'string') return undefined
  const inner = set.inner(callOf(name, params), scopeView(scope, exchange))
  return inner && { ...params, name: inner.tool, arguments: inner.arguments }
}

/** A plugin's answer. `isError`: the tool failed. */
export interface AddedAnswer {
  readonly outcome: Outcome
  readonly isError: boolean
}

/** The plugin's answer to a call of its own tool. What it throws is `internal` to the caller unless it is a HubError. */
export async function callAddedTool(
  set: ToolSet,
  name: string,
  params: JsonObject | undefined,
  { exchange, scope }: Routed,
): Promise<AddedAnswer> {
  const call = callOf(name, params)
  const abort = new AbortController()
  const cancelled = Promise.withResolvers<AddedAnswer>()
  const late = setTimeout(() => {
    abort.abort()
    cancelled.reject(new HubError('upstream_timeout', `The tool "${name}" took longer than ${CALL_MS} ms`))
  }, CALL_MS)
  exchange.cancel = () => {
    abort.abort()
    cancelled.resolve({ outcome: { kind: 'cancelled' }, isError: false })
  }
  try {
    const answering = set.call(call, scopeView(scope, exchange), abort.signal)
    return await Promise.race([cancelled.promise, answering.then(answer => asOutcome(name, answer))])
  } catch (error) {
    if (error instanceof HubError) throw error
    throw new HubError('internal', `The plugin that offers "${name}" failed to answer`, { cause: error })
  } finally {
    clearTimeout(late)
  }
}

function callOf(tool: string, params: JsonObject | undefined): ToolSetCall {
  const given = params?.arguments ?? {}
  if (!isPlainObject(given)) throw invalid(`tools/call of "${tool}" needs "arguments" to be an object`)
  return { tool, arguments: given }
}

function asOutcome(name: string, { result }: Awaited<ReturnType<ToolSet['call']>>): AddedAnswer {
  const resultText = typeof result === 'string' ? result : JSON.stringify(result)
  if (typeof resultText !== 'string' || !resultText.startsWith('{'))
    throw new HubError('internal', `The plugin that offers "${name}" answered no object`)
  if (Buffer.byteLength(resultText) > LIMITS.resultBytes)
    throw new HubError('result_too_large', `The result of "${name}" is longer than ${LIMITS.resultBytes} bytes`)
  const isError = typeof result === 'string' ? FAILED.test(resultText) : result.isError === true
  return { outcome: { kind: 'result', resultText }, isError }
}

/**
 * A result shortened by the plugin that does so in this scope. Bytes are counted here, on the text as it came: a plugin
 * would need every result parsed to find the few that are too long. `method`: the one whose result it is.
 */
export function shortened(
  exchange: Exchange,
  scope: Scope,
  { member, original }: ExchangeTarget,
  outcome: Extract<Outcome, { kind: 'result' }>,
  maxBytes: number,
  method: string = exchange.method,
): Outcome {
  if (!SHORTENED.has(method) || isWithin(outcome.resultText, maxBytes)) return outcome
  const { shortens } = scope.catalog.added
  if (!shortens?.shorten) return outcome
  const result = parseExact(String(outcome.resultText))
  // A request for input, or a result of another shape, could not be read in pieces.
  const whole = isPlainObject(result) && (result.resultType === undefined || result.resultType === 'complete')
  if (!whole) return outcome
  const source: ResultSource = {
    method: method as ResultSource['method'],
    serverId: member.server.id,
    ...(original === undefined ? {} : { item: original }),
  }
  const shown = shortens.shorten(result, source, maxBytes, scopeView(scope, exchange))
  return shown ? { kind: 'result', resultText: JSON.stringify(shown) } : outcome
}

function isWithin(text: JsonText, maxBytes: number): boolean {
  return weightOfText(text) <= maxBytes && (typeof text !== 'string' || Buffer.byteLength(text) <= maxBytes)
}

/** A scope as a tool set sees it. `capabilities`: the client's, on which the members' tools can depend. */
function scopeView(scope: Scope, { capabilities, resultCharacters }: Exchange): ScopeView {
  return {
    ...scopeInfo(scope.path, scope.resolved, scope.actor),
    ...(resultCharacters === undefined ? {} : { resultCharacters }),
    key: scope.key,
    get tools() {
      return scope.catalogFor(capabilities).shownTools()
    },
    near: name =>
      suggestNames(
        name,
        scope
          .catalogFor(capabilities)
          .shownTools()
          .map(tool => tool.name),
      ),
    permits: ({ method, serverId, item }) =>
      scope.permits(method, {
        member: { server: { id: serverId } },
        ...(item === undefined ? {} : { original: item }),
      }),
  }
}
