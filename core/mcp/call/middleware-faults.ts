import { HubError } from '../../contract/errors.ts'
import { isJsonObject } from '../../contract/json.ts'
import type { McpMessage, McpMiddleware } from '../../contract/points.ts'
import { cutShort, cutTexts } from '../../domain/cut-short.ts'

/** Longest message and hint of a refusal, in UTF-16 code units. The record of the call has less of it. */
const MOST_WORDS = 2_000

/** The member of a result that must be a list. Lists themselves may be of another form, for clients that expect it. */
const LISTED: Readonly<Record<string, string>> = {
  'tools/call': 'content',
  'prompts/get': 'messages',
  'resources/read': 'contents',
}

type Message = Omit<McpMessage, 'context'>

/** Throws `plugin_failed` for a request that a middleware passed to `next` and that is no request of the same method. */
export function checkPassed({ method }: McpMiddleware, given: Message, passed: unknown): asserts passed is Message {
  const what = isJsonObject(passed) ? passed : undefined
  if (what?.method !== given.method) throw failure(method, `passed on another request than one of ${given.method}`)
  if (what.params !== undefined && !isJsonObject(what.params))
    throw failure(method, 'passed on "params" that are no object')
}

/**
 * Throws `plugin_failed` for a result that no client can read. `inside`: the result that the middleware got, which needs no check
 * when it is the same.
 */
export function checkResult({ method }: McpMiddleware, given: Message, result: unknown, inside: unknown): void {
  if (result === inside && result !== undefined) return
  if (!isJsonObject(result)) throw failure(method, 'returned no object')
  const member = LISTED[given.method]
  const list = member === undefined ? undefined : result[member]
  // A result of a tool may have structured content alone.
  const isListed = list === undefined ? member === undefined || member === 'content' : Array.isArray(list)
  if (!isListed) throw failure(method, `returned a result whose "${member}" is no list`)
  try {
    JSON.stringify(result)
  } catch (cause) {
    throw failure(method, 'returned a value that is not JSON', cause)
  }
}

/** A refusal in words of limited length, which a client can show. */
export function readableRefusal(refusal: HubError, plugin: string): HubError {
  const { code, message, hint, data, errors, retryAfterSeconds, own } = refusal
  const isShort = message.length <= MOST_WORDS && (hint?.length ?? 0) <= MOST_WORDS
  if (isShort && message.trim() !== '' && data === undefined) return refusal
  return new HubError(
    code,
    message.trim() === '' ? `The plugin "${plugin}" refused this` : cutShort(message, MOST_WORDS),
    {
      cause: refusal,
      ...(hint === undefined ? {} : { hint: cutShort(hint, MOST_WORDS) }),
      // The data of an error keep their shape when their texts are cut.
      ...(data === undefined ? {} : { data: cutTexts(data as never) }),
      ...(errors === undefined ? {} : { errors }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      ...(own === undefined ? {} : { own }),
    },
  )
}

function failure(method: string, what: string, cause?: unknown): HubError {
  return new HubError('plugin_failed', `A middleware for ${method} ${what}`, cause === undefined ? {} : { cause })
}
