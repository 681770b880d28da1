import { z } from 'zod'
import type { LiveCredentials } from '../../../auth/live-credentials.ts'
import { LIMITS } from '../../../config/limits.ts'
import type { Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { ServerRecord } from '../../../contract/records.ts'
import { isPlainObject } from '../../../domain/json/exact-json.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { type JsonText, textWithin } from '../../../domain/json/long-text.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { DirectCall } from '../../../mcp/call/direct-call.ts'
import type { Outcome } from '../../../mcp/call/exchange.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Route, route } from '../../route.ts'
import { anyJson, anyObject, refToolParams } from '../schemas.ts'
import { findTool, serverTools, toolNotFound } from '../tool-views.ts'
import { problemPart } from './problem-part.ts'

export interface ToolCallDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly upstreams: Pick<Upstreams, 'catalog' | 'catalogsReady' | 'definitions'>
  readonly mcp: Pick<McpEndpoint, 'callTool'>
  readonly credentials: Pick<LiveCredentials, 'during'>
}

/** How long a call waits for the lists of a server that was never online, in milliseconds. */
const CATALOG_WAIT_MS = 2_000
const KEEP_ALIVE_MS = 15_000

/** Data of the tool, which the hub passes on unread: zod's own record would leave out a key `__proto__`. */
const toolArguments = z
  .custom<JsonObject | null>(value => value === null || isPlainObject(value), {
    error: 'must be an object',
    params: { code: 'type' },
  })
  .optional()
  .meta({ type: ['object', 'null'], additionalProperties: {}, description: 'Null is the same as no arguments' })

/** The whole body has the limits of others; its arguments are one level within. */
const ARGUMENTS_JSON: JsonLimits = {
  asWritten: true,
  foreign: {
    endings: ['/arguments'],
    depth: LIMITS.jsonDepth - 1,
    members: LIMITS.jsonMembers,
    anyKey: true,
  },
}

const answer = z.object({
  result: anyObject
    .optional()
    .meta({ description: 'The MCP result as the server wrote it; a tool that failed has `isError`' }),
  error: z
    .object({ code: z.number().int(), message: z.string(), data: anyJson.optional() })
    .optional()
    .meta({ description: 'In place of `result`: the server answered with this JSON-RPC error' }),
  durationMs: z.number(),
  requestId: z.string(),
})

/** Calls one tool without an MCP client. */
export function toolCallRoutes(deps: ToolCallDeps): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/servers/{ref}/tools/{tool}/call',
      access: 'user',
      summary: 'Call a tool; with `Accept: text/event-stream` progress is sent as it comes',
      tag: 'servers',
      params: refToolParams,
      body: z.strictObject({ arguments: toolArguments }),
      json: ARGUMENTS_JSON,
      responses: {
        200: {
          description:
            'What the server answered: a result, or an error of its own. What the hub refuses is a problem with its status. ' +
            'As a stream: `progress` events, then one `result` or `error`',
          schema: answer,
          example: { result: { content: [{ type: 'text', text: '12:30' }] }, durationMs: 18.4, requestId: 'r-7f3a' },
        },
      },
      async handle({ actor, params, body, info, request, signal }) {
        const server = await deps.registry.servers.resolve(actor, params.ref, 'see')
        const tool = await toolName(deps, server, params.tool)
        info.keepOpen()
        const { headers } = request
        const { requestId } = info
        const call = {
          actor,
          server,
          tool,
          arguments: body.arguments ?? {},
          requestId,
          headers,
          signal,
        }
        return wantsStream(headers) ? streamed({ deps, call }) : plain({ deps, call })
      },
    }),
  ]
}

interface Job {
  readonly deps: ToolCallDeps
  readonly call: Omit<DirectCall, 'progress'>
}

interface Finished {
  readonly outcome: Outcome
  readonly durationMs: number
}

/** The upstream's name of a tool: what the path says is the name for others, the original, or a form that fits a path. */
async function toolName({ upstreams }: ToolCallDeps, record: ServerRecord, name: string): Promise<string> {
  if (!upstreams.catalog(record.id)) await upstreams.catalogsReady([record.id], CATALOG_WAIT_MS)
  const catalog = upstreams.catalog(record.id)
  if (!catalog) return name
  const tools = serverTools(record, upstreams)
  const tool = findTool(record.name, tools, name)
  // Switched off is missing, for the owner too: a call from the console must mean what a call through `/mcp` means.
  if (!tool.enabled) throw toolNotFound(record.name, name, tools)
  return tool.original
}

export function wantsStream(headers: Headers): boolean {
  return (headers.get('accept') ?? '')
    .toLowerCase()
    .split(',')
    .some(part => part.split(';')[0]?.trim() === 'text/event-stream')
}

async function perform({ deps, call }: Job, progress?: (params: JsonObject) => void): Promise<Finished> {
  const startedMs = performance.now()
  const outcome = await deps.credentials.during(call.actor, call.signal, signal =>
    deps.mcp.callTool({ ...call, signal, ...(progress ? { progress } : {}) }),
  )
  return { outcome, durationMs: Math.round((performance.now() - startedMs) * 1000) / 1000 }
}

async function plain(job: Job): Promise<Response> {
  const text = answerText(await perform(job), job.call.requestId)
  const headers = { 'content-type': 'application/json' }
  return new Response(typeof text === 'string' ? text : new Blob([...text.parts]), { headers })
}

/**
 * The answer as JSON text. The upstream's own text is put in as it is, since a number beyond 2⁵³ would not survive being
 * parsed and written again. Throws the hub's error when there is no answer of the upstream.
 */
export function answerText({ outcome, durationMs }: Finished, requestId: string): JsonText {
  const rest = `"durationMs":${durationMs},"requestId":${JSON.stringify(requestId)}}`
  if (outcome.kind === 'result') return textWithin('{"result":', outcome.resultText, `,${rest}`)
  if (outcome.kind === 'error') return `{"error":${JSON.stringify(outcome.error)},${rest}`
  if (outcome.kind === 'failed') {
    const { code, message, hint, data, retryAfterSeconds } = outcome.error
    throw new HubError(code, message, {
      ...(hint === undefined ? {} : { hint }),
      ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
      data: { ...data, durationMs },
    })
  }
  throw new HubError('connection_lost', 'The call was cancelled before the server answered')
}

/** The head goes out at once with a comment behind it: Bun holds part of a head back until the first body chunk. */
function streamed(job: Job): Response {
  const encoder = new TextEncoder()
  const stop = new AbortController()
  const { requestId } = job.call
  const signal = AbortSignal.any([job.call.signal, stop.signal])
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string) => {
        if (!signal.aborted) controller.enqueue(encoder.encode(text))
      }
      write(': ok\n\n')
      const alive = setInterval(() => write(': alive\n\n'), KEEP_ALIVE_MS)
      void perform({ ...job, call: { ...job.call, signal } }, params => write(progressEvent(params)))
        .then(done => write(lastEvent(done, requestId)))
        .catch(error => write(sseEvent('error', JSON.stringify({ ...problemPart(error), requestId }))))
        .finally(() => {
          clearInterval(alive)
          if (!signal.aborted) controller.close()
        })
    },
    cancel: () => stop.abort(),
  })
  return new Response(stream, { headers: { 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' } })
}

/** The token is the hub's own and means nothing to the caller. */
function progressEvent({ progressToken, ...progress }: JsonObject): string {
  return sseEvent('progress', JSON.stringify(progress))
}

function lastEvent(done: Finished, requestId: string): string {
  try {
    return sseEvent('result', String(answerText(done, requestId)))
  } catch (error) {
    return sseEvent('error', JSON.stringify({ ...problemPart(error), durationMs: done.durationMs, requestId }))
  }
}

/** The upstream's text may hold line breaks between JSON tokens: each line becomes a `data:` line of its own. */
export function sseEvent(name: string, text: string): string {
  const data = text.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return `event: ${name}\n${data.join('')}\n`
}
