import { isJsonObject, type JsonObject, type JsonValue } from '../../contract/json.ts'
import { parseUrl } from '../../transport-kit/parse-url.ts'
import type { ServerTemplate, TemplateInput, TemplateVariant } from './types.ts'

const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const ISO_UTC = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z$/
const TITLE_CHARACTERS = 100
const DESCRIPTION_CHARACTERS = 500
const LABEL_CHARACTERS = 100
/** Package registries that the hub supports, with the addresses that an entry may name. */
const REGISTRIES: Readonly<Record<string, { readonly kind: 'npm' | 'pypi'; readonly address: RegExp }>> = {
  npm: { kind: 'npm', address: /^https:\/\/registry\.npmjs\.org\/?$/ },
  pypi: { kind: 'pypi', address: /^https:\/\/(?:www\.)?pypi\.org\/?$/ },
}

/**
 * Returns the template of a registry's entry (`server.json` with the registry's metadata). Undefined for an entry that is
 * deleted or not the latest, and for one that cannot be started here: without a package of npm or PyPI, and without a remote.
 */
export function serverJsonTemplate(entry: JsonValue): ServerTemplate | undefined {
  const { _meta, ...rest } = object(entry)
  const server = rest.server ?? rest
  const { status, isLatest, publishedAt, updatedAt = publishedAt } = object(object(_meta)[OFFICIAL])
  if (status === 'deleted' || isLatest === false) return undefined
  const { name, title, description, version, repository, websiteUrl, packages, remotes } = object(server)
  if (typeof name !== 'string' || typeof version !== 'string') return undefined
  const inputs = new Inputs()
  const variants = [
    ...list(packages).flatMap((one, at) => packageVariant(one, at, inputs) ?? []),
    ...list(remotes).flatMap((one, at) => remoteVariant(one, at, inputs) ?? []),
  ]
  if (variants.length === 0) return undefined
  const homepage = link(websiteUrl)
  const source = link(object(repository).url)
  return {
    ...{ name, version, categories: [], variants, inputs: inputs.all },
    title: line(title, TITLE_CHARACTERS) ?? line(name, TITLE_CHARACTERS) ?? name,
    description: line(description, DESCRIPTION_CHARACTERS) ?? name,
    publisher: (name.split('/')[0] ?? name).slice(0, TITLE_CHARACTERS),
    status: status === 'deprecated' ? 'deprecated' : 'active',
    ...(typeof updatedAt === 'string' && ISO_UTC.test(updatedAt) ? { updatedAt } : {}),
    ...(homepage === undefined ? {} : { homepage }),
    ...(source === undefined ? {} : { repository: source }),
  }
}

/** The name of an entry that is no longer a template: deleted, or nothing here could start it. Otherwise undefined. */
export function goneName(entry: JsonValue): string | undefined {
  const { _meta, ...rest } = object(entry)
  const { status, isLatest } = object(object(_meta)[OFFICIAL])
  const { name } = object(rest.server ?? rest)
  // An entry of a version other than the latest is ignored.
  return typeof name === 'string' && (status === 'deleted' || isLatest !== false) ? name : undefined
}

function packageVariant(given: JsonValue, at: number, inputs: Inputs): TemplateVariant | undefined {
  const { registryType, registryBaseUrl, identifier, version, transport, ...more } = object(given)
  const isKnown = typeof registryType === 'string' && Object.hasOwn(REGISTRIES, registryType)
  const registry = isKnown ? REGISTRIES[registryType] : undefined
  const isUsual =
    registryBaseUrl === undefined || (typeof registryBaseUrl === 'string' && registry?.address.test(registryBaseUrl))
  if (!registry || !isUsual || typeof identifier !== 'string' || object(transport).type !== 'stdio') return undefined
  // Arguments of the runner before the package could make it start another program.
  const before = list(more.runtimeArguments).filter(one => object(one).value !== '-y' && object(one).name !== '-y')
  if (before.length > 0) return undefined
  const args = list(more.packageArguments).map(one => argument(object(one), inputs))
  if (args.some(words => words === undefined)) return undefined
  const env = named(more.environmentVariables, inputs)
  return {
    ...{ id: at === 0 ? registry.kind : `${registry.kind}-${at + 1}`, kind: registry.kind, package: identifier },
    ...(typeof version === 'string' ? { version } : {}),
    ...(args.length === 0
      ? {}
      : {
          args: args.flatMap(words =>
            words && words.length > 0 ? [words.length === 1 ? (words[0] ?? '') : words] : [],
          ),
        }),
    ...(Object.keys(env).length === 0 ? {} : { env }),
  }
}

function remoteVariant(given: JsonValue, at: number, inputs: Inputs): TemplateVariant | undefined {
  const { type, url, headers, variables } = object(given)
  if (typeof url !== 'string' || (type !== 'streamable-http' && type !== 'sse')) return undefined
  for (const [name, about] of Object.entries(object(variables))) inputs.add(name, object(about))
  const sent = named(headers, inputs)
  return {
    ...{ id: at === 0 ? 'remote' : `remote-${at + 1}`, kind: 'remote', url, transport: type },
    ...(Object.keys(sent).length === 0 ? {} : { headers: sent }),
  }
}

/** The words of an argument: none, one, or two that are used together or not at all. Undefined if it is not supported. */
function argument(about: JsonObject, inputs: Inputs): readonly string[] | undefined {
  const { type, name, value, valueHint } = about
  if (type === 'positional') {
    const text = typeof value === 'string' ? inputs.text(value, about) : inputs.place(valueHint ?? name, about)
    return text === undefined ? undefined : [text]
  }
  if (type !== 'named' || typeof name !== 'string' || name === '') return undefined
  if (typeof value !== 'string' && !asksForValue(about)) return [name]
  const text =
    typeof value === 'string'
      ? inputs.text(value, about)
      : inputs.place(valueHint ?? name.replace(/^-+|=$/g, ''), about)
  if (text === undefined) return undefined
  return name.endsWith('=') ? [`${name}${text}`] : [name, text]
}

/** True when a named argument takes a value; one that has only a name is a flag. */
function asksForValue({ valueHint, format, default: preset, choices, placeholder, isSecret }: JsonObject): boolean {
  return [valueHint, format, preset, choices, placeholder, isSecret].some(one => one !== undefined)
}

/** Variables of the environment, or headers: with fixed values, or as inputs under their own name. */
function named(given: JsonValue | undefined, inputs: Inputs): Record<string, string> {
  const entries = list(given).flatMap(one => {
    const about = object(one)
    const { name, value } = about
    if (typeof name !== 'string') return []
    const text = typeof value === 'string' ? inputs.text(value, about) : inputs.place(name, about)
    return text === undefined ? [] : [[name, text] as const]
  })
  return Object.fromEntries(entries)
}

/** Inputs by name: two places with the same name are one input. */
class Inputs {
  readonly #all = new Map<string, TemplateInput>()

  get all(): readonly TemplateInput[] {
    return [...this.#all.values()]
  }

  /** A flag set at one place holds for all: an input that is once secret or required always is. */
  add(name: string, about: JsonObject): void {
    const now = inputOf(name, about)
    const before = this.#all.get(name)
    if (!before) return void this.#all.set(name, now)
    const { required, secret } = now
    this.#all.set(name, {
      ...now,
      ...before,
      ...(required ? { required } : {}),
      ...(secret ? { secret } : {}),
    })
  }

  /** A text that is the input's value alone; undefined without a name. */
  place(name: JsonValue | undefined, about: JsonObject): string | undefined {
    if (typeof name !== 'string' || name === '' || /[{}]/.test(name)) return undefined
    this.add(name, about)
    return `{${name}}`
  }

  /** Returns a fixed text, in which `{x}` is replaced by its own variables; properties of the whole text apply to them. */
  text(value: string, { variables, isSecret, isRequired, description }: JsonObject): string {
    const whole = { description, isSecret, isRequired }
    const known = Object.entries(whole).filter(([, one]) => one !== undefined && one !== false)
    for (const [name, about] of Object.entries(object(variables)))
      this.add(name, { ...(Object.fromEntries(known) as JsonObject), ...object(about) })
    return value
  }
}

const FORMATS: Readonly<Record<string, NonNullable<TemplateInput['format']>>> = {
  ...{ string: 'string', number: 'number', boolean: 'boolean', filepath: 'path' },
}

function inputOf(name: string, about: JsonObject): TemplateInput {
  const { isRequired, isSecret, choices, format } = about
  const texts = {
    label: line(about.title ?? about.label, LABEL_CHARACTERS),
    description: line(about.description, 1_000),
    placeholder: line(about.placeholder, DESCRIPTION_CHARACTERS),
    default: plain(about.default) || undefined,
  }
  const known = typeof format === 'string' && Object.hasOwn(FORMATS, format) ? FORMATS[format] : undefined
  const offered = list(choices).flatMap(one => plain(one) ?? [])
  return {
    name,
    ...Object.fromEntries(Object.entries(texts).filter(([, text]) => text !== undefined)),
    ...(known === undefined ? {} : { format: known }),
    ...(isRequired === true ? { required: true } : {}),
    ...(isSecret === true ? { secret: true } : {}),
    ...(offered.length === 0 ? {} : { choices: offered }),
  }
}

/** A text, number or boolean as a text. */
function plain(value: JsonValue | undefined): string | undefined {
  return value !== null && ['string', 'number', 'boolean'].includes(typeof value) ? String(value) : undefined
}

function object(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {}
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : []
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
