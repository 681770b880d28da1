import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** The command does not accept this command line; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** The command failed; exit code 1. The message is for the person at the terminal. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Options of every command that prints data. */
export const OUTPUT = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

/** The options and arguments of one command. */
export interface ArgumentRules<O extends ParseArgsOptionsConfig> {
  readonly options: O
  /** Names of the arguments, in order: `name` is required, `[name]` optional, `name...` takes all that follow. */
  readonly positionals: readonly string[]
}

type Values<O extends ParseArgsOptionsConfig> = ReturnType<typeof parse<O>>['values']

/** Throws UsageError for an unknown option, and for missing or extra arguments. */
export function readArguments<O extends ParseArgsOptionsConfig>(
  argv: readonly string[],
  { options, positionals: names }: ArgumentRules<O>,
): { readonly values: Values<O>; readonly positionals: readonly string[] } {
  const { values, positionals } = parse(argv, options)
  const needed = names.filter(name => !name.startsWith('['))
  const missing = needed[positionals.length]
  if (missing !== undefined) throw new UsageError(`"${missing.replace('...', '')}" is missing`)
  const takesAll = names.at(-1)?.includes('...') ?? false
  const extra = positionals[names.length]
  if (extra !== undefined && !takesAll) throw new UsageError(`"${extra}" is one argument too many`)
  return { values, positionals }
}

function parse<O extends ParseArgsOptionsConfig>(argv: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...argv], options, strict: true, allowPositionals: true })
  } catch (error) {
    throw new UsageError(wrongOption(error))
  }
}

/** The runtime's error has a code for the problem and the option in quotes. */
function wrongOption(error: unknown): string {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const option = /'(-[^' <]*)/.exec(message)?.[1] ?? 'an option'
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `there is no option "${option}"`
  return `"${option}" lacks its value, or takes none`
}

/** The verb of a command that has several. Throws UsageError that lists them. */
export function readVerb<V extends string>(
  argv: readonly string[],
  verbs: readonly V[],
): { readonly verb: V; readonly rest: readonly string[] } {
  const [given, ...rest] = argv
  const verb = verbs.find(known => known === given)
  if (verb !== undefined) return { verb, rest }
  const what = given === undefined ? 'what to do is missing' : `"${given}" is not known`
  throw new UsageError(`${what}; one of: ${verbs.join(', ')}`)
}
