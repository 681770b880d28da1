import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { codeOf } from '../config/atomic-write.ts'
import { importDocument } from '../config/import-document.ts'
import { isJsonObject, type JsonObject } from '../contract/json.ts'
import { CommandError, OUTPUT, readArguments } from './arguments.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { printJson, printTable } from './output.ts'

/** The text of `patchbay import --help`. */
export const help = `patchbay import [file] [--dry-run] [--owner name] [--json]

Takes servers over from a file, or from standard input: the settings of Claude Desktop, Cursor, VS Code, Windsurf or
another hub (mcp_settings.json), one entry of such a file, a command line, or a URL.

  --dry-run       only say what would be created
  --owner name    who gets the servers (administrators only; default: you)
  --json          the hub's answer as JSON

Exit code 1 when an entry could not be taken. One whose name is used already is left alone.
`

/** Returns the exit code. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: { ...OUTPUT, 'dry-run': { type: 'boolean' }, owner: { type: 'string' } },
    positionals: ['[file]'],
  })
  const text = await readDocument(positionals[0], io)
  const document = values.owner === undefined ? text : withOwner(text, values.owner)
  const client = await HubClient.connect(io)
  const answer = await client.post(`/api/servers/import?dryRun=${values['dry-run'] === true}`, { document })
  const entries = Array.isArray(answer.entries) ? answer.entries.filter(isJsonObject) : []
  if (values.json) printJson(io, answer)
  else printTable(io, ['OUTCOME', 'NAME', 'DETAIL'], entries.map(row))
  return entries.some(entry => entry.verdict === 'invalid') ? 1 : 0
}

async function readDocument(file: string | undefined, io: CommandIo): Promise<string> {
  if (file === undefined || file === '-') return io.stdin()
  try {
    return await readFile(resolve(io.cwd, file), 'utf8')
  } catch (error) {
    throw new CommandError(`Cannot read "${file}": ${codeOf(error) || String(error)}`, { cause: error })
  }
}

/** Converts to a settings file in which every server has this owner. Throws validation_failed, CommandError. */
function withOwner(text: string, owner: string): JsonObject {
  const { entries } = importDocument(text)
  const broken = entries.find(entry => entry.problem)
  if (broken?.problem) throw new CommandError(`Cannot read the entry "${broken.name}": ${broken.problem.message}`)
  return { mcpServers: Object.fromEntries(entries.map(({ name, body }) => [`${owner}::${name}`, body])) }
}

function row(entry: JsonObject): (string | undefined)[] {
  const error = isJsonObject(entry.error) ? entry.error : {}
  const details = [entry.ref, entry.pointer, error.detail].filter(part => typeof part === 'string')
  const fields = Array.isArray(error.errors) ? error.errors.filter(isJsonObject) : []
  const more = fields
    .map(field => `${String(field.pointer)} ${String(field.detail)}`)
    .filter(text => !details.includes(text))
  return [String(entry.verdict), String(entry.name), [...details, ...(fields.length > 1 ? more : [])].join(' · ')]
}
