import { z } from 'zod'
import type { UpstreamReply, Upstreams } from '../../connections/api.ts'
import { HubError } from '../../contract/errors.ts'
import type { JsonObject } from '../../contract/json.ts'
import type { ServerRecord, ToolCallRecord, UserActor } from '../../contract/records.ts'
import { overrideOf, shapeArguments } from '../../domain/tool-shape.ts'
import type { Registry } from '../../registry/api.ts'
import { type RequestInfo, type Route, route } from '../route.ts'
import { problemPart } from './problem-part.ts'
import { anyJson, anyObject, refToolParams } from './schemas.ts'
import { findTool, serverTools, toolNotFound } from './tool-views.ts'

export interface ToolCallDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly upstreams: Pick<Upstreams, 'request' | 'catalog' | 'definitions' | 'catalogsReady'>
  /** Takes the record of one finished call; never waits. */
  recordCall(record: ToolCallRecord): void
}

/** How long a call waits for the lists of a server that was never online, in milliseconds. */
const CATALOG_WAIT_MS = 2_000
const KEEP_ALIVE_MS = 15_000

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
      body: z.strictObject({ arguments: anyObject.optional() }),
      responses: {
        200: {
          description: 'What the server answered. As a stream: `progress` events, then one `result` or `error`',
          schema: answer,
          example: { result: { content: [{ type: 'text', text: '12:30' }] }, durationMs: 18.4, requestId: 'r-7f3a' },
        },
      },
      async handle({ actor, params, body, info, request, signal }) {
        const record = await deps.registry.servers.resolve(actor, params.ref, 'see')
        const tool = await callableTool(deps, record, params.tool)
        refuseWaiting(deps, record, tool)
        info.keepOpen()
        const given = (body.arguments ?? {}) as JsonObject
        const rules = overrideOf(record.tools, tool)?.arguments
        const job = { deps, actor, record, tool, info, signal, arguments: rules ? shapeArguments(given, rules) : given }
        return wantsStream(request.headers) ? streamed(job) : plain(job)
      },
    }),
  ]
}

interface Job {
  readonly deps: ToolCallDeps
  readonly actor: UserActor
  readonly record: ServerRecord
  /** The upstream's own name. */
  readonly tool: string
  readonly arguments: JsonObject
  readonly info: RequestInfo
  readonly signal: AbortSignal
}

interface Finished {
  readonly reply: UpstreamReply
  readonly durationMs: number
}

/**
 * The upstream's name of a tool that may be called. One that its owner switched off is missing, for the owner too: a call
 * from the console must mean what a call through `/mcp` means.
 */
async function callableTool(deps: ToolCallDeps, record: ServerRecord, name: string): Promise<string> {
  if (!deps.upstreams.catalog(record.id)) await deps.upstreams.catalogsReady([record.id], CATALOG_WAIT_MS)
  const catalog = deps.upstreams.catalog(record.id)
  if (!catalog) return nameWithoutCatalog(record, name)
  const tools = serverTools(record, deps.upstreams)
  const tool = findTool(record.name, tools, name)
  if (!tool.enabled) throw toolNotFound(record.name, name, tools)
  return tool.original
}

function refuseWaiting({ upstreams }: ToolCallDeps, { id, definitionPolicy }: ServerRecord, tool: string): void {
  if (definitionPolicy !== 'pin' || !upstreams.definitions(id).get(tool)?.changed) return
  throw new HubError('approval_required', `The tool "${tool}" changed, and waits for the approval of its owner`, {
    hint: 'Its owner approves it with POST /api/servers/{ref}/tools/{tool}/approve.',
  })
}

/** Nothing is known of the server's tools; what its owner switched off or renamed holds all the same. */
function nameWithoutCatalog(record: ServerRecord, name: string): string {
  const renamed = Object.entries(record.tools).find(([, override]) => override.name === name)
  const [original, override] = renamed ?? [name, overrideOf(record.tools, name)]
  if (override?.enabled === false) throw toolNotFound(record.name, name, [])
  return original
}

export function wantsStream(headers: Headers): boolean {
  return (headers.get('accept') ?? '')
    .toLowerCase()
    .split(',')
    .some(part => part.split(';')[0]?.trim() === 'text/event-stream')
}

/** Ends the call at the upstream when the caller goes away; the record is made all the same. */
async function perform(job: Job, progress?: (params: JsonObject) => void): Promise<Finished> {
  const startedMs = performance.now()
  const call = job.deps.upstreams.request(job.record.id, {
    method: 'tools/call',
    params: { name: job.tool, arguments: job.arguments },
    ...(progress === undefined ? {} : { progress }),
  })
  const cancel = () => call.cancel('the caller went away')
  job.signal.addEventListener('abort', cancel, { once: true })
  if (job.signal.aborted) cancel()
  const reply = await call.reply
  job.signal.removeEventListener('abort', cancel)
  const durationMs = Math.round((performance.now() - startedMs) * 1000) / 1000
  job.deps.recordCall(callRecord(job, reply, durationMs))
  return { reply, durationMs }
}

function callRecord({ actor, record, tool, info }: Job, reply: UpstreamReply, durationMs: number): ToolCallRecord {
  return {
    at: new Date().toISOString(),
    requestId: info.requestId,
    userId: actor.userId,
    userName: actor.name,
    ownerId: record.ownerId,
    serverId: record.id,
    server: record.name,
    // A call over REST names the server itself: no group stands between.
    group: '',
    tool,
    durationMs,
    status: callStatus(reply),
  }
}

export function callStatus(reply: UpstreamReply): string {
  if (reply.kind === 'result') return reply.isError ? 'error' : 'success'
  return reply.kind === 'failed' ? reply.code : reply.kind
}

async function plain(job: Job): Promise<Response> {
  const text = answerText(await perform(job), job.info.requestId)
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

/**
 * The answer as JSON text. The upstream's own text is put in as it is, since a number beyond 2⁵³ would not survive being
 * parsed and written again. Throws the hub's error when there is no answer of the upstream.
 */
export function answerText({ reply, durationMs }: Finished, requestId: string): string {
  const rest = `"durationMs":${durationMs},"requestId":${JSON.stringify(requestId)}}`
  if (reply.kind === 'result') return `{"result":${reply.text},${rest}`
  if (reply.kind === 'error') return `{"error":${JSON.stringify(reply.error)},${rest}`
  if (reply.kind === 'failed') throw new HubError(reply.code, reply.message, { data: { durationMs } })
  throw new HubError('connection_lost', 'The call was cancelled before the server answered')
}

/** The head goes out at once with a comment behind it: Bun holds part of a head back until the first body chunk. */
function streamed(job: Job): Response {
  const encoder = new TextEncoder()
  const stop = new AbortController()
  const signal = AbortSignal.any([job.signal, stop.signal])
  const stream = new ReadableStream<Uint8Array>({
    start(controller) {
      const write = (text: string) => {
        if (!signal.aborted) controller.enqueue(encoder.encode(text))
      }
      write(': ok\n\n')
      const alive = setInterval(() => write(': alive\n\n'), KEEP_ALIVE_MS)
      void perform({ ...job, signal }, params => write(progressEvent(params)))
        .then(done => write(lastEvent(done, job.info.requestId)))
        .catch(error => write(sseEvent('error', JSON.stringify(problemPart(error)))))
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
    return sseEvent('result', answerText(done, requestId))
  } catch (error) {
    return sseEvent('error', JSON.stringify({ ...problemPart(error), durationMs: done.durationMs, requestId }))
  }
}

/** The upstream's text may hold line breaks between JSON tokens: each line becomes a `data:` line of its own. */
export function sseEvent(name: string, text: string): string {
  const data = text.split(/\r\n|\r|\n/).map(line => `data: ${line}\n`)
  return `event: ${name}\n${data.join('')}\n`
}
