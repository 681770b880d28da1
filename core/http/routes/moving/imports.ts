import { z } from 'zod'
import type { JsonObject, JsonValue } from '../../../contract/json.ts'
import type { UserActor } from '../../../contract/records.ts'
import { formatRef } from '../../../domain/names.ts'
import type { ClientConfig } from '../../../features/clients.ts'
import type { ImportSource, LeftBehind } from '../../../features/imports.ts'
import type { ImportOptions, ImportOutcome } from '../../../moving/import-scope.ts'
import type { ImportPlan, ImportService } from '../../../moving/imports.ts'
import type { Registry } from '../../../registry/api.ts'
import type { OpenAttached } from '../../../registry/attached.ts'
import { isPluginKind, type RecordKinds } from '../../../registry/record-kinds.ts'
import type { RequestInfo } from '../../../request/request-info.ts'
import { type Route, route } from '../../route.ts'
import { plannedQuery, plannedReply } from '../planned.ts'
import { anyObject, limitedRecord, problemPart as problemSchema, timestamp } from '../schemas.ts'
import { problemPart } from '../servers/problem-part.ts'
import { IMPORT_JSON, importedDocument } from '../servers/server-import.ts'
import { largeBody } from '../servers/server-schemas.ts'

/** Dependencies of imports. */
export interface ImportRoutesDeps {
  readonly registry: Pick<Registry, 'audit'>
  readonly imports: ImportService
  /** Kinds of the hub's own records, whose names are in the answers. */
  readonly kinds: RecordKinds
  readonly attached: Pick<OpenAttached, 'names'>
  /** Both by the program's name. */
  readonly importSources: () => ReadonlyMap<string, ImportSource>
  readonly clientConfigs: () => ReadonlyMap<string, ClientConfig>
  /** Sections of other hubs' settings files that stay behind, for the document. */
  readonly leftBehind: Readonly<Record<string, LeftBehind>>
}

const tag = 'moving'

/** Equal to the highest number of items of an import. */
const MOST_CHOICES = 2_000

const body = z
  .strictObject({
    document: importedDocument,
    planHash: z.string().optional().meta({ description: 'Of the answer with `dryRun`; required without it' }),
    answers: limitedRecord(z.string().max(256), z.string().max(65_536), MOST_CHOICES)
      .default({})
      .meta({ description: 'Values of the variables that the document refers to, by name' }),
    choices: limitedRecord(
      z.string(),
      z.union([z.enum(['skip', 'replace', 'accept']), z.strictObject({ rename: z.string().max(256) })]),
      MOST_CHOICES,
    )
      .default({})
      .meta({
        description:
          'By pointer of the item; `replace` takes the place of what you have under its name; `accept` takes a key of fewer than 32 characters for 30 days, and shares, quotas and rules of a document of somebody else',
      }),
    passphrase: z.string().max(1_024).optional().meta({ description: 'Of an export whose secrets are sealed' }),
    group: z.string().max(1_024).optional().meta({
      description: 'The group that the imported servers join, `name` or `owner~name`; it is made if it is not there',
    }),
    switchOff: z
      .union([z.boolean(), z.array(z.string().max(1_024)).max(MOST_CHOICES)])
      .default(false)
      .meta({
        description:
          'Answers the text of the file with its servers switched off, so that none runs twice: those that the import takes ' +
          'over, or those at these pointers. The document is then a text',
      }),
    off: z.boolean().default(false).meta({ description: 'Switches all imported servers and assistant endpoints off' }),
  })
  .meta({ examples: [{ document: { mcpServers: { time: { command: 'uvx', args: ['mcp-server-time'] } } } }] })

const place = z.object({ path: z.string(), os: z.enum(['mac', 'windows', 'linux']).optional() })

const originalText = z.object({ format: z.enum(['json', 'toml', 'yaml']), text: z.string() })

/** Names of the kinds of records of plugins. */
const PLUGIN_KIND = /^[a-z0-9-]+\.[a-z0-9-]+$/

/** Schemas of the answers of a hub with these kinds of records. */
function answersOf({ kinds, attached }: Pick<ImportRoutesDeps, 'kinds' | 'attached'>) {
  const ofHub = kinds.all().flatMap(one => (isPluginKind(one.kind) ? [] : [one.kind]))
  const kind = z.union([
    z.enum(['user', 'team', 'server', 'group', 'key', 'setting', 'secret', 'shares', ...attached.names(), ...ofHub]),
    z.string().regex(PLUGIN_KIND).meta({ description: 'Records of a plugin, `{plugin}.{kind}`' }),
  ])
  const item = z.object({
    kind,
    pointer: z.string().meta({ description: 'Into the document, from `#` on' }),
    name: z.string(),
    owner: z.string().optional(),
    of: z
      .enum(['server', 'group', 'user', 'key'])
      .optional()
      .meta({ description: 'Of shares, quotas and rules: the kind of thing that they belong to' }),
    verdict: z.enum(['new', 'same', 'replaced', 'extended', 'exists', 'invalid', 'skipped']),
    ref: z.string().optional(),
    body: anyObject.optional().meta({
      description:
        'Of a server, of quotas and of rules, secrets masked; of shares and teams, those that are given; of `group`, the members that it gets',
    }),
    missing: z.array(z.object({ name: z.string(), secret: z.boolean() })).optional(),
    warnings: z.array(z.string()),
    error: problemSchema.optional(),
  })
  const plan = z.object({
    id: z.string().optional().meta({ description: 'Of the import, by which it is taken back; absent with `dryRun`' }),
    source: z.string(),
    planHash: z.string(),
    items: z.array(item),
    notCarried: z.array(z.object({ pointer: z.string(), what: z.string(), instead: z.string() })),
    warnings: z.array(z.string()),
    switchedOff: originalText
      .extend({
        places: z
          .array(place)
          .meta({ description: 'Where the program keeps the file; empty where many programs have such a one' }),
        off: z.array(z.string()).meta({ description: 'The servers that the text switches off or leaves out' }),
        left: z
          .array(z.object({ name: z.string(), why: z.string() }))
          .meta({ description: 'The servers that stay on' }),
      })
      .optional()
      .meta({ description: 'With `switchOff`: put this text in the place of the file' }),
  })
  return { plan, part: z.object({ kind, name: z.string() }) }
}

const exampleItems = {
  source: 'hub',
  planHash: '0f5d…',
  items: [
    { kind: 'user', pointer: '#/users/1', name: 'bob', verdict: 'new', warnings: [] },
    {
      ...{ kind: 'server', pointer: '#/mcpServers/time', name: 'time', owner: 'bob', ref: 'bob~time', verdict: 'new' },
      ...{ body: { name: 'time', command: 'uvx', args: ['mcp-server-time'] }, warnings: [] },
    },
  ],
}

function exampleOf(leftBehind: ImportRoutesDeps['leftBehind']) {
  const [left] = Object.entries(leftBehind)
  return { ...exampleItems, notCarried: left ? [{ pointer: `#/${left[0]}`, ...left[1] }] : [], warnings: [] }
}

/** Taking over what other programs hold, and taking that back. */
export function importRoutes(deps: ImportRoutesDeps): Route[] {
  return [importRoute(deps), sourcesRoute(deps), listRoute(deps), rollbackRoute(deps)]
}

function importRoute({ imports, registry, ...deps }: ImportRoutesDeps): Route {
  const { plan } = answersOf(deps)
  const example = exampleOf(deps.leftBehind)
  return route({
    method: 'POST',
    path: '/api/import',
    access: 'user',
    summary:
      'Take over the settings of a client or of another hub, in one transaction, after a look at what it would do',
    tag,
    query: plannedQuery,
    body,
    ...largeBody,
    json: IMPORT_JSON,
    responses: { 200: { description: 'Each item with its verdict', schema: plan, example } },
    async handle({ actor, query, body: { document, planHash, ...wishes }, info }) {
      const options = { ...wishes, hubUrl: info.baseUrl } as ImportOptions
      const inputs = { document: document as JsonValue, options }
      return plannedReply(
        imports,
        { actor, query, planHash, inputs },
        {
          plan: shown,
          done({ id, ...made }) {
            note(registry, actor, info, 'import.apply', id, countsOf(made, deps))
            return { body: { id, ...shown(made) } }
          },
        },
      )
    },
  })
}

function countsOf({ source, items }: ImportPlan, { attached }: Pick<ImportRoutesDeps, 'attached'>): JsonObject {
  const asTheyAre = new Set(['shares', ...attached.names()])
  const made = items.filter(({ verdict }) => verdict === 'new')
  const counts = Object.entries(Object.groupBy(made, one => one.kind)).map(([of, some = []]) => [
    isPluginKind(of) || asTheyAre.has(of) ? of : `${of}s`,
    some.length,
  ])
  return { source, ...Object.fromEntries(counts) }
}

function shown({ items, ...rest }: ImportPlan): object {
  return { ...rest, items: items.map(shownItem) }
}

function shownItem({ error, place, ...outcome }: ImportOutcome): object {
  const { owner, name } = outcome
  const hasRef = (outcome.kind === 'server' || outcome.kind === 'group') && owner !== undefined
  return {
    ...outcome,
    ...(hasRef && outcome.verdict !== 'invalid' ? { ref: formatRef(owner, name) } : {}),
    ...(error === undefined ? {} : { error: problemPart(error, place) }),
  }
}

function listRoute({ imports }: ImportRoutesDeps): Route {
  const record = z.object({ id: z.string(), source: z.string(), createdAt: timestamp, made: z.number().int() })
  const one = { id: '0b1f…', source: 'hub', createdAt: '2026-11-24T09:30:00.000Z', made: 84 }
  return route({
    method: 'GET',
    path: '/api/import',
    access: 'user',
    summary: 'Your imports of the last seven days, which can be taken back',
    tag,
    responses: {
      200: { description: 'Newest first', schema: z.object({ items: z.array(record) }), example: { items: [one] } },
    },
    async handle({ actor }) {
      return { body: { items: await imports.list(actor) } }
    },
  })
}

function sourcesRoute({ importSources, clientConfigs }: ImportRoutesDeps): Route {
  const off = z
    .object({ field: z.string(), value: z.boolean() })
    .optional()
    .meta({ description: 'The member of an entry that switches its server off there' })
  const source = z.object({ id: z.string(), label: z.string(), places: z.array(place), off })
  const cursor = {
    id: 'cursor',
    label: 'Cursor',
    places: [{ path: '~/.cursor/mcp.json' }, { path: '.cursor/mcp.json' }],
  }
  return route({
    method: 'GET',
    path: '/api/import/sources',
    access: 'user',
    summary: 'The programs whose files are known, and where these lie',
    tag,
    responses: {
      200: { description: 'By name', schema: z.object({ items: z.array(source) }), example: { items: [cursor] } },
    },
    handle() {
      const known = new Map<string, Pick<ImportSource, 'label' | 'places' | 'off'>>([
        ...clientConfigs(),
        ...importSources(),
      ])
      const items = [...known].map(([id, { label, places, off: by }]) => ({
        ...{ id, label, places },
        ...(by === undefined ? {} : { off: { field: by.field, value: by.value } }),
      }))
      return { body: { items: items.filter(({ places }) => places.length > 0).sort((a, b) => (a.id < b.id ? -1 : 1)) } }
    },
  })
}

function rollbackRoute({ imports, registry, ...deps }: ImportRoutesDeps): Route {
  const { part } = answersOf(deps)
  return route<{ id: string }>({
    method: 'POST',
    path: '/api/import/{id}/rollback',
    access: 'user',
    summary: 'Take back what an import has made, and bring back what it replaced, but for what was changed since',
    tag,
    params: z.object({ id: z.string() }),
    responses: {
      200: {
        description:
          'What was removed, what is as it was before, what was kept and why, and what was not there any more',
        schema: z.object({
          removed: z.array(part),
          restored: z.array(part),
          kept: z.array(part.extend({ why: z.string() })),
          gone: z.array(part),
          original: originalText
            .optional()
            .meta({ description: 'The file as it was before the import switched servers off in it' }),
        }),
        example: {
          removed: [{ kind: 'server', name: 'time' }],
          restored: [],
          kept: [{ kind: 'group', name: 'work', why: 'it was changed since' }],
          gone: [],
        },
      },
    },
    async handle({ actor, params: { id }, info }) {
      const result = await imports.rollBack(actor, id)
      const detail = { removed: result.removed.length, restored: result.restored.length, kept: result.kept.length }
      note(registry, actor, info, 'import.rollback', id, detail)
      return { body: result }
    },
  })
}

function note(
  { audit }: ImportRoutesDeps['registry'],
  actor: UserActor,
  request: RequestInfo,
  action: string,
  target: string,
  detail: JsonObject,
): void {
  audit.record(actor, { action, target, ownerId: actor.userId, request, detail })
}
