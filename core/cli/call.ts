import { isJsonObject, type JsonObject, type JsonValue } from '../contract/json.ts'
import { isPlainObject, parseAsWritten } from '../domain/json/exact-json.ts'
import { jsonFault, shownFault } from '../domain/json/json-fault.ts'
import { CommandError, OUTPUT, readArguments, UsageError } from './arguments.ts'
import { HubClient } from './client.ts'
import type { CommandIo } from './io.ts'
import { plain, printJson } from './output.ts'

/** The text of `patchbay call --help`. */
export const help = `patchbay call <server> <tool> [arguments] [--json]

Calls one tool of one server. The arguments are a JSON object; "-" reads it from standard input. Prints the text of the
result; other content as JSON, --json all of it.

  patchbay call time get_current_time '{"timezone": "Europe/Berlin"}'

Exit code 1 when the tool says that it failed.
`

/** Returns the exit code; 1 when the tool reports an error. */
export async function run(argv: readonly string[], io: CommandIo): Promise<number> {
  const { values, positionals } = readArguments(argv, {
    options: OUTPUT,
    positionals: ['server', 'tool', '[arguments]'],
  })
  const [server = '', tool = '', given] = positionals
  const args = readObject(given === '-' ? await io.stdin() : (given ?? '{}'))
  const path = `/api/servers/${encodeURIComponent(server)}/tools/${encodeURIComponent(tool)}/call`
  const answer = await (await HubClient.connect(io)).post(path, { arguments: args })
  if (values.json) printJson(io, answer)
  if (isJsonObject(answer.error)) throw new CommandError(plain(`${server}: ${String(answer.error.message)}`))
  const result = isJsonObject(answer.result) ? answer.result : {}
  if (!values.json) printContent(io, result)
  return result.isError === true ? 1 : 0
}

function readObject(text: string): JsonObject {
  let value: unknown
  try {
    value = parseAsWritten(text)
  } catch {
    throw new UsageError(`the arguments are no JSON: ${shownFault(jsonFault(text))}`)
  }
  if (!isPlainObject(value)) throw new UsageError('the arguments are not a JSON object, such as \'{"text": "hello"}\'')
  return value
}

function printContent(io: CommandIo, result: JsonObject): void {
  const print = result.isError === true ? io.stderr : io.stdout
  for (const item of Array.isArray(result.content) ? result.content : []) print(`${contentText(item)}\n`)
}

function contentText(item: JsonValue): string {
  if (isJsonObject(item) && item.type === 'text' && typeof item.text === 'string') return plain(item.text)
  return JSON.stringify(item)
}
