import type { JsonObject, JsonValue } from '../contract/json.ts'
import { isJsonObject } from '../contract/json.ts'
import { parseDuration } from '../domain/duration.ts'
import { OUTPUT, readArguments, readVerb, UsageError } from './arguments.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { printJson, printTable } from './output.ts'

/** The text of `patchbay key --help`. */
export const help = `patchbay key list [--owner name] [--json]
patchbay key create <label> [--scope scope] [--expires 30d] [--json]
patchbay key revoke <id>

Access keys are credentials for programs. The secret of a new one is printed once.

  --scope scope      api, api:read, mcp (default), group:<group> or server:<server>; may come several times
  --expires when     a duration such as 30d, or a time such as 2027-01-01T00:00:00Z; default: never
  --owner name       another user's keys (administrators only)
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { verb, rest } = readVerb(argv, ['list', 'create', 'revoke'] as const)
  if (verb === 'list') return list(rest, io)
  if (verb === 'create') return create(rest, io)
  const { positionals } = readArguments(rest, { options: {}, positionals: ['id'] })
  const id = positionals[0] ?? ''
  await (await HubClient.connect(io)).send('DELETE', `/api/keys/${encodeURIComponent(id)}`)
  io.stdout(`revoked ${id}\n`)
  return 0
}

async function list(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, { options: { ...OUTPUT, owner: { type: 'string' } }, positionals: [] })
  const query = values.owner === undefined ? '' : `?${new URLSearchParams({ owner: values.owner })}`
  const keys = await (await HubClient.connect(io)).list(`/api/keys${query}`)
  if (values.json) printJson(io, keys)
  else printTable(io, ['ID', 'LABEL', 'ENDS WITH', 'SCOPES', 'EXPIRES', 'LAST USED'], keys.map(row))
  return 0
}

function row(key: JsonObject): string[] {
  const scopes = Array.isArray(key.scopes) ? key.scopes.map(scopeText).join(', ') : ''
  return [key.id, key.label, key.last4, scopes, key.expiresAt ?? 'never', key.lastUsedAt ?? 'never'].map(String)
}

function scopeText(scope: JsonValue): string {
  if (!isJsonObject(scope)) return String(scope)
  return Object.entries(scope)
    .map(([kind, ref]) => `${kind}:${String(ref)}`)
    .join(', ')
}

async function create(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, scope: { type: 'string', multiple: true }, expires: { type: 'string' } },
    positionals: ['label'],
  })
  const key = await (await HubClient.connect(io)).post('/api/keys', {
    label: positionals[0] ?? '',
    scopes: (values.scope ?? ['mcp']).map(readScope),
    ...(values.expires === undefined ? {} : { expiresAt: readExpiry(values.expires) }),
  })
  if (values.json) printJson(io, key)
  else io.stdout(`created ${String(key.id)}\nsecret: ${String(key.secret)}\n`)
  return 0
}

function readScope(text: string): JsonValue {
  const [, kind, ref] = /^(group|server):(.+)$/.exec(text) ?? []
  if (kind !== undefined && ref !== undefined) return { [kind]: ref }
  if (text === 'api' || text === 'api:read' || text === 'mcp') return text
  throw new UsageError(`"${text}" is no scope; wanted: api, api:read, mcp, group:<group> or server:<server>`)
}

function readExpiry(text: string): string {
  const durationMs = parseDuration(text)
  const atMs = durationMs === undefined ? Date.parse(text) : Date.now() + durationMs
  if (Number.isNaN(atMs)) throw new UsageError(`"${text}" is neither a duration such as 30d nor a time`)
  return new Date(atMs).toISOString()
}
