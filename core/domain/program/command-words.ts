import { shellWords } from './shell-words.ts'

/** Programs that start servers, and interpreters: their arguments are known to be words of their own. */
const KNOWN: ReadonlySet<string> = new Set([
  ...['npx', 'npm', 'pnpm', 'pnpx', 'yarn', 'node', 'bun', 'bunx', 'deno', 'tsx', 'ts-node'],
  ...['uvx', 'uv', 'pipx', 'python', 'python2', 'python3', 'py', 'pip', 'poetry', 'conda'],
  ...['docker', 'podman', 'java', 'dotnet', 'go', 'cargo', 'ruby', 'php', 'perl', 'bash', 'sh', 'zsh', 'env'],
])
/** The ones that take a whole program as one argument. */
const SHELLS: ReadonlySet<string> = new Set(['bash', 'sh', 'zsh', 'cmd', 'powershell'])
const ENDING = /\.(?:exe|cmd|bat|com|ps1)$/i
/** A path with a drive up to the ending of a program, and the words behind it. */
const DRIVE_PATH = /^([A-Za-z]:[\\/].*?\.(?:exe|cmd|bat|com|ps1))(?:\s+(.*))?$/is

/** A command and its arguments, as they are rewritten step by step. */
export interface CommandWords {
  readonly words: readonly string[]
  /** Variables that stood before the command (`KEY=value npx …`). */
  readonly variables: Readonly<Record<string, string>>
}

/** The part of a path behind its last separator, of any system. */
export function baseName(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1)
}

/** True for a program by its name alone, such as `npx` or `/usr/bin/node`. */
export function isKnownProgram(path: string): boolean {
  return KNOWN.has(baseName(path).toLowerCase())
}

/** The command without quotes around it; undefined where there are none. */
export function unquoted({ words: [command = '', ...args], variables }: CommandWords): CommandWords | undefined {
  const inner = /^(["'`])(.+)\1$/s.exec(command)?.[2]
  return inner === undefined ? undefined : { words: [inner.trim(), ...args], variables }
}

/** The program's name out of a path of Windows; `known`: it is one that other systems have too. Undefined for another path. */
export function offWindowsPath({
  words: [command = '', ...args],
  variables,
}: CommandWords): (CommandWords & { readonly known: boolean }) | undefined {
  if (!/^[A-Za-z]:[\\/]/.test(command) && !command.includes('\\')) return undefined
  const [, path = command.split(/\s/)[0] ?? '', rest = ''] = DRIVE_PATH.exec(command) ?? []
  const name = baseName(path).replace(ENDING, '')
  return { words: [name, ...splitWords(rest), ...args], variables, known: isKnownProgram(name) }
}

/** Words of a text, by the rules of a shell where these apply. */
function splitWords(text: string): readonly string[] {
  if (text.trim() === '') return []
  const read = shellWords(text)
  return read.ok ? read.words : text.trim().split(/\s+/)
}

/**
 * The command with the arguments that stand in it as words of their own. `sure`: no program has such a name, so that the command
 * cannot work. Undefined for a command that may be one name, such as a path with a blank.
 */
export function splitCommand({
  words: [command = '', ...args],
  variables,
}: CommandWords): (CommandWords & { readonly sure: boolean }) | undefined {
  if (!/\s/.test(command)) return undefined
  const read = shellWords(command)
  const words = read.ok ? read.words : command.trim().split(/\s+/)
  const [program = '', ...more] = words
  const set = read.ok ? read.variables : {}
  const sure = isKnownProgram(program) || !program.includes('/') || Object.keys(set).length > 0
  if (!sure && !more.some(word => /^(?:-|\/|https?:)/.test(word))) return undefined
  return { words: [...words, ...args], variables: { ...variables, ...set }, sure }
}

/** The program that a shell of Windows is to start; without words where it is to start none. Undefined for another program. */
export function outOfWindowsShell({
  words: [command = '', ...args],
  variables,
}: CommandWords): CommandWords | undefined {
  const shell = baseName(command)
    .toLowerCase()
    .replace(/\.(?:exe|com)$/, '')
  const rest = SWITCHES[shell]?.(args)
  if (rest === undefined) return undefined
  const [only = ''] = rest
  return { words: rest.length === 1 ? splitWords(only) : rest, variables }
}

const SWITCHES: Readonly<Record<string, (args: readonly string[]) => readonly string[]>> = {
  cmd: args => behind(args, /^\/[a-z](?::.*)?$/i),
  command: args => behind(args, /^\/[a-z]$/i),
  powershell: args =>
    behind(
      args,
      /^-(?:c|command|nop|noprofile|noninteractive|nologo|sta|mta|f|file)$/i,
      /^-(?:ep|executionpolicy|windowstyle|w)$/i,
    ),
  wsl: args => behind(args, /^(?:-e|--exec|--)$/, /^(?:-d|--distribution|-u|--user|--cd)$/),
}

/** The words behind switches at the beginning; `withValue` are those that a value follows. */
function behind(args: readonly string[], alone: RegExp, withValue?: RegExp): readonly string[] {
  let at = 0
  while (at < args.length) {
    const word = args[at] ?? ''
    if (alone.test(word)) at += 1
    else if (withValue?.test(word)) at += 2
    else break
  }
  return args.slice(at)
}

/** A command of Windows (`npx.cmd`) without its ending; `sure`: only Windows starts it. Undefined for another command. */
export function withoutEnding({
  words: [command = '', ...args],
  variables,
}: CommandWords): (CommandWords & { readonly sure: boolean; readonly ending: string }) | undefined {
  const ending = ENDING.exec(command)?.[0]
  // `.com` is the ending of names of hosts too.
  if (ending === undefined || ending.toLowerCase() === '.com') return undefined
  // Systems with an emulator start such files.
  const sure = /\.(?:cmd|bat|ps1)$/i.test(ending)
  if (!sure && command.includes('/')) return undefined
  return { words: [command.slice(0, -ending.length), ...args], variables, sure, ending }
}

/** True for the path of one file whose folders have blanks in their names. */
function isOneFile(text: string): boolean {
  if (!/^(?:[A-Za-z]:[\\/]|\\\\|\.{0,2}\/)[^"']*\.\w{1,5}$/.test(text)) return false
  return !/\s(?:-|[A-Za-z]:[\\/]|\\\\|\/|\.|https?:)/.test(text)
}

/** The only argument of a known program as words, where it holds several. Undefined for other arguments. */
export function splitArguments({ words: [command = '', ...args], variables }: CommandWords): CommandWords | undefined {
  const [only = ''] = args
  if (args.length !== 1 || !/\S\s+\S/.test(only) || !isKnownProgram(command)) return undefined
  if (SHELLS.has(baseName(command).toLowerCase()) || isOneFile(only)) return undefined
  const words = splitWords(only)
  return words.length < 2 ? undefined : { words: [command, ...words], variables }
}
