import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { Command, CommandLine, Terminal } from 'patchbay/features'

/** The text of `patchbay install --help`. */
const help = `patchbay install <file.mcpb> [--name NAME] [--input NAME=VALUE]… [--network proxy] [--start] [--dry-run] [--json]

Sends a bundle (MCPB, also .dxt) to the hub, says what it would run, and installs it as a server of yours.

  --input NAME=VALUE   what the bundle asks for; once more for each value of an input that takes a list
  --name NAME          of the server; default the bundle's own
  --network proxy      lets it reach the network, as far as you were granted that
  --start              switches it on
  --dry-run            only says what it would run, and what it asks for
  --json               the answer of the hub
`

/** `patchbay install`: sends a bundle, shows what it would run, and installs it. */
const install: Command = {
  help,
  options: {
    name: { type: 'string' },
    input: { type: 'string', multiple: true },
    network: { type: 'string' },
    start: { type: 'boolean' },
    'dry-run': { type: 'boolean' },
  },
  positionals: ['file'],
  run,
}

export default install

async function run({ values, positionals }: CommandLine, terminal: Terminal): Promise<number> {
  const content = await contentOf(resolve(terminal.cwd, positionals[0] ?? ''), terminal)
  const given = inputsOf(Array.isArray(values.input) ? values.input.map(String) : [], terminal)
  const hub = await terminal.connect()
  const sent = await hub.send('POST', '/api/bundles', content)
  const body: JsonObject = {
    ...(typeof values.name === 'string' ? { name: values.name } : {}),
    ...(typeof values.network === 'string' ? { network: values.network } : {}),
    ...(values.start ? { start: true } : {}),
    inputs: lists(sent, given),
  }
  const path = `/api/bundles/${String(sent.bundleId)}/install`
  const plan = await hub.send('POST', `${path}?dryRun=true`, body)
  if (values['dry-run']) {
    if (values.json) terminal.printJson({ bundle: sent, plan })
    else terminal.print(`${planText(sent, plan, terminal)}${askText(sent)}`)
    return 0
  }
  if (!values.json) terminal.print(planText(sent, plan, terminal))
  const server = await hub.send('POST', path, { ...body, planHash: plan.planHash ?? '' })
  if (values.json) terminal.printJson(server)
  else terminal.print(`Installed as ${String(server.ref)}, switched ${server.enabled === true ? 'on' : 'off'}\n`)
  return 0
}

async function contentOf(path: string, terminal: Terminal): Promise<Uint8Array> {
  try {
    return await readFile(path)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw terminal.failure(`Cannot read ${path}: ${code}`, { cause: error })
  }
}

function inputsOf(texts: readonly string[], terminal: Terminal): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const text of texts) {
    const at = text.indexOf('=')
    if (at < 1) throw terminal.misuse('--input takes NAME=VALUE')
    const name = text.slice(0, at)
    found.set(name, [...(found.get(name) ?? []), text.slice(at + 1)])
  }
  return found
}

/** Returns one value as a text, several as a list; the hub reports misplaced lists. */
function lists(sent: JsonObject, given: ReadonlyMap<string, readonly string[]>): JsonObject {
  const many = new Set(inputs(sent).flatMap(input => (input.many === true ? [input.name] : [])))
  return Object.fromEntries(
    [...given].map(([name, values]): [string, JsonValue] => {
      const isList = many.has(name) || values.length > 1
      return [name, isList ? [...values] : (values[0] ?? '')]
    }),
  )
}

function inputs({ inputs: listed }: JsonObject): JsonObject[] {
  return Array.isArray(listed) ? listed.filter(isJsonObject) : []
}

function planText(sent: JsonObject, plan: JsonObject, terminal: Terminal): string {
  const words = Array.isArray(plan.argv) ? plan.argv.map(String) : []
  const warnings = Array.isArray(plan.warnings) ? plan.warnings.map(String) : []
  const title = `${String(sent.title)} ${String(sent.version)}`
  return [`${title} runs: ${terminal.quoted(words)}`, ...warnings, ''].join('\n')
}

function askText(sent: JsonObject): string {
  const lines = inputs(sent).map(({ name, label, required, secret }) => {
    const marks = [...(required === true ? ['required'] : []), ...(secret === true ? ['secret'] : [])]
    return `  ${String(name)}  ${String(label)}${marks.length > 0 ? ` (${marks.join(', ')})` : ''}`
  })
  return lines.length === 0 ? '' : `It asks for:\n${lines.join('\n')}\n`
}
