import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import { importText } from '../config/import/document.ts'
import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { quotedWords } from '../domain/text/quoted-words.ts'
import { ENTRY_FIELDS } from '../hub/bundled-fields.ts'
import { CommandError, OUTPUT, readArguments, UsageError } from './arguments.ts'
import { readPassphrase } from './backup.ts'
import { HubClient } from './client.ts'
import { Originals, printRestored, restoreOriginals } from './client-files/import-originals.ts'
import { fileOf, importPlaces, onlyServers, presentPlaces } from './client-files/import-places.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson, printTable } from './output.ts'

/** The text of `patchbay import --help`. */
export const help = `patchbay import [file] [--dry-run] [--owner name] [--answer NAME=value]... [--skip pointer]... [--replace pointer]... [--group name] [--switch-off] [--off] [--json]
patchbay import --from <client> [--dry-run] …
patchbay import --scan
patchbay import --list [--json]
patchbay import --undo <id> [file] [--json]
patchbay import --switch-on [file] [--from client] [--json]

Takes over what a file, or standard input, holds: the settings of Claude Desktop, Cursor, VS Code, Codex and other clients, one
entry of them, an install link, a line such as "claude mcp add …", a command line or a URL; or the settings file of another hub with its users, servers, groups and access keys. It is
done in one transaction: all that could be taken, or nothing.

  --from client        its file on this machine, such as cursor or codex
  --scan               which clients have a file here
  --dry-run            only say what would be done
  --owner name         who gets the servers (administrators only; default: you)
  --answer NAME=value  what \${NAME} in the document stands for; without it such servers are switched off
  --skip pointer       leaves out the item at this place of the document, such as #/users/0
  --replace pointer    the item at this place takes the place of what you have under its name
  --group name         the imported servers join this group, which is made if it is not there
  --switch-off         switches the servers off in the file itself, so that none runs twice: by the client's own switch, else
                       by removing the entry; a copy of the file is kept beside it
  --switch-on          brings the file back, unless it was changed since; without a file, those of all clients here
  --passphrase-stdin   the passphrase of an export with secrets; the document is then a file
  --off                switches all imported servers off
  --list               your imports of the last seven days
  --undo id            takes one back, but for what was changed since, and brings the client's file back
  --json               the hub's answer as JSON

Exit code 1 when something could not be taken, or taken back. What is there already is left alone
without --replace.
`

const FLAG = { type: 'boolean' } as const
const TEXT = { type: 'string' } as const
const TEXTS = { type: 'string', multiple: true } as const
const OPTIONS = {
  ...OUTPUT,
  ...{ 'dry-run': FLAG, owner: TEXT, off: FLAG, answer: TEXTS, skip: TEXTS, replace: TEXTS, group: TEXT },
  ...{ 'switch-off': FLAG, 'switch-on': FLAG, list: FLAG, undo: TEXT },
  ...{ from: TEXT, scan: FLAG, 'passphrase-stdin': FLAG },
} as const

type Values = ReturnType<typeof readArguments<typeof OPTIONS>>['values']

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, { options: OPTIONS, positionals: ['[file]'] })
  const { json = false } = values
  const [named] = positionals
  const given = named === undefined || named === '-' ? undefined : resolve(io.cwd, named)
  if (values.list) return list(io, json)
  if (values.undo !== undefined) return undo(io, values.undo, given, json)
  if (values['switch-on']) return switchOn(io, given, values.from, json)
  if (values.scan) return scan(io, json)
  return takeOver(io, values, given)
}

async function takeOver(io: CommandIo, values: Values, given: string | undefined): Promise<number> {
  const client = await HubClient.connect(io)
  const file = values.from === undefined ? given : await fileOf(values.from, await importPlaces(client, io))
  const originals = values['switch-off'] ? await originalsOf(file, values.owner, client) : undefined
  const wanted = await wantedOf(io, values, file)
  const plan = await client.post('/api/import?dryRun=true', wanted)
  // A file that cannot be changed is found before anything is made.
  const switched = await originals?.plan(plan)
  const isDry = values['dry-run'] === true
  const done = isDry ? plan : await client.post('/api/import', { ...wanted, planHash: plan.planHash ?? '' })
  if (values.json)
    printJson(io, { ...done, ...(switched ? { originals: { file, off: switched.off, left: switched.left } } : {}) })
  else print(io, done, isDry, originals && file)
  if (originals && switched)
    await originals.finish(io, switched, { isDry, id: String(done.id), quiet: values.json === true })
  return objects(done.items).some(item => item.verdict === 'invalid') ? 1 : 0
}

async function wantedOf(io: CommandIo, values: Values, file: string | undefined): Promise<JsonObject> {
  const text = await readDocument(file, io)
  const passphrase = values['passphrase-stdin'] ? await readPassphrase(io) : undefined
  return { ...choicesIn(values), document: await documentOf(text, values), ...(passphrase ? { passphrase } : {}) }
}

interface Choices {
  readonly answer?: readonly string[]
  readonly skip?: readonly string[]
  readonly replace?: readonly string[]
  readonly off?: boolean
  readonly group?: string
}

function choicesIn({ answer = [], skip = [], replace = [], off = false, group }: Choices): JsonObject {
  const chosen = [...replace.map(pointer => [pointer, 'replace']), ...skip.map(pointer => [pointer, 'skip'])]
  const choices = Object.fromEntries(chosen) as JsonObject
  const joined = group === undefined ? {} : { group }
  return { answers: Object.fromEntries(answer.map(readAnswer)), choices, off, ...joined }
}

async function documentOf(
  text: string,
  { owner, from }: { readonly owner?: string; readonly from?: string },
): Promise<JsonValue> {
  if (owner !== undefined) return withOwner(text, owner)
  return from === undefined ? readable(text) : onlyServers(text)
}

/** Longer texts are sent as JSON, which a hub reads in a thread. */
const TEXT_CHARACTERS = 1024 * 1024

function readable(text: string): JsonValue {
  if (text.length <= TEXT_CHARACTERS) return text
  try {
    return JSON.parse(text) as JsonValue
  } catch {
    return text
  }
}

function readAnswer(text: string): [name: string, value: string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`--answer wants NAME=value, not "${text.slice(0, 64)}"`)
  return [text.slice(0, at), text.slice(at + 1)]
}

function objects(value: JsonValue | undefined): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : []
}

function originalsOf(file: string | undefined, owner: string | undefined, client: HubClient): Promise<Originals> {
  if (file === undefined) throw new UsageError('--switch-off needs a file, or --from')
  if (owner !== undefined) throw new UsageError('--switch-off cannot be used with --owner')
  return Originals.of(file, client)
}

function print(io: CommandIo, done: JsonObject, isDry: boolean, file?: string): void {
  printTable(
    io,
    ['OUTCOME', 'KIND', 'NAME', 'DETAIL'],
    objects(done.items).map(item => row(item, isDry)),
  )
  for (const item of objects(done.items)) io.stdout(plain(targetLine(item)))
  for (const { pointer, what, instead } of objects(done.notCarried)) {
    io.stdout(plain(`not carried: ${String(what)} (${String(pointer)}). ${String(instead)}\n`))
  }
  for (const warning of Array.isArray(done.warnings) ? done.warnings : []) io.stdout(plain(`${String(warning)}\n`))
  const words = file === undefined ? '' : ` ${quotedWords([file])}`
  if (typeof done.id === 'string') io.stdout(plain(`take it back: patchbay import --undo ${done.id}${words}\n`))
}

/** The command of an imported server with each word quoted, or its address; empty for other items. */
function targetLine({ verdict, name, body }: JsonObject): string {
  if ((verdict !== 'new' && verdict !== 'replaced') || !isJsonObject(body)) return ''
  const { command, args, url } = body
  if (typeof command === 'string') {
    const words = [command, ...(Array.isArray(args) ? args : [])].map(String)
    return `${String(name)} runs: ${quotedWords(words)}\n`
  }
  return typeof url === 'string' ? `${String(name)} connects to: ${quotedWords([url])}\n` : ''
}

function row(item: JsonObject, isDry: boolean): (string | undefined)[] {
  const error = isJsonObject(item.error) ? item.error : {}
  const warnings = Array.isArray(item.warnings) ? item.warnings : []
  const place = item.verdict === 'invalid' ? item.pointer : undefined
  const members = isJsonObject(item.body) && Array.isArray(item.body.members) ? item.body.members : []
  const joins = item.kind === 'group' && members.length > 0 ? `gets ${members.join(', ')}` : undefined
  const details = [item.ref, place, joins, error.detail, ...warnings].filter(part => typeof part === 'string')
  const fields = objects(error.errors)
  const more = fields
    .map(field => `${String(field.pointer)} ${String(field.detail)}`)
    .filter(text => !details.includes(text))
  const outcome = item.verdict === 'new' && !isDry ? 'created' : String(item.verdict)
  return [outcome, String(item.kind), String(item.name), [...details, ...(fields.length > 1 ? more : [])].join(' · ')]
}

async function scan(io: CommandIo, json: boolean): Promise<number> {
  const found = await presentPlaces(await importPlaces(await HubClient.connect(io), io))
  if (json) printJson(io, [...found])
  else
    printTable(
      io,
      ['CLIENT', 'FILE'],
      found.map(({ client, file }) => [client, file]),
    )
  return 0
}

async function list(io: CommandIo, json: boolean): Promise<number> {
  const { items } = await (await HubClient.connect(io)).get('/api/import')
  if (json) printJson(io, items ?? [])
  else {
    const rows = objects(items).map(one => [one.id, one.createdAt, one.source, one.made].map(String))
    printTable(io, ['ID', 'AT', 'SOURCE', 'MADE'], rows)
  }
  return 0
}

async function switchOn(
  io: CommandIo,
  given: string | undefined,
  from: string | undefined,
  json: boolean,
): Promise<number> {
  const client = await HubClient.connect(io)
  const file = from === undefined ? given : await fileOf(from, await importPlaces(client, io))
  const restored = await restoreOriginals(client, file, undefined, io)
  if (json) printJson(io, restored)
  else if (restored.length === 0) io.stdout('no file in which an import switched servers off\n')
  else printRestored(io, restored)
  return restored.length > 0 && restored.every(({ outcome }) => outcome === 'restored') ? 0 : 1
}

async function undo(io: CommandIo, id: string, file: string | undefined, json: boolean): Promise<number> {
  const client = await HubClient.connect(io)
  const answer = await client.post(`/api/import/${encodeURIComponent(id)}/rollback`, {})
  const files = await restoreOriginals(client, file, id, io)
  const [removed, kept] = [objects(answer.removed), objects(answer.kept)]
  if (json) printJson(io, { ...answer, ...(files.length > 0 ? { originals: [...files] } : {}) })
  else {
    io.stdout(`removed ${removed.length}\n`)
    const restored = objects(answer.restored).length
    if (restored > 0) io.stdout(`brought back ${restored}\n`)
    for (const { kind, name, why } of kept) io.stdout(plain(`kept ${String(kind)} ${String(name)}: ${String(why)}\n`))
    printRestored(io, files)
  }
  return kept.length > 0 || files.some(({ outcome }) => outcome === 'changed') ? 1 : 0
}

async function readDocument(file: string | undefined, io: CommandIo): Promise<string> {
  if (file === undefined || file === '-') return io.stdin()
  let bytes: Uint8Array
  try {
    bytes = await readFile(resolve(io.cwd, file))
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  }
  return decoded(bytes, file)
}

/** Notepad and PowerShell write UTF-16 with a mark; anything else must be UTF-8: a wrong character could be one of a secret. */
function decoded(bytes: Uint8Array, file: string): string {
  const [first, second] = bytes
  const marked =
    first === 0xff && second === 0xfe ? 'utf-16le' : first === 0xfe && second === 0xff ? 'utf-16be' : 'utf-8'
  try {
    const text = new TextDecoder(marked, { fatal: true }).decode(bytes)
    // UTF-16 without its mark is UTF-8 with a NUL in each character.
    if (text.includes('\0')) throw new RangeError('The text holds a NUL character')
    return text
  } catch (cause) {
    throw new CommandError(`Cannot read "${file}": it is no text in UTF-8, or in UTF-16 with a byte order mark`, {
      cause,
    })
  }
}

/** Converts to a settings file in which every server has this owner. Throws validation_failed, CommandError. */
async function withOwner(text: string, owner: string): Promise<JsonObject> {
  const { entries } = await importText(text, ENTRY_FIELDS)
  const broken = entries.find(entry => entry.problem)
  if (broken?.problem) throw new CommandError(`Cannot read the entry "${broken.name}": ${broken.problem.message}`)
  return { mcpServers: Object.fromEntries(entries.map(({ name, body }) => [`${owner}::${name}`, body])) }
}
