import { readFileSync } from 'node:fs'
import { faultName } from '../transport-kit/wire-error.ts'
import { type KnownSettings, OWN_SETTINGS } from './known-settings.ts'
import type { HubConfig } from './schema.ts'
import { StartError } from './start-error.ts'
import type { Variable } from './variables.ts'

/** The environment of a process, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Values of one layer, beside which it has those of plugins' settings; unset ones are absent. */
export type ConfigLayer = Partial<{ -readonly [K in keyof HubConfig]: HubConfig[K] }>

/** HMAC-SHA-256 needs a key as long as its output (RFC 7518, section 3.2). */
const SECRET_BYTES = 32

/**
 * Reads all variables of the hub, secrets also from the files that `NAME_FILE` names. An empty one counts as unset,
 * since container files often pass those on. Throws StartError that names each invalid variable with its legal values: `env_invalid`, or `secret_too_short` alone.
 */
export function readEnvironment(env: Environment, { variables }: KnownSettings = OWN_SETTINGS): ConfigLayer {
  const layer: ConfigLayer = {}
  const problems: string[] = []
  for (const variable of variables) {
    const { name, key, parse, secret } = variable
    const { text, problem } = given(env, variable)
    if (problem !== undefined) problems.push(problem)
    if (text === undefined) continue
    const parsed = parse(text)
    if (parsed.ok) Object.assign(layer, { [key]: parsed.value })
    else problems.push(`${name} ${secret ? 'is not valid' : `is ${quoted(text)}`}; wanted: ${parsed.legal}`)
  }
  problems.push(...incomplete(layer, env))
  if (problems.length > 0) throw new StartError('env_invalid', problems.join('; '))
  const secretBytes = Buffer.byteLength(layer.jwtSecret ?? '')
  if (layer.jwtSecret !== undefined && secretBytes < SECRET_BYTES) {
    throw new StartError(
      'secret_too_short',
      `JWT_SECRET has ${secretBytes} bytes; at least ${SECRET_BYTES} are wanted (openssl rand -base64 48), or leave it unset and the hub makes its own`,
    )
  }
  return layer
}

/** The text of a variable, under its own name, from its file, or under its other name. */
function given(env: Environment, { name, alias, secret }: Variable): ReturnType<typeof secretText> {
  const own: ReturnType<typeof secretText> = secret ? secretText(env, name) : trimmed(textOf(env, name))
  if (own.text !== undefined || own.problem !== undefined || alias === undefined) return own
  return trimmed(textOf(env, alias))
}

function trimmed(text: string | undefined): { readonly text?: string } {
  return text === undefined ? {} : { text }
}

function textOf(env: Environment, name: string): string | undefined {
  const text = env[name]?.trim()
  return text === '' ? undefined : text
}

/** A secret from its variable, or from the file that `NAME_FILE` names, as container secrets are mounted. */
function secretText(env: Environment, name: string): { readonly text?: string; readonly problem?: string } {
  const text = textOf(env, name)
  const path = textOf(env, `${name}_FILE`)
  if (path === undefined) return text === undefined ? {} : { text }
  if (text !== undefined) return { problem: `${name} and ${name}_FILE are both set; wanted: one of them` }
  try {
    const held = readFileSync(path, 'utf8').trim()
    return held === '' ? { problem: `${name}_FILE names ${quoted(path)}, which is empty` } : { text: held }
  } catch (error) {
    const why = faultName(error)
    return { problem: `${name}_FILE names ${quoted(path)}, which cannot be read (${why})` }
  }
}

/** Problems of variables that depend on each other. */
function incomplete(layer: ConfigLayer, env: Environment): string[] {
  const set = (name: string) => textOf(env, name) !== undefined || textOf(env, `${name}_FILE`) !== undefined
  const problems: string[] = []
  if (layer.syslogEnabled && !set('SYSLOG_HOST'))
    problems.push('SYSLOG_ENABLED is true and SYSLOG_HOST is not set; wanted: a host name or address')
  if (layer.assistantEnabled && !set('ASSISTANT_API_KEY'))
    problems.push(
      'ASSISTANT_ENABLED is true and ASSISTANT_API_KEY is not set; wanted: the key of the assistant platform',
    )
  if (set('ADMIN_USERNAME') !== set('ADMIN_PASSWORD')) {
    const [there, missing] = set('ADMIN_USERNAME')
      ? ['ADMIN_USERNAME', 'ADMIN_PASSWORD']
      : ['ADMIN_PASSWORD', 'ADMIN_USERNAME']
    problems.push(`${there} is set and ${missing} is not; wanted: both or neither`)
  }
  return problems
}

/** The invalid value for a message, without credentials of a URL. */
function quoted(text: string): string {
  const shown = text.replace(/\/\/[^/]*@/g, '//')
  return JSON.stringify(shown.length > 64 ? `${shown.slice(0, 64)}…` : shown)
}

/** The text of a variable that a plugin names; undefined when it is unset, or one of the hub's own. */
export function pluginVariable(env: Environment, name: string, { variables }: KnownSettings): string | undefined {
  return variables.some(variable => variable.name === name || variable.alias === name) ? undefined : textOf(env, name)
}

/** Variables by which the command line finds a hub. None of these is a setting of the hub itself. */
export interface ClientEnvironment {
  /** PATCHBAY_URL: the hub's address, base path included. */
  readonly url?: string
  /** PATCHBAY_TOKEN, or the content of the file that PATCHBAY_TOKEN_FILE names: an access key or session token. */
  readonly token?: string
}

/** Empty variables count as absent. Throws StartError `env_invalid` for a token file that cannot be read. */
export function readClientEnvironment(env: Environment): ClientEnvironment {
  const url = textOf(env, 'PATCHBAY_URL')
  const { text: token, problem } = secretText(env, 'PATCHBAY_TOKEN')
  if (problem !== undefined) throw new StartError('env_invalid', problem)
  return { ...(url ? { url } : {}), ...(token ? { token } : {}) }
}
