import { isJsonObject, type JsonObject } from '../../../contract/json.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { MARK, markedText, markedValue, type ParamMark, paramMarks } from '../../../domain/tools/param-marks.ts'
import { toWireError } from '../../../transport-kit/wire-error.ts'

type Headers = Readonly<Record<string, string>>

/** The member of the params that `Mcp-Name` repeats. */
const NAMED_BY: Readonly<Record<string, string>> = {
  'tools/call': 'name',
  'prompts/get': 'name',
  'resources/read': 'uri',
  'tasks/get': 'taskId',
  'tasks/update': 'taskId',
  'tasks/cancel': 'taskId',
}
/** Most cached names; a server rarely has more tools and prompts, so more names mean that a client guesses. */
const KEPT = 1_000
/** Characters of the longest cached name, including the method. */
const LONGEST_KEPT = 256

/**
 * The headers in which a modern upstream finds parts of the body repeated. They are made from the text that is sent, so
 * that the two never differ. Sets without arguments are cached: the transport keeps their serialized form.
 */
export class ModernHeaders {
  readonly #kept = new Map<string, Headers>()
  readonly #marks = new Map<string, readonly ParamMark[]>()

  /** Learns the headers that a tool's schema defines. Returns why the tool cannot be used; undefined: it can. */
  learn(tool: JsonObject): string | undefined {
    const name = String(tool.name)
    try {
      const marks = JSON.stringify(tool.inputSchema ?? null).includes(MARK) ? paramMarks(tool.inputSchema) : []
      if (marks.length > 0) this.#marks.set(name, marks)
      else this.#marks.delete(name)
      return undefined
    } catch (error) {
      this.#marks.delete(name)
      return `the tool "${cutShort(name, 128)}" is left out: ${toWireError(error).message}`
    }
  }

  /** `passthrough`: the caller's headers that the server's configuration passes on for this call. */
  of(text: string, method: string, passthrough?: Headers): Headers {
    const source = NAMED_BY[method]
    if (source === undefined) return combined(this.#base(method, undefined), passthrough)
    const { params } = JSON.parse(text) as { params?: JsonObject }
    const name = params?.[source]
    const base = this.#base(method, typeof name === 'string' ? name : undefined)
    const marks = method === 'tools/call' && typeof name === 'string' ? this.#marks.get(name) : undefined
    return combined(base, passthrough, marks && marked(marks, params))
  }

  #base(method: string, name: string | undefined): Headers {
    const key = `${method} ${name ?? ''}`
    const known = this.#kept.get(key)
    if (known) return known
    const made = Object.freeze({
      'mcp-method': method,
      ...(name === undefined ? {} : { 'mcp-name': headerValue(name) }),
    })
    // A client may send a URI of megabytes, and another one each time.
    if (key.length > LONGEST_KEPT) return made
    if (this.#kept.size >= KEPT) this.#kept.clear()
    this.#kept.set(key, made)
    return made
  }
}

function marked(marks: readonly ParamMark[], params: JsonObject | undefined): Headers {
  const given = isJsonObject(params?.arguments) ? params.arguments : undefined
  const headers: Record<string, string> = {}
  for (const mark of marks) {
    const value = markedText(markedValue(mark, given))
    if (value !== undefined) headers[`mcp-param-${mark.name.toLowerCase()}`] = headerValue(value)
  }
  return headers
}

/** The hub's headers override the caller's; MCP headers of the caller are not passed on. */
function combined(base: Headers, passthrough: Headers | undefined, params?: Headers): Headers {
  if (!passthrough) return params ? { ...base, ...params } : base
  const foreign = Object.entries(passthrough).filter(([name]) => !name.toLowerCase().startsWith('mcp-'))
  return { ...Object.fromEntries(foreign), ...base, ...params }
}

/** A header value: the text itself when it is plain ASCII, otherwise the base64 form of the specification. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text)
  if (plain && !(text.startsWith('=?base64?') && text.endsWith('?='))) return text
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`
}
