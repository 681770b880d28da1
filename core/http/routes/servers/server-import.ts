import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { LiveCredentials } from '../../../auth/live-credentials.ts'
import { type ImportedEntry, placeInDocument } from '../../../config/import/entry.ts'
import type { TrialListener, Upstreams } from '../../../connections/api.ts'
import { HubError } from '../../../contract/errors.ts'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import type { BytesInFlight } from '../../../domain/byte-account.ts'
import type { JsonLimits } from '../../../domain/json/json-guard.ts'
import { formatRef, nameKey } from '../../../domain/names.ts'
import { nextTurn } from '../../../domain/next-turn.ts'
import { SERVER_JSON } from '../../../domain/server/body.ts'
import type { Transports } from '../../../domain/server/transports.ts'
import { validationError } from '../../../domain/validation-error.ts'
import type { Registry } from '../../../registry/api.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { anyObject, flag, problemPart as problemSchema, validatedByRegistry } from '../schemas.ts'
import { tokensOf } from '../tool-views.ts'
import { noteChange, qualified } from '../views.ts'
import { eventReply, wantsStream } from './event-reply.ts'
import { type Preview, preview, SEARCHED_CHARACTERS } from './import-preview.ts'
import { type ProblemPart, problemPart } from './problem-part.ts'
import { largeBody, serverBody } from './server-schemas.ts'

/** Dependencies of the import of servers from a document. */
export interface ServerImportDeps {
  readonly transports: Transports
  readonly registry: Pick<Registry, 'servers' | 'audit'>
  readonly upstreams: Pick<Upstreams, 'trial'>
  readonly credentials: Pick<LiveCredentials, 'during'>
  readonly bytes: Pick<BytesInFlight, 'user'>
  /**
   * Reads a configuration of a known client, a command line or a URL; `sender` is a user's id. Throws `validation_failed` when
   * it recognizes none of these.
   */
  importDocument(document: JsonValue, sender: string): Promise<{ readonly entries: readonly ImportedEntry[] }>
}

const tag = 'servers'

/** Trial connections, and import of servers from other programs' settings. */
export function serverImportRoutes(deps: ServerImportDeps): Route[] {
  return [trialRoute(deps), importRoute(deps)]
}

const trialReport = z.object({
  ok: z.boolean(),
  steps: z.array(
    z.object({
      name: z.string(),
      ok: z.boolean(),
      durationMs: z.number(),
      code: z.string().optional().meta({ description: 'Of a step that failed' }),
      count: z.number().int().optional().meta({ description: 'Of `tools/list`: how many tools there are' }),
      detail: z.string().optional(),
    }),
  ),
  tools: z.array(z.looseObject({ name: z.string(), tokens: z.number().int() })),
  tokens: z.number().int().meta({ description: 'About what a model pays to read all tools' }),
  warnings: z.array(z.string()).meta({ description: 'Ignored and suspicious parts' }),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
})

const exampleTrial = {
  ok: true,
  steps: [
    { name: 'start', ok: true, durationMs: 412 },
    { name: 'initialize', ok: true, durationMs: 38, detail: '2025-11-25' },
    { name: 'tools/list', ok: true, durationMs: 6, detail: '2 tools' },
  ],
  tools: [{ name: 'get_current_time', inputSchema: { type: 'object' }, tokens: 16 }],
  tokens: 16,
  warnings: [],
}

function trialRoute(deps: ServerImportDeps): Route {
  return route({
    method: 'POST',
    path: '/api/servers/test',
    access: 'user',
    summary:
      'Connect once with a configuration, without saving it; masks stand for what the server of that name has stored. ' +
      'With `Accept: text/event-stream` each step is sent as it happens',
    tag,
    body: serverBody,
    ...largeBody,
    responses: {
      200: {
        description:
          'Each step with its outcome. As a stream: a `step` event when one begins, with its name alone, and when it has ended, ' +
          'then one `report` or `error`',
        schema: trialReport,
        example: exampleTrial,
      },
    },
    async handle({ actor, body, info, request, signal }) {
      // Renamed, so that the configuration of an existing server can be tried while it is edited.
      const unnamed = { ...body, name: `trial-${randomUUID().slice(0, 8)}` }
      const draft = await deps.registry.servers.draft(actor, unnamed, editedRef(body))
      const { transport, transportInferred = false, config, timeoutMs, startTimeoutMs, era } = draft.settings
      const { ownerId, ownerRole, rightsCap, secrets } = draft
      const document = draft.document ? { document: draft.document } : {}
      const cap = rightsCap === undefined ? {} : { rightsCap }
      const pinned = era === undefined ? {} : { era }
      const limits = { timeoutMs, ...(startTimeoutMs === undefined ? {} : { startTimeoutMs }) }
      const tried = { transport, transportInferred, config, ...document, ...limits }
      const wanted = { ownerId, ownerRole, ...cap, ...pinned, ...tried, secrets }
      info.keepOpen()
      const trial = async (until: AbortSignal, onStep?: TrialListener): Promise<object> => {
        const report = await deps.credentials.during(actor, until, end => deps.upstreams.trial(wanted, end, onStep))
        const tools = report.tools.map(tool => ({ ...tool, tokens: tokensOf(tool) }))
        return { ...report, tools, tokens: tools.reduce((sum, tool) => sum + tool.tokens, 0) }
      }
      if (!wantsStream(request.headers)) return { body: await trial(signal) }
      const options = { bytes: deps.bytes, userId: actor.userId, requestId: info.requestId, signal }
      return eventReply(options, async (emit, until) => {
        const report = await trial(until, step => emit({ name: 'step', text: JSON.stringify(step) }))
        return { name: 'report', text: JSON.stringify(report) }
      })
    },
  })
}

/** Returns the reference of the server whose stored secrets replace the masks in a body. */
function editedRef({ name, owner }: JsonObject): string | undefined {
  if (typeof name !== 'string') return undefined
  return typeof owner === 'string' ? formatRef(owner, name) : name
}

const verdictSchema = z.object({
  name: z.string(),
  writtenName: z.string().optional().meta({ description: 'The name in the document, where it cannot be a server’s' }),
  verdict: z.enum(['new', 'exists', 'invalid', 'created']),
  ref: z.string().optional().meta({ description: 'Of the server that was created or exists' }),
  at: z.string().optional().meta({ description: 'Where a document has the entry: a pointer from `#` on' }),
  body: anyObject.optional().meta({ description: 'What would be created, its secrets masked; with `dryRun` only' }),
  places: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: 'Where the document holds each masked secret: pointer in `body` → pointer in the document' }),
  spans: z
    .record(z.string(), z.object({ from: z.int(), to: z.int(), before: z.string().optional() }))
    .optional()
    .meta({
      description:
        'Where a document that is a text has each masked secret literally: pointer in `body` → the characters from and to, and a scheme such as `Bearer ` that the hub put before it',
    }),
  warnings: z.array(z.string()).optional().meta({ description: 'What is left out or written in another form' }),
  pointer: z.string().optional().meta({ description: 'Where the document is wrong, from its root on' }),
  error: problemSchema.optional(),
})

const exampleImport = {
  dryRun: true,
  entries: [
    { name: 'time', verdict: 'new', body: { name: 'time', command: 'uvx', args: ['mcp-server-time'] } },
    { name: 'files', verdict: 'exists', ref: 'ada~files' },
    {
      name: 'odd',
      verdict: 'invalid',
      pointer: '#/mcpServers/odd',
      error: {
        code: 'validation_failed',
        title: 'Some fields are not valid',
        status: 400,
        detail: 'Entry "odd" names neither a command nor a URL',
      },
    },
  ],
}

/** A document to import. */
export const importedDocument = z
  .union([z.string(), anyObject])
  .meta({ description: 'The file’s text or its JSON, an install link, a command line, or a URL' })

const importFields = z.object({
  document: importedDocument.meta({
    description: 'The file’s text or its JSON, a command line, or a URL. The JSON may also be the whole body',
  }),
})

/** Limit of a document: each of the 2,000 items of an import may have 20 values. */
const DOCUMENT_MEMBERS = 40_000

/** The document has its own limits, whether it is a string or an object in the body. */
export const IMPORT_JSON: JsonLimits = {
  ...SERVER_JSON,
  copied: DOCUMENT_MEMBERS,
  foreign: { ...SERVER_JSON.foreign, endings: [...SERVER_JSON.foreign.endings, '/document'] },
}

function importRoute(deps: ServerImportDeps): Route {
  const answer = z.object({ dryRun: z.boolean(), entries: z.array(verdictSchema) })
  return route({
    method: 'POST',
    path: '/api/servers/import',
    access: 'user',
    summary:
      'Take servers over from the settings of a client, an install link, a line that adds one to a client, a command line or a URL',
    tag,
    query: z.strictObject({ dryRun: flag }),
    body: validatedByRegistry(importFields, { document: 'npx -y @modelcontextprotocol/server-memory' }),
    ...largeBody,
    json: IMPORT_JSON,
    responses: { 200: { description: 'Each entry with its verdict', schema: answer, example: exampleImport } },
    async handle({ actor, query, body, info }) {
      const document = documentOf(body)
      const { entries } = await deps.importDocument(document, actor.userId)
      const dryRun = query.dryRun === 'true'
      const text = typeof document === 'string' && document.length <= SEARCHED_CHARACTERS ? document : ''
      const verdicts = []
      for (const entry of entries) {
        verdicts.push(await takeOver({ ...deps, text }, actor, info, entry, dryRun))
        await nextTurn()
      }
      return { body: { dryRun, entries: firstOfEachName(verdicts) } }
    },
  })
}

/** `{document}` alone is the envelope; any other object is the document itself. */
export function documentOf(body: JsonObject): JsonValue {
  const document: JsonValue | undefined = Object.keys(body).length === 1 ? body.document : undefined
  return typeof document === 'string' || (document !== null && typeof document === 'object') ? document : body
}

/** Result, or expected result, for one entry of the document. */
export interface Verdict {
  readonly name: string
  /** The name in the document, if it cannot be used as a server's name. */
  readonly writtenName?: string
  readonly verdict: 'new' | 'exists' | 'invalid' | 'created'
  readonly ref?: string
  readonly at?: string
  readonly body?: JsonObject
  readonly places?: Preview['places']
  readonly spans?: Preview['spans']
  readonly warnings?: readonly string[]
  readonly pointer?: string
  readonly error?: ProblemPart
}

/** The parts of the hub, and the document where it is a text. */
type Taking = ServerImportDeps & { readonly text: string }

async function takeOver(
  deps: Taking,
  actor: UserActor,
  info: RequestInfo,
  entry: ImportedEntry,
  dryRun: boolean,
): Promise<Verdict> {
  const verdict = await judged(deps, actor, info, entry, dryRun)
  const { writtenName, warnings, place } = entry
  const at = place && dryRun ? { at: place.pointer } : {}
  return { ...verdict, ...at, ...(writtenName === undefined ? {} : { writtenName }), ...(warnings ? { warnings } : {}) }
}

async function judged(
  deps: Taking,
  actor: UserActor,
  info: RequestInfo,
  entry: ImportedEntry,
  dryRun: boolean,
): Promise<Verdict> {
  const { name, body, problem } = entry
  if (problem) {
    const { code = 'import_invalid', message: detail, pointer = '#' } = problem
    return invalid(name, validationError([{ pointer, code, detail }]), problem.pointer)
  }
  const existing = await existingRef(deps, actor, entry)
  if (existing !== undefined)
    return { name, verdict: 'exists', ref: existing, ...(dryRun ? preview(deps.transports, deps.text, entry) : {}) }
  try {
    if (dryRun) {
      await deps.registry.servers.draft(actor, { ...body, name })
      return { name, verdict: 'new', ...preview(deps.transports, deps.text, entry) }
    }
    const record = await deps.registry.servers.create(actor, { ...body, name }, { unseen: isOthers(actor, entry) })
    noteChange(deps.registry.audit, actor, info, 'server.create', record, { by: 'import' })
    return { name: record.name, verdict: 'created', ref: qualified(record) }
  } catch (error) {
    if (error instanceof HubError && error.code === 'server_name_taken') return { name, verdict: 'exists' }
    const verdict = invalid(name, error, undefined, pointer => placeInDocument(entry, pointer))
    return dryRun ? { ...verdict, ...preview(deps.transports, deps.text, entry) } : verdict
  }
}

/** True when the entry names another owner: the actor may then not have read the command that it runs. */
function isOthers(actor: UserActor, { from }: ImportedEntry): boolean {
  return from !== undefined && nameKey(from) !== nameKey(actor.name)
}

function invalid(name: string, error: unknown, pointer?: string, mapPointer?: (pointer: string) => string): Verdict {
  const problem = problemPart(error, mapPointer)
  const where = pointer ?? problem.errors?.[0]?.pointer
  return { name, verdict: 'invalid', ...(where === undefined ? {} : { pointer: where }), error: problem }
}

/** The server that already has this name in the entry's namespace. */
async function existingRef(
  deps: ServerImportDeps,
  actor: UserActor,
  entry: ImportedEntry,
): Promise<string | undefined> {
  const owner = typeof entry.body.owner === 'string' ? entry.body.owner : actor.name
  try {
    return qualified(await deps.registry.servers.resolve(actor, formatRef(owner, entry.name), 'use'))
  } catch (error) {
    // An invalid name is reported with the other errors of the entry; a failure of the store must not count as "new".
    if (error instanceof HubError && error.status < 500) return undefined
    throw error
  }
}

/** In a dry run, marks later entries of a name as existing, since an import would create only the first. */
export function firstOfEachName(verdicts: readonly Verdict[]): readonly Verdict[] {
  const seen = new Set<string>()
  return verdicts.map(verdict => {
    const key = nameKey(verdict.name)
    if (verdict.verdict !== 'new' || !seen.has(key)) {
      if (verdict.verdict === 'new') seen.add(key)
      return verdict
    }
    return { name: verdict.name, verdict: 'exists' as const }
  })
}
