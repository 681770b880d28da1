import { ERROR_CODES } from '../contract/codes.ts'
import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { quoteName } from '../domain/names.ts'
import type { MarketSource, MarketTemplate, TemplateOrigin } from '../features/market.ts'
import { type Planned, plannedByReading } from '../plans/planned.ts'
import type { Registry } from '../registry/api.ts'
import { type Listed, MarketCache, type SourceState } from './cache.ts'
import { KeptLists } from './kept-list.ts'
import { chooseVariant, draftInstall, type InstallPlan, type InstallRequest } from './plan.ts'
import { searchTemplates, type TemplateQuery } from './search.ts'
import type { MarketSettings } from './settings.ts'
import { CATEGORIES, isUnpinned } from './template-check.ts'
import { Upgrades } from './upgrades.ts'
import { fromMarket, templateView } from './views.ts'

/** Longest wait for a package registry to report the newest version of a package, in milliseconds. */
const PIN_MS = 10_000

/** Dependencies of the market on the rest of the hub. */
export interface MarketDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly sources: () => ReadonlyMap<string, MarketSource>
  /** Reads the present settings. */
  readonly settings: () => Promise<MarketSettings>
  /** Folder in which lists of sources are stored across restarts. */
  readonly folder: string
  readonly log: PluginLogger
}

/** Filter and order of templates. */
export interface MarketQuery extends Omit<TemplateQuery, 'among'> {
  /** `true`: only templates of which the actor has a server. */
  readonly installed?: 'true' | 'false' | undefined
}

/** A page of a list. */
export interface Paged {
  readonly items: readonly JsonObject[]
  readonly total: number
}

/**
 * Templates of servers from all sources, and their installation. Every method throws `market_disabled` while the market is
 * switched off, and `admin_only` while it is limited to administrators and the actor is not one.
 */
export interface Market {
  /** Throws `market_unavailable` for a source that has no list yet. */
  find(actor: UserActor, query: MarketQuery, page: { readonly limit: number; readonly offset: number }): Promise<Paged>
  /** Throws `template_not_found`, `market_unavailable`. */
  get(actor: UserActor, id: string): Promise<JsonObject>
  /** Number of templates in each category. */
  categories(actor: UserActor): Promise<readonly JsonObject[]>
  sources(actor: UserActor): Promise<readonly SourceState[]>
  /** Throws `source_not_found`. */
  refresh(actor: UserActor, id: string): Promise<SourceState>
  /** A plan passes the same checks as saving. */
  readonly installation: Planned<InstallRequest, InstallPlan, ServerRecord>
  readonly upgrades: Upgrades
  dispose(): void
}

/** Builds the market; sources are read at the first request. */
export function createMarket({ registry, sources, settings, folder, log }: MarketDeps): Market {
  const cache = new MarketCache({ sources, log, kept: new KeptLists(folder) })

  const opened = async (actor: UserActor): Promise<MarketSettings> => {
    const now = await settings()
    if (!now.enabled) throw new HubError('market_disabled', 'An administrator has switched the market off')
    if (now.users === 'admin' && actor.role !== 'admin')
      throw new HubError('admin_only', 'The market of this hub is for administrators')
    return now
  }
  const listed = async (actor: UserActor, id: string): Promise<Listed> => {
    const now = await opened(actor)
    const [source, ...name] = id.split(':')
    const found = sources().has(source ?? '') && (await cache.of(source ?? '', now)).get(name.join(':'))
    if (found) return found
    throw new HubError('template_not_found', `There is no template ${quoteName(id)}`)
  }
  /** With an exact version of the variant that is installed. */
  const pinned = async ({ source, template }: Listed, wanted: string | undefined): Promise<MarketTemplate> => {
    const { pin } = sources().get(source) ?? {}
    const variant = pin ? chooseVariant(template, wanted, true) : undefined
    if (!pin || !variant || !isUnpinned(variant)) return template
    const version = await pin(variant, AbortSignal.timeout(PIN_MS))
    const variants = template.variants.map(one => (one === variant ? { ...one, version } : one))
    return { ...template, version, variants }
  }
  const installedOf = async (actor: UserActor) => fromMarket(await registry.servers.list(actor, { scope: 'mine' }))
  const installation = plannedByReading({
    what: 'installation',
    unready: 'The template cannot be installed',
    async draft(actor: UserActor, request: InstallRequest) {
      const { id } = request
      const template = await pinned(await listed(actor, id), request.variant)
      const { body, installed, ...draft } = draftInstall(template, request)
      // Rights are checked before inputs: users who may not run programs are not asked for keys.
      await registry.servers.draft(actor, body).catch((error: unknown) => {
        if (draft.missing.length === 0 || !isInvalid(error)) throw error
      })
      const make = () => {
        const origin: TemplateOrigin = { id, ...installed, installedAt: new Date().toISOString() }
        return registry.servers.create(actor, body, { template: origin })
      }
      return { ...draft, make }
    },
  })

  return {
    async find(actor, query, { limit, offset }) {
      const now = await opened(actor)
      const { source } = query
      const isOne = source !== undefined && sources().has(source)
      const all = isOne ? [...(await cache.of(source, now)).values()] : await cache.all(now)
      const servers = await installedOf(actor)
      const among = query.installed === 'true' ? new Set(servers.map(({ template }) => template.id)) : undefined
      const found = searchTemplates(all, { ...query, among })
      const shown = found.slice(offset, offset + limit)
      return { items: shown.map(one => view(one, servers)), total: found.length }
    },
    async get(actor, id) {
      const found = await listed(actor, id)
      return view(found, await installedOf(actor))
    },
    async categories(actor) {
      const counts = new Map<string, number>(CATEGORIES.map(name => [name, 0]))
      for (const { template } of await cache.all(await opened(actor)))
        for (const name of template.categories) counts.set(name, (counts.get(name) ?? 0) + 1)
      return [...counts].map(([name, templates]) => ({ name, templates }))
    },
    async sources(actor) {
      const now = await opened(actor)
      await cache.all(now)
      return (await cache.states(now)).map(state => shownTo(actor, state))
    },
    async refresh(actor, id) {
      return cache.refresh(id, await opened(actor))
    },
    installation,
    upgrades: new Upgrades({ registry, listed, pinned }),
    dispose: () => cache.dispose(),
  }

  function view(one: Listed, servers: Awaited<ReturnType<typeof installedOf>>): JsonObject {
    const own = servers.filter(({ template }) => template.id === one.id)
    return templateView(one, sources().get(one.source) ?? {}, own)
  }
}

/** Hides the message of a failure from ordinary users: it may contain an address that administrators configured. */
function shownTo({ role }: UserActor, state: SourceState): SourceState {
  const { lastError } = state
  if (role === 'admin' || !lastError) return state
  const known = Object.entries(ERROR_CODES).find(([code]) => code === lastError.code)
  return { ...state, lastError: { ...lastError, message: known?.[1].title ?? 'It could not be read' } }
}

function isInvalid(error: unknown): boolean {
  return error instanceof HubError && error.code === 'validation_failed'
}
