import { validationError } from '../../../domain/validation-error.ts'
import type { ClientConfig, EndpointInfo } from '../../../features/clients.ts'

/** Configuration that a user adds to a client to connect it to a group. */
export interface ClientConfigText {
  readonly client: string
  readonly endpoint: string
  readonly format: ClientConfig['format']
  /** The file for the text; absent for a command. Only the name if the folder depends on the system. */
  readonly path?: string
  /** The client's files; one that begins with neither `~` nor `%` is of a project. */
  readonly places: ClientConfig['places']
  /** Text to paste, with `<ACCESS_KEY>` for the key. JSON texts are whole files, to be merged into an existing one. */
  readonly text: string
  /** The equivalent command of the client's CLI, if it has one. */
  readonly command?: string
  /** Opens the client, which adds the group; holds no key. */
  readonly link?: string
  readonly note?: string
  /** All clients whose configuration can be asked for. */
  readonly clients: readonly { readonly id: string; readonly label: string }[]
}

/** Placeholder for the access key, which the hub cannot show again. */
const KEY_PLACEHOLDER = '<ACCESS_KEY>'

/**
 * The configuration with which a client connects to one endpoint of this hub. `name` is the group's name. Throws
 * validation_failed for a client that no plugin supports.
 */
export async function clientConfig(
  clients: ReadonlyMap<string, ClientConfig>,
  client: string,
  name: string,
  url: string,
): Promise<ClientConfigText> {
  const config = clients.get(client)
  if (!config) {
    const detail = `"client" must be one of ${[...clients.keys()].map(each => JSON.stringify(each)).join(', ')}`
    throw validationError([{ pointer: '?client', code: 'enum', detail }])
  }
  const { format, places, note } = config
  const info: EndpointInfo = { name: entryName(name), url, key: KEY_PLACEHOLDER }
  // A plugin in a worker answers with promises.
  const entry = await config.entry(info)
  const command = await config.command?.(info)
  const link = await config.deepLink?.(info)
  const path = pathOf(places)
  return {
    client,
    endpoint: url,
    format,
    places,
    ...(path === undefined ? {} : { path }),
    text: typeof entry === 'string' ? entry : `${JSON.stringify(entry, null, 2)}\n`,
    ...(command ? { command: command.map(shellWord).join(' ') } : {}),
    ...(link === undefined ? {} : { link }),
    ...(note === undefined ? {} : { note }),
    clients: [...clients].map(([id, { label }]) => ({ id, label })),
  }
}

/**
 * The clients' rules for entry names differ; letters, digits, dash and underscore are valid everywhere (Claude Code
 * rejects others, and they need no quotes in TOML).
 */
export function entryName(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/[^A-Za-z0-9_]+/g, '-')
    .replace(/^-+|-+$/g, '')
  return plain === '' ? 'patchbay' : plain
}

function pathOf(places: ClientConfig['places']): string | undefined {
  const everywhere = places.find(({ os }) => os === undefined)?.path
  return everywhere ?? places[0]?.path.split('/').at(-1)
}

function shellWord(word: string): string {
  return /^[\w-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}
