import type { HubConfig } from './schema.ts'
import { StartError } from './start-error.ts'
import { VARIABLES } from './variables.ts'

/** The environment of a process, like `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** Values of one layer; unset ones are absent. */
export type ConfigLayer = Partial<{ -readonly [K in keyof HubConfig]: HubConfig[K] }>

/** HMAC-SHA-256 needs a key as long as its output (RFC 7518, section 3.2). */
const SECRET_BYTES = 32

/**
 * Reads all variables of the hub. An empty one counts as unset, since container files often pass those on. Throws
 * StartError that names each invalid variable with its legal values: `env_invalid`, or `secret_too_short` alone.
 */
export function readEnvironment(env: Environment): ConfigLayer {
  const layer: ConfigLayer = {}
  const problems: string[] = []
  for (const { name, key, parse, secret } of VARIABLES) {
    const text = env[name]?.trim()
    if (text === undefined || text === '') continue
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

/** Problems of variables that depend on each other. */
function incomplete(layer: ConfigLayer, env: Environment): string[] {
  const set = (name: string) => (env[name] ?? '').trim() !== ''
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

/** How the command line finds a hub. None of these is a setting of the hub itself. */
export interface ClientEnvironment {
  /** PATCHBAY_URL: the hub's address, base path included. */
  readonly url?: string
  /** PATCHBAY_TOKEN: an access key or session token. */
  readonly token?: string
}

/** Empty variables count as absent. */
export function readClientEnvironment(env: Environment): ClientEnvironment {
  const url = env.PATCHBAY_URL?.trim()
  const token = env.PATCHBAY_TOKEN?.trim()
  return { ...(url ? { url } : {}), ...(token ? { token } : {}) }
}
