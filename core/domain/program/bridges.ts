import { isJsonObject, type JsonObject } from '../../contract/json.ts'
import { shellWords } from './shell-words.ts'

/** Programs that start another one: the words before the bridge itself. */
const RUNNERS =
  /^(?:(?:.*[\\/])?(?:npx|bunx|pnpx|pnpm|yarn|npm|bun|uvx|uv|pipx|cmd)(?:\.cmd|\.exe)?|\/c|\/C|-y|--yes|dlx|x|exec|run|tool|--|-q|--quiet)$/
const BRIDGE = /^(?:.*\/)?(mcp-remote|supergateway|mcp-proxy)(?:@[\w.-]+)?$/
const ADDRESS = /^https?:\/\/\S+$/i
/** Words behind the option `--transport` of a bridge that leave one transport. */
const ONLY: Readonly<Record<string, string>> = {
  'sse-only': 'sse',
  'http-only': 'streamable-http',
  sse: 'sse',
  streamablehttp: 'streamable-http',
}
/** Options of supergateway that name an address, with its transport. */
const NAMES_ADDRESS: Readonly<Record<string, string>> = { '--sse': 'sse', '--streamableHttp': 'streamable-http' }
/** Options of a header in one word (`Name: value`), and in two words. */
const HEADER = '--header'
const HEADER_PAIR: ReadonlySet<string> = new Set(['--headers', '-H'])

/**
 * The body of a program that only connects to an address (`npx mcp-remote URL`, `npx supergateway --sse URL`, `uvx mcp-proxy URL`),
 * as the address with its headers: the hub connects by itself. Undefined for any other program.
 */
export function addressOfBridge(body: JsonObject): JsonObject | undefined {
  const { command, args = [], env, transport: _, ...rest } = body
  if (typeof command !== 'string' || !Array.isArray(args) || body.url !== undefined) return undefined
  const first = / /.test(command) ? shellWords(command) : undefined
  const words = [...(first?.ok ? first.words : [command]), ...args.filter(word => typeof word === 'string')]
  const at = words.findIndex(word => !RUNNERS.test(word))
  const bridge = BRIDGE.exec(words[at] ?? '')?.[1]
  if (bridge === undefined) return undefined
  const read = readWords(words.slice(at + 1), isJsonObject(env) ? env : {})
  return read.url === undefined ? undefined : { ...rest, ...read }
}

function readWords(given: readonly string[], env: JsonObject): JsonObject {
  // `--transport=sse` is `--transport sse`.
  const words = given.flatMap(word => /^(--[A-Za-z-]+)=(.*)$/s.exec(word)?.slice(1) ?? [word])
  const pairs = words.map((word, index) => [words[index - 1] ?? '', word] as const)
  const [before = '', url] =
    pairs.find(
      ([option, word]) => ADDRESS.test(word) && (!option.startsWith('-') || Object.hasOwn(NAMES_ADDRESS, option)),
    ) ?? []
  const only = pairs.find(([option, word]) => option === '--transport' && Object.hasOwn(ONLY, word))?.[1]
  const transport = (Object.hasOwn(NAMES_ADDRESS, before) ? NAMES_ADDRESS[before] : undefined) ?? ONLY[only ?? '']
  const headers = Object.fromEntries(
    pairs.flatMap(([option, word], index) => {
      if (HEADER_PAIR.has(option)) return [[word, filled(words[index + 1] ?? '', env)]]
      const [, name, value = ''] = (option === HEADER && /^([^:\s]+)\s*:\s*(.*)$/s.exec(word)) || []
      return name === undefined ? [] : [[name, filled(value, env)]]
    }),
  )
  return {
    ...(url === undefined ? {} : { url }),
    ...(transport === undefined ? {} : { transport }),
    ...(Object.keys(headers).length === 0 ? {} : { headers }),
  }
}

/** Replaces variables with those of the entry's environment, as such programs do; others are left for the hub. */
function filled(text: string, env: JsonObject): string {
  return text.replace(/\$\{([A-Za-z_]\w*)\}/g, (whole, name: string) => {
    const value = Object.hasOwn(env, name) ? env[name] : undefined
    return typeof value === 'string' ? value : whole
  })
}
