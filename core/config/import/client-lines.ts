import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { shellWords } from '../../domain/program/shell-words.ts'
import { JsoncError } from '../jsonc.ts'
import { readLooseJson } from '../loose-json.ts'

/** The server of a line that adds one to a client. */
export interface AddedServer {
  readonly name?: string
  readonly value: JsonValue
  /** Sentences about options that are left out. */
  readonly warnings: readonly string[]
}

const CLIENTS: ReadonlySet<string> = new Set([
  ...['claude', 'codex', 'gemini', 'qwen', 'amp', 'copilot', 'droid', 'opencode', 'auggie', 'cline', 'cursor-agent'],
  ...['kiro-cli', 'q', 'goose', 'openclaw', 'hermes', 'crush', 'vibe', 'kimi', 'iflow', 'grok', 'codebuddy'],
])
const EDITORS = /^(?:code|code-insiders|codium|vscodium|cursor|windsurf|positron|trae|kiro)(?:\.exe|\.cmd)?$/i
/** Programs that write into a client's file. */
const INSTALLERS = /^(?:@smithery\/cli|install-mcp|@composio\/mcp|mcp-get|@michaellatman\/mcp-get|add-mcp)(?:@.*)?$/

/** Options with a value, by every spelling. */
const VALUED: Readonly<Record<string, string>> = {
  ...{ '-s': 'scope', '--scope': 'scope', '-t': 'transport', '--transport': 'transport', '--type': 'transport' },
  ...{ '-e': 'env', '--env': 'env', '-H': 'header', '--header': 'header', '--url': 'url', '--name': 'name' },
  ...{
    '--command': 'command',
    '--args': 'args',
    '--cwd': 'cwd',
    '--timeout': 'timeout',
    '--description': 'description',
  },
  ...{ '--bearer-token-env-var': 'bearer_token_env_var', '--include-tools': 'includeTools' },
  ...{ '--exclude-tools': 'excludeTools', '--client-id': 'client-id', '--callback-port': 'callback-port' },
  ...{ '--agent': 'agent', '--workspace': 'workspace', '-p': 'profile', '--profile': 'profile' },
}
/** Options that concern the client alone. */
const CLIENTS_OWN: ReadonlySet<string> = new Set(['scope', 'agent', 'workspace', 'profile'])
const FLAGS: ReadonlySet<string> = new Set(['--trust', '--force', '--global', '-g', '--yes', '--user', '--project'])

/**
 * The server of `claude mcp add …` and the like, `claude mcp add-json NAME JSON`, and `code --add-mcp JSON`. Undefined for any
 * other command line, and a sentence for a line that cannot be read or that only installs something.
 */
export function readClientLine(line: string): AddedServer | string | undefined {
  const begins = /^(?:\$\s+)?(?:npx\s+(?:-y\s+|--yes\s+)?|bunx\s+|pnpm\s+dlx\s+)?(\S+)(?:\s+(\S+))?(?:\s+(\S+))?/.exec(
    line,
  )
  if (!begins) return undefined
  const [, first = '', second = '', third = ''] = begins
  const program =
    first
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/\.(?:exe|cmd)$/i, '') ?? ''
  if (INSTALLERS.test(first) && !first.startsWith('add-mcp')) return INSTALLS_ELSEWHERE
  if (EDITORS.test(program) && /(?:^|\s)--add-mcp[\s=]/.test(line)) return ofEditor(line)
  if (!CLIENTS.has(program) || second !== 'mcp') return undefined
  if (/^add-json$/.test(third)) return ofJson(line)
  if (/^(?:add|install)$/.test(third)) return new AddLine(line).read()
  return `"${program} mcp ${third.slice(0, 32)}" adds no server that can be read here; paste the configuration of the client itself`
}

const INSTALLS_ELSEWHERE =
  'This program writes a server into the file of a client and is none itself; run it, and import the file of that client'

/** Private characters around the name of a variable, which the splitting of a line does not look at. */
const [OPEN, CLOSE] = ['\ue000', '\ue001']

/** The words of a line; a variable in it becomes a reference that the import asks for. */
function wordsOf(line: string): readonly string[] | string {
  const read = shellWords(
    line.replaceAll(/\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))/g, (_, one, other) => `${OPEN}${one ?? other}${CLOSE}`),
  )
  if (!read.ok) return `The command line: ${read.problem}`
  return read.words.map(word => word.replaceAll(OPEN, () => '${').replaceAll(CLOSE, '}'))
}

function ofEditor(line: string): AddedServer | string {
  const words = wordsOf(line)
  if (typeof words === 'string') return words
  const at = words.findIndex(word => /^--add-mcp(?:=|$)/.test(word))
  const json = words[at]?.includes('=') ? words[at]?.slice('--add-mcp='.length) : words[at + 1]
  return ofText(undefined, json, '--add-mcp')
}

function ofJson(line: string): AddedServer | string {
  const words = wordsOf(line)
  if (typeof words === 'string') return words
  const rest = words.slice(words.indexOf('add-json') + 1)
  const positional: string[] = []
  for (let at = 0; at < rest.length; at += 1) {
    const word = rest[at] ?? ''
    if (Object.hasOwn(VALUED, word)) at += 1
    else if (!word.startsWith('-')) positional.push(word)
  }
  return ofText(positional[0], positional[1], 'add-json')
}

function ofText(name: string | undefined, json: string | undefined, option: string): AddedServer | string {
  if (json === undefined) return `The command line has no JSON behind ${option}`
  try {
    const value = readLooseJson(json)
    const own = isJsonObject(value) && typeof value.name === 'string' ? value.name : undefined
    const chosen = name ?? own
    return { value, warnings: [], ...(chosen === undefined ? {} : { name: chosen }) }
  } catch (error) {
    if (!(error instanceof JsoncError)) throw error
    return `What follows ${option} is no JSON: line ${error.line}, column ${error.column}: ${error.message}`
  }
}

/** `claude mcp add [options] NAME COMMAND-OR-URL [arguments]`, as the clients have it with small differences. */
class AddLine {
  readonly #line: string
  readonly #values = new Map<string, string[]>()
  readonly #positional: string[] = []
  readonly #unknown: string[] = []
  #at = 0

  constructor(line: string) {
    this.#line = line
  }

  read(): AddedServer | string {
    const words = wordsOf(this.#line)
    if (typeof words === 'string') return words
    const start = words.findIndex(word => word === 'add' || word === 'install') + 1
    const end = words.indexOf('--', start)
    const before = end < 0 ? words.slice(start) : words.slice(start, end)
    const behind = end < 0 ? [] : words.slice(end + 1)
    for (this.#at = 0; this.#at < before.length; this.#at += 1) this.#take(before)
    return this.#server(behind)
  }

  #take(words: readonly string[]): void {
    const word = words[this.#at] ?? ''
    const [, long = '', joined] = /^(--[a-z-]+)=(.*)$/s.exec(word) ?? []
    const option = VALUED[long || word]
    if (this.#isArgument(word, words[this.#at + 1])) this.#positional.push(word)
    else if (option !== undefined && joined !== undefined) this.#add(option, joined)
    else if (option !== undefined) this.#takeValues(option, words)
    else if (word.startsWith('-') && word !== '-') {
      if (!FLAGS.has(word)) this.#unknown.push(long || word)
    } else this.#positional.push(word)
  }

  /** Behind a program, all words are its own, but for a variable or a scope that the client would take. */
  #isArgument(word: string, next = ''): boolean {
    const [, target] = this.#positional
    if (target === undefined || isAddress(target)) return false
    if (/^(?:-s|--scope)$/.test(word) && /^(?:user|local|project)$/.test(next)) return false
    return !(word === '--env' && /^[A-Za-z_]\w*=/.test(next) && !/^(?:docker|podman)$/.test(target))
  }

  /** `--env` and `--header` of some clients take several values. */
  #takeValues(option: string, words: readonly string[]): void {
    const form = option === 'env' ? /^[A-Za-z_]\w*=/ : option === 'header' ? /^[\w-]+:\s/ : undefined
    this.#at += 1
    this.#add(option, words[this.#at] ?? '')
    while (form?.test(words[this.#at + 1] ?? '')) {
      this.#at += 1
      this.#add(option, words[this.#at] ?? '')
    }
  }

  #add(option: string, value: string): void {
    this.#values.set(option, [...(this.#values.get(option) ?? []), value])
  }

  #server(behind: readonly string[]): AddedServer | string {
    const [name, ...target] = this.#nameAndTarget(behind)
    const [first, ...args] = [...target, ...behind]
    const address = this.#first('url') ?? (first !== undefined && isAddress(first) ? first : undefined)
    const command = this.#first('command') ?? first
    if (address === undefined && command === undefined) {
      return 'The command line names no program and no address for the server; it has the form add NAME -- COMMAND, or add NAME URL'
    }
    const at = address === undefined ? this.#program(command ?? '', args) : { url: address }
    const value = { ...at, ...this.#options() }
    const warnings = this.#unknown.length === 0 ? [] : [`options left out: ${[...new Set(this.#unknown)].join(', ')}`]
    return { value, warnings, ...(name ? { name } : {}) }
  }

  /** `claude mcp add https://…` has no name, and `--name` is one. */
  #nameAndTarget(behind: readonly string[]): readonly string[] {
    const named = this.#first('name')
    if (named !== undefined) return [named, ...this.#positional]
    const [only = '', ...others] = this.#positional
    return others.length === 0 && behind.length === 0 && isAddress(only) ? ['', only] : this.#positional
  }

  #first(option: string): string | undefined {
    return this.#values.get(option)?.[0]
  }

  #program(command: string, args: readonly string[]): JsonObject {
    const given = (this.#values.get('args') ?? []).flatMap(text => (text.includes(' ') ? [text] : text.split(',')))
    const all = this.#values.has('command') && args.length === 0 ? given.flatMap(split) : [...args]
    return all.length === 0 ? { command } : { command, args: all }
  }

  #options(): JsonObject {
    const transport = this.#first('transport')
    const lists = ['includeTools', 'excludeTools'].flatMap(option =>
      (this.#values.get(option) ?? []).map(text => [option, text.split(',')] as const),
    )
    const single = ['cwd', 'timeout', 'description', 'bearer_token_env_var'].flatMap(option => {
      const text = this.#first(option)
      return text === undefined ? [] : [[option, text] as const]
    })
    for (const option of this.#values.keys())
      if (['client-id', 'callback-port'].includes(option) && !CLIENTS_OWN.has(option)) this.#unknown.push(`--${option}`)
    return {
      ...(transport === undefined ? {} : { type: transport }),
      ...(this.#values.has('env') ? { env: this.#values.get('env') ?? [] } : {}),
      ...(this.#values.has('header') ? { headers: this.#values.get('header') ?? [] } : {}),
      ...Object.fromEntries([...lists, ...single]),
    }
  }
}

function split(text: string): readonly string[] {
  const read = shellWords(text)
  return read.ok ? read.words : [text]
}

function isAddress(word: string): boolean {
  return /^https?:\/\//i.test(word)
}
