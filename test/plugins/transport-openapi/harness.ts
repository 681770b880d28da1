import type { JsonObject } from 'patchbay/contract'
import type { AnswerLink } from 'patchbay/transport-kit'
import { HubError } from '../../../core/contract/errors.ts'
import { parseExact } from '../../../core/domain/json/exact-json.ts'
import { createGuardedFetch } from '../../../core/outbound/create.ts'
import transport from '../../../plugins/transport-openapi/transport.ts'

/** A request as the API got it. */
export interface Seen {
  readonly method: string
  /** Path and query as they were on the wire. */
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** Aborts when the client has gone. */
  readonly signal: AbortSignal
}

/** An HTTP API on 127.0.0.1 that notes what it gets. `answer` undefined: 200 with the request as JSON. */
export interface Api extends AsyncDisposable {
  readonly url: string
  readonly seen: Seen[]
  last(): Seen
}

export async function startApi(answer?: (seen: Seen) => Response | Promise<Response>, port = 0): Promise<Api> {
  const seen: Seen[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port,
    idleTimeout: 0,
    async fetch(request) {
      const { origin } = new URL(request.url)
      const one: Seen = {
        method: request.method,
        target: request.url.slice(origin.length),
        headers: Object.fromEntries(request.headers),
        body: Buffer.from(await request.arrayBuffer()),
        signal: request.signal,
      }
      seen.push(one)
      if (answer) return answer(one)
      return Response.json({ method: one.method, target: one.target, body: one.body.toString() })
    },
  })
  return {
    url: `http://127.0.0.1:${server.port}`,
    seen,
    last() {
      const one = seen.at(-1)
      if (!one) throw new Error('The API was not asked')
      return one
    },
    async [Symbol.asyncDispose]() {
      await server.stop(true)
    },
  }
}

export interface OpenLink extends AsyncDisposable {
  readonly link: AnswerLink
  readonly tools: readonly JsonObject[]
  readonly warnings: readonly string[]
  tool(name: string): JsonObject
  call(name: string, args?: JsonObject, headers?: Record<string, string>): Promise<Outcome>
  /** The same with the arguments as JSON text. */
  callText(name: string, json: string): Promise<Outcome>
}

export interface Outcome {
  readonly isError: boolean
  readonly content: readonly {
    readonly type: string
    readonly text?: string
    readonly data?: string
    readonly mimeType?: string
    readonly resource?: Readonly<Record<string, string>>
  }[]
  readonly structuredContent?: JsonObject
  /** The whole result as it goes out. */
  readonly raw: string
}

/** Opens the transport as a worker would, for a server of an administrator. */
export async function openLink(
  config: JsonObject,
  options: { readonly healthEndpoints?: readonly string[]; readonly admin?: boolean } = {},
): Promise<OpenLink> {
  const abort = new AbortController()
  const fetch = createGuardedFetch({
    rights: { networks: [], admin: options.admin ?? true },
    instanceId: 'hub-1',
    signal: abort.signal,
  })
  const link = await transport.open(config, {
    signal: abort.signal,
    fetch,
    reach: fetch.reach,
    maxResultBytes: 4 * 1024 * 1024,
    healthEndpoints: options.healthEndpoints ?? [],
    log: () => {},
  })
  const call = async (name: string, args: JsonObject, headers: Record<string, string> = {}): Promise<Outcome> => {
    const { text, isError } = await link.call({ name, arguments: args, headers, signal: abort.signal })
    if (/[\r\n]/.test(text)) throw new Error('The result holds a line end')
    const parsed = JSON.parse(text) as Omit<Outcome, 'isError' | 'raw'> & { readonly isError?: boolean }
    if ((parsed.isError === true) !== isError) throw new Error('isError is said in two ways')
    return { ...parsed, isError, raw: text }
  }
  return {
    link,
    get tools() {
      return link.tools().tools
    },
    get warnings() {
      return link.tools().warnings
    },
    tool(name) {
      const found = link.tools().tools.find(tool => tool.name === name)
      if (!found) throw new Error(`No tool ${name} among ${link.tools().tools.map(tool => tool.name)}`)
      return found
    },
    call: (name, args = {}, headers) => call(name, args, headers),
    callText: (name, json) => call(name, parseExact(json) as JsonObject),
    async [Symbol.asyncDispose]() {
      await link.close()
      abort.abort()
    },
  }
}

/** The HubError that the work ends with. */
export async function failure(work: Promise<unknown>): Promise<HubError> {
  const outcome = await work.then(
    value => ({ value }),
    (error: unknown) => ({ error }),
  )
  if ('error' in outcome && outcome.error instanceof HubError) return outcome.error
  if ('error' in outcome) throw outcome.error
  throw new Error(`Expected an error and got ${JSON.stringify(outcome.value)?.slice(0, 500)}`)
}

/** A document of version 3.0 with these paths. */
export function document(paths: JsonObject, more: JsonObject = {}): JsonObject {
  return { openapi: '3.0.3', info: { title: 'Test', version: '1' }, paths, ...more }
}

/** The whole configuration for an inline document. */
export function inline(
  schema: JsonObject | string,
  baseUrl: string,
  more: JsonObject = {},
  headers?: JsonObject,
): JsonObject {
  return { openapi: { schema, baseUrl, ...more }, ...(headers ? { headers } : {}) }
}

/** One operation at `path` with these parameters and body. */
export function operation(
  path: string,
  parameters: readonly JsonObject[],
  more: JsonObject = {},
  method = 'get',
): JsonObject {
  return document({ [path]: { [method]: { operationId: 'op', parameters: [...parameters], responses: {}, ...more } } })
}
