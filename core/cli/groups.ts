import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { OUTPUT, readArguments, readVerb } from './arguments.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson, printTable } from './output.ts'

/** The text of `patchbay groups --help`. */
export const help = `patchbay groups list [--all | --visible] [--tag word]... [--json]
patchbay groups show <group>
patchbay groups create <name> [server...] [--description text] [--instructions text] [--tag word]... [--public]
                       [--selector argument] [--json]
patchbay groups remove <group>

With --selector, servers of the form value=server are offered as one set of tools, of which the argument chooses the server:
patchbay groups create crm calendar eu=crm-eu us=crm-us --selector region

A group is served to MCP clients at /mcp/{group}. Groups and servers are named by their name, your own first, or as
owner~name.
`

const VERBS = ['list', 'show', 'create', 'remove'] as const

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { verb, rest } = readVerb(argv, VERBS)
  if (verb === 'list') return list(rest, io)
  if (verb === 'create') return create(rest, io)
  if (verb === 'show') return show(rest, io)
  return remove(rest, io)
}

const TAGS = { tag: { type: 'string', multiple: true } } as const
const TEXTS = { description: { type: 'string' }, instructions: { type: 'string' } } as const

const path = (ref: string) => `/api/groups/${encodeURIComponent(ref)}`

async function list(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, {
    options: { ...OUTPUT, ...TAGS, all: { type: 'boolean' }, visible: { type: 'boolean' } },
    positionals: [],
  })
  const scope = values.all ? 'all' : values.visible ? 'visible' : 'mine'
  const query = new URLSearchParams({ scope })
  for (const tag of values.tag ?? []) query.append('tag', tag)
  const groups = await (await HubClient.connect(io)).list(`/api/groups?${query}`)
  if (values.json) printJson(io, groups)
  else printTable(io, ['GROUP', 'SERVERS', 'ONLINE', 'TOOLS', 'ENDPOINT'], groups.map(row))
  return 0
}

function row(group: JsonObject): (string | undefined)[] {
  const status = isJsonObject(group.status) ? group.status : {}
  const cells = [group.ref, status.total, status.online, group.tools, group.endpoint]
  return cells.map(cell => (cell === undefined ? '' : String(cell)))
}

async function show(argv: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = readArguments(argv, { options: OUTPUT, positionals: ['group'] })
  printJson(io, await (await HubClient.connect(io)).get(path(positionals[0] ?? '')))
  return 0
}

async function create(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, ...TAGS, ...TEXTS, selector: { type: 'string' }, public: { type: 'boolean' } },
    positionals: ['name', '[server...]'],
  })
  const [name = '', ...servers] = positionals
  const { selector: argument } = values
  // No name of a server has this sign.
  const isValue = (text: string): boolean => argument !== undefined && text.includes('=')
  const chosen = servers
    .filter(isValue)
    .map(text => [text.slice(0, text.indexOf('=')), text.slice(text.indexOf('=') + 1)])
  const group = await (await HubClient.connect(io)).post('/api/groups', {
    name,
    members: servers.filter(text => !isValue(text)),
    ...(argument === undefined ? {} : { selector: { argument, members: Object.fromEntries(chosen) } }),
    ...(values.description === undefined ? {} : { description: values.description }),
    ...(values.instructions === undefined ? {} : { instructions: values.instructions }),
    ...(values.tag === undefined ? {} : { tags: values.tag }),
    ...(values.public ? { visibility: 'public' } : {}),
  })
  if (values.json) printJson(io, group)
  else io.stdout(plain(`created ${String(group.ref)}, served at ${String(group.endpoint)}\n`))
  return 0
}

async function remove(argv: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = readArguments(argv, { options: {}, positionals: ['group'] })
  const ref = positionals[0] ?? ''
  await (await HubClient.connect(io)).send('DELETE', path(ref))
  io.stdout(plain(`removed ${ref}\n`))
  return 0
}
