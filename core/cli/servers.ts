import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { CommandError, OUTPUT, readArguments, readVerb, UsageError } from './arguments.ts'
import { HubClient, suggestionLine } from './client.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson, printTable } from './output.ts'

/** The text of `patchbay servers --help`. */
export const help = `patchbay servers list [--all | --visible] [--state online|connecting|offline] [--tag word]... [--json]
patchbay servers show <server>
patchbay servers add <name> [options] -- <command> [arguments]
patchbay servers add <name> [options] --url <url>
patchbay servers remove <server>
patchbay servers start|stop|restart <server> [--wait 10s] [--json]

A server is named by its name, your own first, or as owner~name.

  --url url               a remote server; otherwise the command behind "--"
  --transport name        stdio, sse or streamable-http; default: what fits
  --env NAME=value        a variable of the command; may come several times
  --header "Name: value"  a header of each request; may come several times
  --cwd folder            where the command runs
  --tag word              a word to find it by; may come several times
  --owner name            whose it is (administrators only)
  --public                others may see and use it
  --disabled              not started now
  --wait duration         wait for the outcome, at most 60s
`

const TAGS = { tag: { type: 'string', multiple: true } } as const
const VERBS = ['list', 'show', 'add', 'remove', 'start', 'stop', 'restart'] as const

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { verb, rest } = readVerb(argv, VERBS)
  if (verb === 'list') return list(rest, io)
  if (verb === 'add') return add(rest, io)
  if (verb === 'show') return show(rest, io)
  if (verb === 'remove') return remove(rest, io)
  return control(verb, rest, io)
}

const path = (ref: string) => `/api/servers/${encodeURIComponent(ref)}`

async function list(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values } = readArguments(argv, {
    options: { ...OUTPUT, all: { type: 'boolean' }, visible: { type: 'boolean' }, state: { type: 'string' }, ...TAGS },
    positionals: [],
  })
  const query = new URLSearchParams({ scope: values.all ? 'all' : values.visible ? 'visible' : 'mine' })
  if (values.state !== undefined) query.set('state', values.state)
  for (const tag of values.tag ?? []) query.append('tag', tag)
  const servers = await (await HubClient.connect(io)).list(`/api/servers?${query}`)
  if (values.json) printJson(io, servers)
  else printTable(io, ['SERVER', 'TRANSPORT', 'STATE', 'TOOLS', 'REASON'], servers.map(row))
  return 0
}

function row(server: JsonObject): (string | undefined)[] {
  const status = isJsonObject(server.status) ? server.status : {}
  const reason = isJsonObject(status.reason) ? status.reason : {}
  const counts = isJsonObject(status.counts) ? status.counts : {}
  const why = [reason.code, reason.message].filter(part => typeof part === 'string').join(': ')
  return [refOf(server), String(server.transport ?? ''), String(status.state ?? ''), String(counts.tools ?? ''), why]
}

function refOf(server: JsonObject): string {
  return typeof server.ref === 'string' ? server.ref : `${String(server.owner ?? '')}~${String(server.name ?? '')}`
}

async function show(argv: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = readArguments(argv, { options: OUTPUT, positionals: ['server'] })
  printJson(io, await (await HubClient.connect(io)).get(path(positionals[0] ?? '')))
  return 0
}

async function add(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: {
      ...OUTPUT,
      url: { type: 'string' },
      transport: { type: 'string' },
      env: { type: 'string', multiple: true },
      header: { type: 'string', multiple: true },
      cwd: { type: 'string' },
      owner: { type: 'string' },
      ...TAGS,
      public: { type: 'boolean' },
      disabled: { type: 'boolean' },
    },
    positionals: ['name', '[command...]'],
  })
  const [name = '', command, ...args] = positionals
  if ((command === undefined) === (values.url === undefined)) {
    throw new UsageError('either --url or a command behind "--" is wanted')
  }
  const body: Record<string, JsonValue> = { name }
  if (values.url !== undefined) body.url = values.url
  if (command !== undefined) Object.assign(body, { command, args })
  for (const key of ['transport', 'cwd', 'owner'] as const) if (values[key] !== undefined) body[key] = values[key]
  if (values.env) body.env = pairs(values.env, '=', '--env NAME=value')
  if (values.header) body.headers = pairs(values.header, ':', '--header "Name: value"')
  if (values.tag) body.tags = values.tag
  if (values.public) body.visibility = 'public'
  if (values.disabled) body.enabled = false
  const server = await (await HubClient.connect(io)).post('/api/servers', body)
  if (values.json) printJson(io, server)
  else io.stdout(plain([`created ${refOf(server)}`, ...warningLines(server)].map(line => `${line}\n`).join('')))
  return 0
}

function pairs(texts: readonly string[], separator: string, form: string): JsonObject {
  return Object.fromEntries(
    texts.map(text => {
      const at = text.indexOf(separator)
      if (at < 1) throw new UsageError(`"${text.slice(0, 32)}" is not of the form ${form}`)
      return [text.slice(0, at).trim(), separator === ':' ? text.slice(at + 1).trim() : text.slice(at + 1)]
    }),
  )
}

/** The warnings of a server, each with the form that is meant. */
function warningLines({ status }: JsonObject): string[] {
  const warnings = isJsonObject(status) && Array.isArray(status.warnings) ? status.warnings : []
  return warnings.flatMap(warning => {
    if (!isJsonObject(warning)) return []
    const { message, suggestion } = warning
    return [`warning: ${String(message)}`, ...(isJsonObject(suggestion) ? [suggestionLine(suggestion)] : [])]
  })
}

async function remove(argv: readonly string[], io: CommandIo): Promise<number> {
  const { positionals } = readArguments(argv, { options: {}, positionals: ['server'] })
  const ref = positionals[0] ?? ''
  await (await HubClient.connect(io)).send('DELETE', path(ref))
  io.stdout(plain(`removed ${ref}\n`))
  return 0
}

async function control(verb: 'start' | 'stop' | 'restart', argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, wait: { type: 'string' } },
    positionals: ['server'],
  })
  const wait = values.wait === undefined ? '' : `?${new URLSearchParams({ wait: values.wait })}`
  const server = await (await HubClient.connect(io)).post(`${path(positionals[0] ?? '')}/${verb}${wait}`)
  const [ref, , state, , why] = row(server)
  if (values.json) printJson(io, server)
  else io.stdout(plain(`${ref}: ${state}${why ? ` (${why})` : ''}\n`))
  if (wait !== '' && verb !== 'stop' && state === 'offline') throw new CommandError(`${ref} did not come online`)
  return 0
}
