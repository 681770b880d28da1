import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'

/** The command line is not one that the command takes; exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for could not be done; exit code 1. The message is for the person at the terminal. */
export class CommandError extends Error {
  override readonly name = 'CommandError'
}

/** Options that every command which answers with data has. */
export const OUTPUT = { json: { type: 'boolean' } } as const satisfies ParseArgsOptionsConfig

export interface ArgumentRules<O extends ParseArgsOptionsConfig> {
  readonly options: O
  /** Names of the arguments, in order: `name` is needed, `[name]` may be left out, `name...` takes all that follow. */
  readonly positionals: readonly string[]
}

type Values<O extends ParseArgsOptionsConfig> = ReturnType<typeof parse<O>>['values']

/** Throws UsageError for an unknown option, and for too few or too many arguments. */
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

/** The runtime names the option in quotes, with a code that says what is wrong with it. */
function wrongOption(error: unknown): string {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  const option = /'(-[^' <]*)/.exec(message)?.[1] ?? 'an option'
  if (code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION') return `there is no option "${option}"`
  return `"${option}" lacks its value, or takes none`
}

/** The first argument of a command that has several verbs. Throws UsageError naming them. */
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
