import { z } from 'zod'
import type { LiveCredentials } from '../../../auth/live-credentials.ts'
import { LIMITS } from '../../../config/limits.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { GroupRecord, UserActor } from '../../../contract/records.ts'
import { cutShort } from '../../../domain/cut-short.ts'
import { isPlainObject, parseExact } from '../../../domain/json/exact-json.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { freeText, LongText, weightOfText } from '../../../domain/json/long-text.ts'
import { quoteName } from '../../../domain/names.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import { MCP_RESULT_TYPE, ToolsDocument } from '../../../domain/tools/tools-document.ts'
import type { McpEndpoint } from '../../../mcp/api.ts'
import type { Outcome } from '../../../mcp/call/exchange.ts'
import type { Registry } from '../../../registry/api.ts'
import { type Reply, type Route, route } from '../../route.ts'
import { anyJson, anyObject, refParams, refToolParams } from '../schemas.ts'

/** Dependencies of the routes of groups' tools. */
export interface GroupToolsDeps {
  readonly registry: Pick<Registry, 'groups' | 'shares'>
  readonly mcp: Pick<McpEndpoint, 'groupView' | 'openPath'>
  readonly credentials: Pick<LiveCredentials, 'during'>
  readonly version: string
}

/** Tools that are read without a pause: about a millisecond. */
const PIECE = 50
const PIECE_CHARACTERS = 256 * 1024
const MESSAGE_CHARACTERS = 2_000

const toolArguments = z
  .custom<JsonObject>(isPlainObject, { error: 'must be an object', params: { code: 'type' } })
  .meta({ type: 'object', additionalProperties: {}, description: 'The arguments of the tool' })

/** The whole body is the tool's data, passed on unchanged. */
const ARGUMENTS_JSON: JsonLimits = {
  asWritten: true,
  foreign: { endings: [''], depth: LIMITS.jsonDepth, members: LIMITS.jsonMembers, anyKey: true },
}

/** The tools of a group for programs that do not support MCP: an OpenAPI document, and a route for each tool. */
export function groupToolRoutes(deps: GroupToolsDeps): Route[] {
  return [documentRoute(deps), callRoute(deps)]
}

function documentRoute({ registry, mcp, version }: GroupToolsDeps): Route {
  const writing = new Set<string>()
  return route({
    method: 'GET',
    path: '/api/groups/{ref}/openapi.json',
    access: 'user',
    keysOfGroups: true,
    summary: 'The tools of a group as an OpenAPI 3.1 document',
    tag: 'groups',
    params: refParams,
    responses: { 200: { description: 'The document', schema: anyObject, example: { openapi: '3.1.0', paths: {} } } },
    async handle({ actor, params, info, take }) {
      const { record } = await openedGroup(registry, actor, params.ref, 'read')
      if (writing.has(actor.userId))
        throw new HubError('rate_limited', 'Another document of yours is being written', { retryAfterSeconds: 1 })
      writing.add(actor.userId)
      try {
        const usable = await registry.groups.usableMembers(actor, record)
        const view = await mcp.groupView(
          actor,
          record,
          usable.map(({ server }) => server),
        )
        const ref = encodeURIComponent(`${record.ownerName}~${record.name}`)
        const address = { title: record.name, url: `${info.baseUrl}/api/groups/${ref}/tools` }
        const document = new ToolsDocument(address, version)
        for (let at = 0; at < view.counts.tools; at += PIECE) {
          for (const { server, original: _, appOnly, ...definition } of view.tools(at, PIECE))
            if (appOnly !== true) document.add({ name: definition.name, server, definition })
          await nextTurn()
        }
        return { text: await inPieces(document.texts(), take) }
      } finally {
        writing.delete(actor.userId)
      }
    },
  })
}

/** Joins texts into one, encoding a part in each turn of the event loop; `take` is charged for every part. */
async function inPieces(texts: Iterable<string>, take: (bytes: number) => void): Promise<LongText> {
  const pieces: Buffer<ArrayBuffer>[] = []
  let open = ''
  const close = (): void => {
    const piece = Buffer.from(open)
    take(piece.byteLength)
    pieces.push(piece)
    open = ''
  }
  for (const text of texts) {
    open += text
    if (open.length < PIECE_CHARACTERS) continue
    close()
    await nextTurn()
  }
  close()
  return new LongText(pieces)
}

function callRoute({ registry, mcp, credentials }: GroupToolsDeps): Route {
  return route({
    method: 'POST',
    path: '/api/groups/{ref}/tools/{tool}',
    access: 'user',
    keysOfGroups: true,
    summary: 'Call a tool of a group; the body is its arguments',
    tag: 'groups',
    params: refToolParams,
    body: toolArguments,
    json: ARGUMENTS_JSON,
    responses: {
      200: {
        description: `What the tool answered: its structured content, else the JSON of its only text, else \`content\`. With \`Accept: ${MCP_RESULT_TYPE}\` the MCP result`,
        schema: anyJson,
        example: { rows: [{ id: 1 }] },
      },
    },
    async handle({ actor, params, body, info, request, signal }) {
      const { record, caller } = await openedGroup(registry, actor, params.ref, 'call')
      info.keepOpen()
      const path = `/mcp/@${encodeURIComponent(record.ownerName)}/${encodeURIComponent(record.name)}`
      const client = await mcp.openPath({ actor: caller, path, clientName: '', changed() {}, ended() {} })
      try {
        const { requestId, clientAddress } = info
        const call = { requestId, clientAddress, headers: request.headers, plainFailures: true } as const
        const outcome = await credentials.during(actor, signal, until =>
          client.call({ ...call, tool: params.tool, arguments: body, signal: until }),
        )
        return answer(params.tool, outcome, request.headers)
      } finally {
        client.close()
      }
    },
  })
}

/**
 * Returns the group, and the caller with the rights for its tools: a key that opens the API acts as its user; another key is
 * limited to the groups that it names. Throws `group_not_found` for a group that the caller cannot use under /mcp,
 * `insufficient_scope` for a key that may call nothing.
 */
async function openedGroup(
  registry: GroupToolsDeps['registry'],
  actor: UserActor,
  ref: string,
  to: 'read' | 'call',
): Promise<{ readonly record: GroupRecord; readonly caller: UserActor }> {
  const { credential, userId } = actor
  const scopes = credential.kind === 'key' ? credential.scopes : undefined
  const isApi = scopes === undefined || scopes.includes('api') || (to === 'read' && scopes.includes('api:read'))
  if (!isApi && !scopes.some(scope => scope === 'mcp' || typeof scope === 'object'))
    throw new HubError('insufficient_scope', 'This access key calls no tools')
  const record = await registry.groups.resolve(actor, ref, 'use')
  const isOpen =
    isApi ||
    scopes.some(
      scope => scope === 'mcp' || (typeof scope === 'object' && 'groupId' in scope && scope.groupId === record.id),
    )
  // The same words as for a group that is not there.
  if (!isOpen || !registry.shares.mayUse(userId, record))
    throw new HubError('group_not_found', `There is no group ${quoteName(ref)}`)
  return {
    record,
    caller: isApi && credential.kind === 'key' ? { ...actor, credential: { ...credential, scopes: ['mcp'] } } : actor,
  }
}

function answer(tool: string, outcome: Outcome, headers: Headers): Reply {
  if (outcome.kind === 'failed') throw outcome.error
  if (outcome.kind === 'error') throw upstreamError(tool, outcome.error)
  if (outcome.kind !== 'result')
    throw new HubError('connection_lost', 'The call was cancelled before the server answered')
  const { resultText } = outcome
  if ((headers.get('accept') ?? '').toLowerCase().includes(MCP_RESULT_TYPE))
    return { text: resultText, type: MCP_RESULT_TYPE }
  // Parsing and serializing it again takes time of the main thread, up to half a second for the longest answer of a
  // server.
  if (weightOfText(resultText) > LIMITS.plainResultBytes) {
    freeText(resultText)
    throw tooLong(tool)
  }
  const result = parseExact(String(resultText))
  if (!isPlainObject(result)) throw new HubError('upstream_protocol', `The tool ${quoteName(tool)} answered no object`)
  if (result.isError === true) {
    const reason = onlyText(result.content) ?? 'It gave no reason'
    throw new HubError('tool_failed', `The tool ${quoteName(tool)} failed: ${cutShort(reason, MESSAGE_CHARACTERS)}`)
  }
  return { text: JSON.stringify(plainAnswer(result)) }
}

function tooLong(tool: string): HubError {
  const most = LIMITS.plainResultBytes
  return new HubError('result_too_large', `The tool ${quoteName(tool)} answered with more than ${most} bytes`, {
    data: { maxBytes: most },
    hint: `Send the header "Accept: ${MCP_RESULT_TYPE}": in this form longer results are answered too.`,
  })
}

/** The structured content, or the JSON of a single text, or all content. */
function plainAnswer({ structuredContent, content }: JsonObject): JsonValue {
  if (structuredContent !== undefined) return structuredContent
  const text = Array.isArray(content) && content.length === 1 ? onlyText(content) : undefined
  const parsed = text === undefined ? undefined : parsedText(text)
  return parsed ?? { content: content ?? [] }
}

function parsedText(text: string): JsonValue | undefined {
  try {
    return parseExact(text)
  } catch {
    return undefined
  }
}

function onlyText(content: JsonValue | undefined): string | undefined {
  if (!Array.isArray(content)) return undefined
  const texts = content.flatMap(block => (isPlainObject(block) && typeof block.text === 'string' ? block.text : []))
  return texts.length === 0 ? undefined : texts.join('\n')
}

function upstreamError(tool: string, { code, message }: { readonly code: number; readonly message: string }): HubError {
  const detail = cutShort(message, MESSAGE_CHARACTERS)
  if (code !== -32_602) return new HubError('tool_failed', `The server of ${quoteName(tool)} answered: ${detail}`)
  return new HubError('validation_failed', `The tool ${quoteName(tool)} refused its arguments`, {
    errors: [{ pointer: '#', code: 'format', detail }],
  })
}
