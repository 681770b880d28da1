import { access } from 'node:fs/promises'
import { JsoncError, readJsonc } from '../../config/jsonc.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { CommandError } from '../arguments.ts'
import type { HubClient } from '../client.ts'
import type { CommandIo } from '../io.ts'
import { placeOf } from './connect-file.ts'

/** A file of a client on this machine, which need not exist. */
export interface ImportPlace {
  readonly client: string
  readonly label: string
  readonly file: string
}

/** Files in which known clients keep their servers on this machine: the user's files, and the project's. */
export async function importPlaces(client: HubClient, io: CommandIo): Promise<readonly ImportPlace[]> {
  const { items } = await client.get('/api/import/sources')
  return (Array.isArray(items) ? items.filter(isJsonObject) : []).flatMap(source =>
    [undefined, io.cwd].flatMap(project => placeIn(source, project, io)),
  )
}

function placeIn({ id, label, places }: JsonObject, project: string | undefined, io: CommandIo): ImportPlace[] {
  const file = placeOf(Array.isArray(places) ? places : [], project, io)
  return file === undefined ? [] : [{ client: String(id), label: String(label), file }]
}

/** The existing files, each once. */
export async function presentPlaces(places: readonly ImportPlace[]): Promise<readonly ImportPlace[]> {
  const present: ImportPlace[] = []
  for (const place of places) {
    const isThere = await access(place.file).then(
      () => true,
      () => false,
    )
    if (isThere && !present.some(({ file }) => file === place.file)) present.push(place)
  }
  return present
}

/** The file of one client. Throws CommandError for a client that is unknown or has none here. */
export async function fileOf(client: string, places: readonly ImportPlace[]): Promise<string> {
  const its = places.filter(place => place.client === client)
  if (its.length === 0) {
    const known = [...new Set(places.map(place => place.client))].sort().join(', ')
    throw new CommandError(`"${client}" is not a client that is known; one of: ${known}`)
  }
  const [found] = await presentPlaces(its)
  if (found) return found.file
  throw new CommandError(
    `There is no file of ${its[0]?.label} here; looked for: ${its.map(({ file }) => file).join(', ')}`,
  )
}

const SECTIONS = new Set([
  'mcpServers',
  'servers',
  'inputs',
  'mcp',
  'context_servers',
  'amp.mcpServers',
  'serverDefaults',
  'mcpTemplates',
])

/**
 * Returns the part of a client's file that names servers: other parts can contain its history and its own sign-in, which the hub
 * must not get. A text that is not JSON is returned unchanged.
 */
export function onlyServers(text: string): JsonValue {
  const value = jsonOf(text)
  if (!isJsonObject(value)) return text
  const kept = Object.entries(value).filter(([name]) => SECTIONS.has(name))
  const projects = Object.entries(isJsonObject(value.projects) ? value.projects : {}).flatMap(([folder, project]) =>
    isJsonObject(project) && project.mcpServers ? [[folder, { mcpServers: project.mcpServers }] as const] : [],
  )
  return { ...Object.fromEntries(kept), ...(projects.length > 0 ? { projects: Object.fromEntries(projects) } : {}) }
}

function jsonOf(text: string): JsonValue | undefined {
  try {
    return readJsonc(text).value
  } catch (error) {
    if (error instanceof JsoncError) return undefined
    throw error
  }
}
