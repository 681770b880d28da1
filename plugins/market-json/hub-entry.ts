import { isJsonObject, type JsonObject, type JsonValue } from 'patchbay/contract'
import type { MarketInput, MarketTemplate, MarketVariant } from 'patchbay/plugins/market'
import { parseUrl } from 'patchbay/transport-kit'

const REFERENCE = /\$\{([^{}]+)\}/g
const SECRET_NAME = /key|token|secret|passw|pwd|authorization|credential|cookie/i
const TITLE_CHARACTERS = 100
const DESCRIPTION_CHARACTERS = 500
const INPUT_CHARACTERS = 1_000
const MOST_TAGS = 50
/** A package with the part after its name: `@scope/name@1.2.3`, `name==1.2.3`. */
const PACKAGE = /^(@?[^@=]+)(?:@|==)?(.*)$/

/**
 * The template of an entry in the map that hubs publish: name → title, author, categories, `installations` (command lines) and
 * `arguments` (inputs). Undefined for one without an `npx` or `uvx` command or an https address.
 */
export function hubEntryTemplate(key: string, entry: JsonObject): MarketTemplate | undefined {
  const inputs = new Inputs(object(entry.arguments))
  const variants = Object.entries(object(entry.installations)).flatMap(
    ([id, one]) => variantOf(id, object(one), inputs) ?? [],
  )
  const [first] = variants
  if (!first) return undefined
  const {
    name,
    display_name: shown,
    description,
    repository,
    homepage,
    author,
    license,
    categories,
    tags,
    tools,
  } = entry
  const id = typeof name === 'string' && name !== '' ? name : key
  const links = { homepage: link(homepage), repository: link(object(repository).url), license: line(license, 64) }
  const publisher = line(isJsonObject(author) ? author.name : author, TITLE_CHARACTERS)
  return {
    ...{ name: id, title: line(shown, TITLE_CHARACTERS) ?? line(id, TITLE_CHARACTERS) ?? key },
    description: line(description, DESCRIPTION_CHARACTERS) ?? id,
    version: first.version ?? 'latest',
    ...Object.fromEntries(Object.entries({ ...links, publisher }).filter(([, value]) => value !== undefined)),
    categories: words(categories).slice(0, 20),
    tags: words(tags).slice(0, MOST_TAGS),
    ...(Array.isArray(tools) ? { toolCount: tools.length } : {}),
    variants: variants.slice(0, 10),
    inputs: inputs.all,
  }
}

function variantOf(
  id: string,
  { command, args, env, url, headers, type }: JsonObject,
  inputs: Inputs,
): MarketVariant | undefined {
  if (typeof url === 'string') {
    const sent = inputs.map(headers)
    return {
      ...{ id: id.slice(0, 64), kind: 'remote', url: inputs.text(url) },
      transport: type === 'sse' ? 'sse' : 'streamable-http',
      ...(Object.keys(sent).length === 0 ? {} : { headers: sent }),
    }
  }
  const texts = Array.isArray(args) ? args.filter(word => typeof word === 'string') : []
  const kind = command === 'npx' ? 'npm' : command === 'uvx' ? 'pypi' : undefined
  const [spec = '', ...rest] =
    kind === 'npm' ? texts.filter((word, at) => at > 0 || !/^(?:-y|--yes)$/.test(word)) : texts
  // Arguments of the runner before the package could make it start another program.
  if (kind === undefined || spec === '' || spec.startsWith('-')) return undefined
  const [, name = '', version = ''] = PACKAGE.exec(spec) ?? []
  const variables = inputs.map(env)
  return {
    ...{ id: id.slice(0, 64), kind, package: name, args: paired(rest.map(word => inputs.text(word))) },
    ...(version === '' ? {} : { version }),
    ...(Object.keys(variables).length === 0 ? {} : { env: variables }),
  }
}

/** An option and an input after it are used together, or not at all. */
function paired(words: readonly string[]): (string | readonly string[])[] {
  const all: (string | readonly string[])[] = []
  for (const word of words) {
    const before = all.at(-1)
    const isValue = /^\{[^{}]+\}$/.test(word) && typeof before === 'string' && /^-[^=]+$/.test(before)
    if (isValue) all[all.length - 1] = [before, word]
    else all.push(word)
  }
  return all
}

/** Inputs: the entry's `arguments`, and other names that its texts refer to. */
class Inputs {
  readonly #known: JsonObject
  readonly #all = new Map<string, MarketInput>()

  constructor(known: JsonObject) {
    this.#known = known
  }

  get all(): readonly MarketInput[] {
    return [...this.#all.values()]
  }

  /** With the references of a text in the form of the market. */
  text(text: string): string {
    return text.replace(REFERENCE, (_, name: string) => this.#place(name))
  }

  /** Entries of a map; one with the name of an argument is that argument, and its example value is ignored. */
  map(given: JsonValue | undefined): Record<string, string> {
    const entries = Object.entries(object(given)).filter(([, value]) => typeof value === 'string')
    return Object.fromEntries(
      entries.map(([name, value]) => [
        name,
        Object.hasOwn(this.#known, name) ? this.#place(name) : this.text(String(value)),
      ]),
    )
  }

  #place(name: string): string {
    if (!this.#all.has(name)) {
      const { description, required, title, example } = object(this.#known[name])
      const about = line(description, INPUT_CHARACTERS)
      const label = line(title, TITLE_CHARACTERS)
      const placeholder = line(example, DESCRIPTION_CHARACTERS)
      this.#all.set(name, {
        name,
        ...(label === undefined ? {} : { label }),
        ...(placeholder === undefined ? {} : { placeholder }),
        ...(about === undefined ? {} : { description: about }),
        ...(required === true ? { required: true } : {}),
        ...(SECRET_NAME.test(name) ? { secret: true } : {}),
      })
    }
    return `{${name}}`
  }
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function words(value: JsonValue | undefined): readonly string[] {
  const texts = Array.isArray(value) ? value : []
  return [...new Set(texts.flatMap(text => line(text, 64)?.toLowerCase() ?? []))]
}

/** On one line, without control characters; undefined when nothing is left. */
function line(value: JsonValue | undefined, most: number): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.replace(/[\s\p{Cc}]+/gu, ' ').trim()
  return text === '' ? undefined : text.slice(0, most)
}

function link(value: JsonValue | undefined): string | undefined {
  return typeof value === 'string' && parseUrl(value)?.protocol === 'https:' ? value : undefined
}
