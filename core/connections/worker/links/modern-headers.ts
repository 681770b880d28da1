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
}
/** Names are kept with their headers; more than most servers have tools and prompts means that somebody tries names out. */
const KEPT = 1_000
/** In characters, the method included. */
const LONGEST_KEPT = 256

/**
 * The headers in which an upstream of the modern era finds parts of the body again. They are made from the text that goes
 * out, so that the two can never differ. Sets without arguments in them are made once: the transport keeps their written form.
 */
export class ModernHeaders {
  readonly #kept = new Map<string, Headers>()
  readonly #marks = new Map<string, readonly ParamMark[]>()

  /** Takes what a tool's schema marks. Returns why the tool cannot be used; undefined: it can. */
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

  /** `passthrough`: headers of this one call that the server lets through. */
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
    // A client may ask for a URI of megabytes, and for another one each time.
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

/** What the hub makes wins over what a caller sent along; a caller's own headers of MCP are none of the upstream's. */
function combined(base: Headers, passthrough: Headers | undefined, params?: Headers): Headers {
  if (!passthrough) return params ? { ...base, ...params } : base
  const foreign = Object.entries(passthrough).filter(([name]) => !name.toLowerCase().startsWith('mcp-'))
  return { ...Object.fromEntries(foreign), ...base, ...params }
}

/** A text as a header can carry it: as it is when it is plain ASCII, else in the base64 form of the specification. */
export function headerValue(text: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?$/.test(text)
  if (plain && !(text.startsWith('=?base64?') && text.endsWith('?='))) return text
  return `=?base64?${Buffer.from(text, 'utf8').toString('base64')}?=`
}
