import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { type ConfigEntry, type ConfigSyntax, UnreadableConfig } from '../config/client-file/config-syntax.ts'
import { syntaxOf } from '../config/client-file/syntaxes.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { CommandError, readArguments, UsageError } from './arguments.ts'
import { HubClient } from './client.ts'
import { copiesOf, keyIn, placeOf, readConfig, writeConfig } from './client-files/connect-file.ts'
import type { CommandIo } from './io.ts'
import { plain } from './output.ts'
import { signInAtServer } from './sign-in/at-server.ts'

/** The text of `patchbay connect --help`. */
export const help = `patchbay connect <client> --group <group> [--project [folder]] [--replace]
patchbay connect <client> --group <group> --print
patchbay connect <client> --group <group> --undo [--project [folder]]
patchbay connect <server>

Adds a group to an MCP client on this machine: makes an access key that opens this group alone, and changes one entry of
the client's file, after a copy beside it (FILE.patchbay-TIME.bak). Clients: claude-desktop, claude-code, cursor, vscode,
windsurf, codex, gemini, qwen, kiro, roo, copilot-cli, amp, hermes, zed, lm-studio, cline, crush, opencode, goose,
continue, librechat, litellm, 1mcp, and what plugins add.

Without --group: signs you in at a server that wants it. Prints the link to open, or the code to enter at the issuer where
the server has "grant": "device", and waits until it is done.

  --project folder  the file of the project in this folder, such as .vscode/mcp.json, in place of the user's; without a
                    folder, of the one in which you are
  --replace         also when the file has another entry of that name
  --print           print what belongs into which file, without a key, and change nothing
  --undo            put the entry back as it was before, and revoke its key
`

const PLACEHOLDER = '<ACCESS_KEY>'

interface Wanted {
  readonly client: string
  readonly group: string
  readonly file: string
  /** The file is one of a project, which others may get to see. */
  readonly project: boolean
  readonly syntax: ConfigSyntax
  /** As the hub gave it, with a placeholder for the key. */
  readonly text: string
  readonly entry: ConfigEntry
  readonly note: string
}

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(withFolder(argv), {
    options: {
      group: { type: 'string' },
      project: { type: 'string' },
      replace: { type: 'boolean' },
      print: { type: 'boolean' },
      undo: { type: 'boolean' },
    },
    positionals: ['client or server'],
  })
  const { group, project: folder } = values
  const client = positionals[0] ?? ''
  if (group === undefined) {
    if (Object.keys(values).length > 0) throw new UsageError('"--group" is missing')
    return signInAtServer(await HubClient.connect(io), client, io)
  }
  const project = folder === undefined ? undefined : await projectFolder(folder, io)
  const hub = await HubClient.connect(io)
  const path = `/api/groups/${encodeURIComponent(group)}/client-config?${new URLSearchParams({ client })}`
  const config = await hub.get(path)
  const file = config.format === 'shell' ? undefined : placeOf(asList(config.places), project, io)
  if (values.print) return print(config, file, io)
  if (file === undefined) {
    throw new CommandError(
      `${client} has no ${project !== undefined ? 'file of a project' : 'file here'}: --print shows what to do by hand`,
    )
  }
  try {
    const syntax = syntaxOf(String(config.format))
    const note = typeof config.note === 'string' ? config.note : ''
    const text = String(config.text)
    const isOfProject = folder !== undefined
    const wanted = { client, group, file, project: isOfProject, syntax, text, entry: syntax.only(text), note }
    return await (values.undo ? undo(hub, wanted, io) : connect(hub, wanted, values.replace === true, io))
  } catch (error) {
    if (!(error instanceof UnreadableConfig)) throw error
    throw new CommandError(`config_unreadable: ${file}: ${error.message}\nNothing was changed.`)
  }
}

/**
 * `--project` may have no value: it is then the working folder. The word behind it is the folder where another word names the
 * client.
 */
function withFolder(argv: readonly string[]): readonly string[] {
  const at = argv.indexOf('--project')
  if (at < 0) return argv
  const next = argv[at + 1]
  const isWord = (word: string | undefined, index: number): boolean =>
    word !== undefined && !word.startsWith('-') && argv[index - 1] !== '--group'
  const isNamedElsewhere = argv.some((word, index) => index !== at + 1 && isWord(word, index))
  if (next !== undefined && !next.startsWith('-') && isNamedElsewhere) return argv
  return argv.with(at, '--project=.')
}

async function projectFolder(folder: string, { cwd }: CommandIo): Promise<string> {
  const path = resolve(cwd, folder)
  const isFolder = await stat(path).then(
    found => found.isDirectory(),
    () => false,
  )
  if (!isFolder) throw new CommandError(`"--project" names no folder: ${path}`)
  return path
}

function print(config: JsonObject, file: string | undefined, io: CommandIo): number {
  for (const [title, value] of [
    ['file', file ?? config.path],
    ['command', config.command],
    ['link', config.link],
    ['note', config.note],
  ])
    if (typeof value === 'string') io.stdout(plain(`${title}: ${value}\n`))
  io.stdout(plain(`\n${String(config.text)}`))
  return 0
}

async function connect(hub: HubClient, wanted: Wanted, replace: boolean, io: CommandIo): Promise<number> {
  const { client, group, file, project, syntax, entry, note } = wanted
  const { table, name } = entry
  const text = await readConfig(file)
  const present = syntax.read(text, table, name)
  if (present !== undefined && !replace && !leadsTo(present, entry)) {
    throw new CommandError(
      `config_entry_exists: ${file} has another entry "${name}": rename it there, or take its place with --replace`,
    )
  }
  // If the file cannot be written, no key must be left behind.
  syntax.write(text, entry, entry)
  const key = await hub.post('/api/keys', { label: labelOf(wanted), scopes: [{ group }] })
  try {
    const copy = await writeConfig(file, syntax.write(text, entry, syntax.only(withKey(wanted, String(key.secret)))))
    io.stdout(plain(`${file}: "${name}" uses ${group} with a key of its own${copy ? `; before: ${copy}` : ''}\n`))
  } catch (error) {
    await hub.send('DELETE', `/api/keys/${encodeURIComponent(String(key.id))}`)
    throw error instanceof UnreadableConfig
      ? error
      : new CommandError(`Cannot write "${file}": ${String(error)}`, { cause: error })
  }
  if (isJsonObject(present)) await revoke(hub, wanted, present, io)
  if (project) io.stdout('The file holds the key: keep it out of version control.\n')
  io.stdout(plain(`Start ${client} again.${note === '' ? '' : ` ${note}`}\n`))
  return 0
}

async function undo(hub: HubClient, wanted: Wanted, io: CommandIo): Promise<number> {
  const { file, syntax, entry } = wanted
  const { table, name } = entry
  const text = await readConfig(file)
  const present = syntax.read(text, table, name)
  if (present === undefined) throw new CommandError(`${file} has no entry "${name}": nothing was changed`)
  const before = await entryBefore(wanted)
  await writeConfig(file, syntax.write(text, entry, before))
  io.stdout(plain(`${file}: "${name}" is ${before ? 'as it was before' : 'removed'}\n`))
  if (isJsonObject(present)) await revoke(hub, wanted, present, io)
  return 0
}

/** The entry that was there before this command wrote its first one; undefined: none. */
async function entryBefore({ file, syntax, entry }: Wanted): Promise<ConfigEntry | undefined> {
  for (const copy of await copiesOf(file)) {
    const found = syntax.entryOf(await readConfig(copy), entry.table, entry.name)
    if (found === undefined || !leadsTo(found.value, entry)) return found
  }
  return undefined
}

/** Revokes the key of an entry, if this command made it. */
async function revoke(hub: HubClient, wanted: Wanted, entry: JsonObject, io: CommandIo): Promise<void> {
  const key = keyIn(entry)
  if (key === undefined) return
  const known = await hub.list('/api/keys')
  const own = known.find(({ label, last4 }) => label === labelOf(wanted) && last4 === key.slice(-4))
  if (own === undefined) return
  await hub.send('DELETE', `/api/keys/${encodeURIComponent(String(own.id))}`)
  io.stdout('its earlier key is revoked\n')
}

function labelOf({ client, group }: Pick<Wanted, 'client' | 'group'>): string {
  return `${client}: ${group}`.slice(0, 100)
}

function withKey({ text }: Wanted, secret: string): string {
  return text.replaceAll(PLACEHOLDER, secret)
}

/** True when an entry has the same address: this command, or its user, created it for this group. */
function leadsTo(present: unknown, { value }: ConfigEntry): boolean {
  const address = (entry: unknown): string | undefined => JSON.stringify(entry)?.match(/https?:\/\/[^"\\]+/)?.[0]
  return address(present) === address(value)
}

function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
