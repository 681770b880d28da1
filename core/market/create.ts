import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { PluginLogger } from '../contract/plugin.ts'
import type { MarketSource } from '../contract/points.ts'
import type { Actor, ServerRecord } from '../contract/records.ts'
import { quoteName } from '../domain/names.ts'
import { validationError } from '../domain/validation-error.ts'
import type { Registry } from '../registry/api.ts'
import { type Listed, MarketCache, type SourceState } from './cache.ts'
import { type Plan, planInstall, type Wish } from './plan.ts'
import { searchTemplates, type TemplateQuery } from './search.ts'
import { CATEGORIES, unusable } from './template-check.ts'

/** What the market needs of the hub. */
export interface MarketDeps {
  readonly registry: Pick<Registry, 'servers'>
  readonly sources: () => ReadonlyMap<string, MarketSource>
  readonly log: PluginLogger
}

/** Templates of servers from all sources, and their installation. */
export interface Market {
  find(query: TemplateQuery): Promise<readonly JsonObject[]>
  /** Throws `template_not_found`. */
  get(id: string): Promise<JsonObject>
  /** How many templates each category has. */
  categories(): Promise<readonly JsonObject[]>
  sources(): Promise<readonly SourceState[]>
  /** Throws `source_not_found`. */
  refresh(id: string): Promise<SourceState>
  /** What an installation would do, checked as saving it would. Changes nothing. */
  plan(actor: Actor, id: string, wish: Wish): Promise<Plan>
  /** Throws `plan_changed` when what it would do is not what was planned, and `validation_failed` for missing inputs. */
  install(actor: Actor, id: string, wish: Wish, planHash: string): Promise<ServerRecord>
  dispose(): void
}

/** Builds the market; sources are read when somebody looks for the first time. */
export function createMarket({ registry, sources, log }: MarketDeps): Market {
  const cache = new MarketCache(sources, log)

  const listed = async (id: string): Promise<Listed> => {
    const found = (await cache.all()).find(one => one.id === id)
    if (found) return found
    throw new HubError('template_not_found', `There is no template ${quoteName(id)}`)
  }
  const planned = async (actor: Actor, id: string, wish: Wish): Promise<Plan> => {
    const { template } = await listed(id)
    const plan = planInstall(id, template, wish)
    // Rights come before inputs: who may not run programs is not asked for keys.
    if (plan.missing.length === 0) await registry.servers.draft(actor, plan.body)
    return plan
  }

  return {
    find: async query => searchTemplates(await cache.all(), query).map(viewOf),
    get: async id => viewOf(await listed(id)),
    async categories() {
      const all = await cache.all()
      return CATEGORIES.map(name => ({
        name,
        templates: all.filter(({ template }) => template.categories.includes(name)).length,
      }))
    },
    async sources() {
      await cache.all()
      return cache.states()
    },
    async refresh(id) {
      const state = (await cache.refresh(id)) ? cache.states().find(one => one.id === id) : undefined
      if (state) return state
      throw new HubError('source_not_found', `There is no source ${quoteName(id)}`)
    },
    plan: planned,
    async install(actor, id, wish, planHash) {
      const plan = await planned(actor, id, wish)
      if (plan.missing.length > 0) {
        throw validationError(
          plan.missing.map(name => ({
            ...{ pointer: `#/inputs/${name}`, code: 'required', detail: `${quoteName(name)} is missing` },
          })),
          'The template cannot be installed',
        )
      }
      if (plan.planHash !== planHash)
        throw new HubError('plan_changed', 'What this installation would do is not what was planned')
      return registry.servers.create(actor, plan.body)
    },
    dispose: () => cache.dispose(),
  }
}

/** A template as the API shows it. */
function viewOf({ id, source, template }: Listed): JsonObject {
  const { variants, ...rest } = template
  return {
    ...{ id, source },
    ...(rest as unknown as JsonObject),
    verified: source === 'bundled',
    variants: variants.map(variant => {
      const why = unusable(variant)
      return { ...(variant as unknown as JsonObject), usable: why === undefined, ...(why === undefined ? {} : { why }) }
    }),
  }
}
