import type { MarketTemplate, MarketVariant } from 'patchbay/plugins/market'

/** An entry of catalogue.json. `env` and `headers` are names of inputs that are passed under the same name. */
interface Entry {
  readonly name: string
  readonly title: string
  readonly description: { readonly en: string; readonly zh: string }
  readonly category: string
  readonly version: string
  readonly homepage?: string
  readonly toolCount?: number
  readonly note?: string
  readonly deprecated?: boolean
  readonly runtime?: string
  readonly package?: string
  readonly args?: readonly string[]
  readonly env?: readonly string[]
  readonly fixed?: Readonly<Record<string, string>>
  readonly url?: string
  readonly headers?: readonly string[]
  readonly inputs?: MarketTemplate['inputs']
}

/** The entries as templates. */
export function bundledTemplates(entries: readonly Entry[]): readonly MarketTemplate[] {
  return entries.map(entry => {
    const { name, title, description, version, homepage, note, toolCount, inputs = [] } = entry
    const publisher = publisherOf(entry)
    return {
      ...{ name, title, description, version, inputs, status: entry.deprecated ? 'deprecated' : 'active' },
      ...{ categories: [entry.category], variants: [variantOf(entry)] },
      ...(homepage === undefined ? {} : { homepage }),
      ...(publisher === undefined ? {} : { publisher }),
      ...(toolCount === undefined ? {} : { toolCount }),
      ...(note === undefined ? {} : { message: `${note[0]?.toUpperCase()}${note.slice(1)}` }),
    }
  })
}

function variantOf({ package: id, version, runtime, args, env = [], fixed, url, headers = [] }: Entry): MarketVariant {
  if (url !== undefined) {
    const given = headers.map(header => [header, header === 'Authorization' ? 'Bearer {Authorization}' : `{${header}}`])
    return { id: 'remote', kind: 'remote', url, ...(given.length === 0 ? {} : { headers: Object.fromEntries(given) }) }
  }
  const kind = runtime === 'uvx' ? 'pypi' : 'npm'
  const variables = { ...fixed, ...Object.fromEntries(env.map(variable => [variable, `{${variable}}`])) }
  return {
    ...{ id: kind, kind, version },
    ...(id === undefined ? {} : { package: id }),
    ...(args === undefined ? {} : { args }),
    ...(Object.keys(variables).length === 0 ? {} : { env: variables }),
  }
}

/** Publisher of an entry: from its package, else from its repository, else the host of its address. */
function publisherOf({ package: id = '', homepage = '', url = '' }: Entry): string | undefined {
  const scope = /^@([^/]+)\//.exec(id)?.[1]
  const account = /^https:\/\/github\.com\/([^/]+)/.exec(homepage)?.[1]
  const host = URL.parse(url)?.host
  return scope ?? account ?? (host || undefined)
}
