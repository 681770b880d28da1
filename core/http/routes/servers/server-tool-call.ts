import { z } from 'zod'
import type { LiveCredentials } from '../../../auth/live-credentials.ts'
import { LIMITS } from '../../../config/limits.ts'
import type { Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject } from '../../../contract/json.ts'
import type { ServerRecord } from '../../../contract/records.ts'
import type { BytesInFlight } from '../../../domain/byte-account.ts'
import { isPlainObject } from '../../../domain/json/exact-json.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { type JsonText, textWithin } from '../../../domain/json/long-text.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { DirectCall } from '../../../mcp/call/direct-call.ts'
import type { Outcome } from '../../../mcp/call/exchange.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Reply, type Route, route } from '../../route.ts'
import { anyJson, anyObject, refToolParams } from '../schemas.ts'
import { findTool, serverTools, toolNotFound } from '../tool-views.ts'
import { eventReply, type ReplyEvent, wantsStream } from './event-reply.ts'
import { streamedProblem } from './problem-part.ts'

/** Dependencies of a tool call by the API. */
export interface ToolCallDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly upstreams: Pick<Upstreams, 'catalog' | 'catalogsReady' | 'callerLists' | 'definitions'>
  readonly mcp: Pick<McpEndpoint, 'callTool' | 'recordRefusal'>
  readonly credentials: Pick<LiveCredentials, 'during'>
  readonly bytes: Pick<BytesInFlight, 'user'>
}

/** Longest wait of a call for the lists of a server that has never been online, in milliseconds. */
const CATALOG_WAIT_MS = 2_000

/** The tool's data, forwarded unchanged: zod's own record would drop a key `__proto__`. */
const toolArguments = z
  .custom<JsonObject | null>(value => value === null || isPlainObject(value), {
    error: 'must be an object',
    params: { code: 'type' },
  })
  .optional()
  .meta({ type: ['object', 'null'], additionalProperties: {}, description: 'Null is the same as no arguments' })

/** The usual limits for the whole body; the arguments are one level deeper. */
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

/** Route to call one tool without an MCP client. */
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
        const server = await deps.registry.servers.resolve(actor, params.ref, 'use')
        const { headers } = request
        const { requestId, clientAddress } = info
        const tool = await toolName(deps, server, params.tool, actor.userId).catch((error: unknown) => {
          deps.mcp.recordRefusal({ actor, server, tool: params.tool, requestId, clientAddress }, error)
          throw error
        })
        info.keepOpen()
        const call = {
          actor,
          server,
          tool,
          arguments: body.arguments ?? {},
          ...{ requestId, clientAddress },
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

/** Resolves a tool's original name: the path has its exposed name, the original one, or a form that is valid in a path. */
async function toolName(
  { upstreams }: ToolCallDeps,
  record: ServerRecord,
  name: string,
  caller: string,
): Promise<string> {
  if (!upstreams.catalog(record.id)) await upstreams.catalogsReady([record.id], CATALOG_WAIT_MS)
  await upstreams.callerLists(record.id, caller)
  const catalog = upstreams.catalog(record.id, undefined, caller)
  if (!catalog) return name
  const tools = serverTools(record, upstreams, caller)
  const tool = findTool(record.name, tools, name)
  // A disabled tool is missing for its owner too: a call from the console must behave like a call through `/mcp`.
  if (!tool.enabled) throw toolNotFound(record.name, name, tools)
  return tool.original
}

async function perform({ deps, call }: Job, progress?: (params: JsonObject) => void): Promise<Finished> {
  const startedMs = performance.now()
  const outcome = await deps.credentials.during(call.actor, call.signal, signal =>
    deps.mcp.callTool({ ...call, signal, ...(progress ? { progress } : {}) }),
  )
  return { outcome, durationMs: Math.round((performance.now() - startedMs) * 1000) / 1000 }
}

async function plain(job: Job): Promise<Reply> {
  return { text: answerText(await perform(job), job.call.requestId) }
}

/**
 * The response as JSON text. The upstream's text is inserted unchanged, since parsing and writing would change numbers
 * beyond 2⁵³. Throws the hub's error when the upstream gave no result.
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

function streamed({ deps, call }: Job): Response {
  const { actor, requestId } = call
  const options = { bytes: deps.bytes, userId: actor.userId, requestId, signal: call.signal }
  return eventReply(options, async (emit, signal) => {
    const done = await perform({ deps, call: { ...call, signal } }, params => emit(progressEvent(params)))
    return lastEvent(done, requestId)
  })
}

/** Removes the progress token, which is the hub's own. */
function progressEvent({ progressToken, ...progress }: JsonObject): ReplyEvent {
  return { name: 'progress', text: JSON.stringify(progress) }
}

function lastEvent(done: Finished, requestId: string): ReplyEvent {
  try {
    return { name: 'result', text: answerText(done, requestId) }
  } catch (error) {
    return {
      name: 'error',
      text: JSON.stringify({ ...streamedProblem(error), durationMs: done.durationMs, requestId }),
    }
  }
}
