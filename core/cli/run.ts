import manifest from '../../package.json' with { type: 'json' }
import { StartError } from '../config/start-error.ts'
import { HubError } from '../contract/errors.ts'
import { quoteName } from '../domain/names.ts'
import { nearest } from '../domain/nearest.ts'
import { CommandError, UsageError } from './arguments.ts'
import { COMMANDS, type CommandEntry } from './commands.ts'
import type { CommandIo } from './io.ts'
import { plain } from './output.ts'

/**
 * Runs the command that argv (without program and script) names; default `serve`. Resolves with the exit code: 0, 1 for
 * a failure, 2 for a wrong command line or environment, 78 for a settings file that cannot be used.
 */
export async function runCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [first, ...rest] = argv
  if (first === '--version' || first === '-v') return print(io, `${manifest.version}\n`)
  if (first === '--help' || first === '-h') return print(io, overview())
  if (first === 'help') return rest.length === 0 ? print(io, overview()) : help(rest[0] ?? '', io)
  const named = first !== undefined && !first.startsWith('-')
  const name = named ? first : 'serve'
  const entry = COMMANDS.get(name)
  if (!entry) return unknown(name, io)
  const args = named ? rest : argv
  return wantsHelp(args) ? help(name, io) : runEntry(name, entry, args, io)
}

function print(io: CommandIo, text: string): number {
  io.stdout(text)
  return 0
}

/** Arguments after `--` belong to another program's command line. */
function wantsHelp(args: readonly string[]): boolean {
  const end = args.indexOf('--')
  return args.slice(0, end < 0 ? undefined : end).some(word => word === '--help' || word === '-h')
}

async function help(name: string, io: CommandIo): Promise<number> {
  const entry = COMMANDS.get(name)
  if (!entry) return unknown(name, io)
  const module = await entry.load()
  return print(
    io,
    module.help ?? `patchbay ${name}\n\n${entry.summary}. Settings come from the environment and mcp_settings.json.\n`,
  )
}

function unknown(name: string, io: CommandIo): number {
  const meant = nearest(name, COMMANDS.keys())
  const guess = meant === undefined ? 'patchbay --help lists the commands' : `is "${meant}" meant?`
  io.stderr(`error: usage: there is no command ${quoteName(name)}; ${guess}\n`)
  return 2
}

async function runEntry(name: string, entry: CommandEntry, args: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await (await entry.load()).run(args, io)
  } catch (error) {
    if (error instanceof UsageError) {
      io.stderr(plain(`error: usage: ${error.message}\nSee: patchbay ${name} --help\n`))
      return 2
    }
    if (error instanceof StartError) {
      io.stderr(plain(`error: ${error.code}: ${error.message}\n`))
      return error.exitCode
    }
    if (error instanceof CommandError) {
      io.stderr(plain(`error: ${error.message}\n`))
      return 1
    }
    if (!(error instanceof HubError)) throw error
    io.stderr(plain(`error: ${error.code}: ${error.message}\n${error.hint === undefined ? '' : `${error.hint}\n`}`))
    return 1
  }
}

function overview(): string {
  const width = Math.max(...[...COMMANDS.keys()].map(name => name.length))
  const lines = [...COMMANDS].map(([name, { summary }]) => `  ${name.padEnd(width)}  ${summary}`)
  return `patchbay ${manifest.version}: a hub for MCP servers

usage: patchbay [command] [arguments]

${lines.join('\n')}

  patchbay <command> --help   what a command takes
  patchbay --version          the version

Commands that talk to a running hub find it by PATCHBAY_URL, or by the data folder (DATA_DIR) on the hub's own machine.
Elsewhere they need PATCHBAY_TOKEN: an access key with scope "api".

exit codes: 0 done · 1 not done · 2 wrong command line or environment · 78 settings file cannot be used
`
}
