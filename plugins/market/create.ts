import { HubError, type JsonObject, type PluginLogger, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { PluginServers } from 'patchbay/features'
import { type Planned, plannedByReading, quoteName } from 'patchbay/plugin-kit'
import { type Listed, MarketCache, type SourceState } from './cache.ts'
import { marketError } from './errors.ts'
import type { KeptLists } from './kept-list.ts'
import { chooseVariant, draftInstall, type InstallPlan, type InstallRequest } from './plan.ts'
import { searchTemplates, type TemplateQuery } from './search.ts'
import type { MarketSettings } from './settings.ts'
import { CATEGORIES, isUnpinned } from './template-check.ts'
import type { MarketSource, MarketTemplate, TemplateOrigin } from './types.ts'
import { Upgrades } from './upgrades.ts'
import { fromMarket, templateView } from './views.ts'

/** Longest wait for a package registry to report the newest version of a package, in milliseconds. */
const PIN_MS = 10_000

/** Dependencies of the market on the rest of the hub. */
export interface MarketDeps {
  readonly servers: PluginServers
  readonly sources: () => ReadonlyMap<string, MarketSource>
  /** Reads the present settings. */
  readonly settings: () => Promise<MarketSettings>
  /** Storage of lists across restarts. */
  readonly kept: KeptLists
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
export function createMarket(deps: MarketDeps): Market {
  const { servers, sources, settings, kept, log } = deps
  const cache = new MarketCache({ sources, log, kept })

  const opened = async (actor: UserActor): Promise<MarketSettings> => {
    const now = await settings()
    if (!now.enabled) throw marketError('market_disabled', 'An administrator has switched the market off')
    if (now.users === 'admin' && actor.role !== 'admin')
      throw new HubError('admin_only', 'The market of this hub is for administrators')
    return now
  }
  const listed = async (actor: UserActor, id: string): Promise<Listed> => {
    const now = await opened(actor)
    const [source, ...name] = id.split(':')
    const found = sources().has(source ?? '') && (await cache.of(source ?? '', now)).get(name.join(':'))
    if (found) return found
    throw marketError('template_not_found', `There is no template ${quoteName(id)}`)
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
  const installedOf = async (actor: UserActor) => fromMarket(await servers.list(actor))
  const installation = plannedByReading({
    what: 'installation',
    unready: 'The template cannot be installed',
    async draft(actor: UserActor, request: InstallRequest) {
      const { id, request: asked } = request
      const template = await pinned(await listed(actor, id), request.variant)
      const { body, installed, ...draft } = draftInstall(template, request)
      // Rights are checked before inputs: users who may not run programs are not asked for keys.
      await servers.check(actor, body).catch((error: unknown) => {
        if (draft.missing.length === 0 || !isInvalid(error)) throw error
      })
      const make = () => {
        const origin: TemplateOrigin = { id, ...installed, installedAt: new Date().toISOString() }
        return servers.create(actor, body, {
          template: origin as unknown as JsonObject,
          audit: { detail: { template: id }, request: asked },
        })
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
      const installed = await installedOf(actor)
      const among = query.installed === 'true' ? new Set(installed.map(({ template }) => template.id)) : undefined
      const found = searchTemplates(all, { ...query, among })
      const shown = found.slice(offset, offset + limit)
      return { items: shown.map(one => view(one, installed)), total: found.length }
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
      return (await cache.states(now)).map(state => shownTo(actor, state, cache.errorTitle(state.id)))
    },
    async refresh(actor, id) {
      return cache.refresh(id, await opened(actor))
    },
    installation,
    upgrades: new Upgrades({ servers, listed, pinned }),
    dispose: () => cache.dispose(),
  }

  function view(one: Listed, installed: Awaited<ReturnType<typeof installedOf>>): JsonObject {
    const own = installed.filter(({ template }) => template.id === one.id)
    return templateView(one, sources().get(one.source) ?? {}, own)
  }
}

/** Hides the message of a failure from ordinary users: it may contain an address that administrators configured. */
function shownTo({ role }: UserActor, state: SourceState, title = 'It could not be read'): SourceState {
  const { lastError } = state
  if (role === 'admin' || !lastError) return state
  return { ...state, lastError: { ...lastError, message: title } }
}

function isInvalid(error: unknown): boolean {
  return error instanceof HubError && error.code === 'validation_failed'
}
