import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { formatRef, quoteName } from '../domain/names.ts'
import { validationError } from '../domain/validation-error.ts'
import type { InstalledTemplate, MarketTemplate, TemplateOrigin } from '../features/market.ts'
import type { Registry } from '../registry/api.ts'
import type { Listed } from './cache.ts'
import { refuseMissing } from './inputs.ts'
import { chooseVariant, installedPart } from './plan.ts'
import { availability, sameVariant } from './updates.ts'
import { planUpgrade, type UpgradePlan, type UpgradeRequest, type UpgradeTarget } from './upgrade.ts'
import { fromMarket, type InstalledServer } from './views.ts'

/** `up`: to the version that its source lists now. `back`: to the version before the last upgrade. */
export type Direction = 'up' | 'back'

interface UpgradesDeps {
  readonly registry: Pick<Registry, 'servers'>
  /** Throws `template_not_found`, `market_unavailable` and what keeps the actor out of the market. */
  readonly listed: (actor: UserActor, id: string) => Promise<Listed>
  readonly pinned: (found: Listed, variant: string | undefined) => Promise<MarketTemplate>
}

/** Installed servers and the versions that their sources list now. */
export class Upgrades {
  readonly #deps: UpgradesDeps

  constructor(deps: UpgradesDeps) {
    this.#deps = deps
  }

  /** The actor's own servers whose source lists another version, or no longer lists them. */
  async list(actor: UserActor): Promise<readonly JsonObject[]> {
    const servers = fromMarket(await this.#deps.registry.servers.list(actor, { scope: 'mine' }))
    const found = await Promise.all(servers.map(async server => [server, await this.#present(actor, server)] as const))
    return found.map(([server, present]) => updateOf(server, present)).filter(update => update !== undefined)
  }

  async #present(actor: UserActor, { template }: InstalledServer): Promise<Listed | 'removed' | 'unavailable'> {
    try {
      return await this.#deps.listed(actor, template.id)
    } catch (error) {
      if (!(error instanceof HubError)) throw error
      if (error.code === 'template_not_found') return 'removed'
      if (error.code === 'market_unavailable') return 'unavailable'
      throw error
    }
  }

  /** Preview of the change. Throws `upgrade_unavailable` if there is no other version. */
  async plan(actor: UserActor, ref: string, direction: Direction, request: UpgradeRequest): Promise<UpgradePlan> {
    return (await this.#planned(actor, ref, direction, request)).plan
  }

  /**
   * Changes the server as planned; it stays enabled or disabled. Throws `plan_changed`, and `validation_failed` for missing
   * inputs and for conflicts without a choice.
   */
  async apply(
    actor: UserActor,
    ref: string,
    direction: Direction,
    request: UpgradeRequest,
    planHash: string,
  ): Promise<ServerRecord> {
    const { plan, server } = await this.#planned(actor, ref, direction, request)
    refuseMissing(plan.missing)
    refuseUndecided(plan)
    if (plan.planHash !== planHash)
      throw new HubError('plan_changed', 'What this change would do is not what was planned')
    const template = nextOrigin(server.template, plan, direction)
    return this.#deps.registry.servers.replace(actor, ref, plan.body, { ifRevision: server.revision, template })
  }

  async #planned(actor: UserActor, ref: string, direction: Direction, request: UpgradeRequest) {
    const { servers } = this.#deps.registry
    const record = await servers.resolve(actor, ref, 'edit')
    const { template } = record
    if (!template) {
      throw new HubError('upgrade_unavailable', `${quoteName(record.name)} was not installed from the market`)
    }
    const server: InstalledServer = { ...record, template }
    const target = direction === 'back' ? previousOf(server) : await this.#targetOf(actor, server)
    const plan = planUpgrade(server, servers.publicBody(record), template, target, request)
    if (plan.missing.length === 0) await servers.draft(actor, plan.body, ref)
    return { plan, server }
  }

  async #targetOf(actor: UserActor, { name, template: origin }: InstalledServer): Promise<UpgradeTarget> {
    const found = await this.#deps.listed(actor, origin.id)
    const wanted = sameVariant(origin, found.template)?.id
    const template = await this.#deps.pinned(found, wanted)
    if (availability(origin, template) === 'current') {
      throw new HubError(
        'upgrade_unavailable',
        `${quoteName(name)} is of version ${origin.version}, as its source lists it`,
      )
    }
    const { status, message } = template
    return {
      ...installedPart(template, chooseVariant(template, wanted)),
      ...(status === undefined ? {} : { status }),
      ...(message === undefined ? {} : { message }),
    }
  }
}

function updateOf(server: InstalledServer, present: Listed | 'removed' | 'unavailable'): JsonObject | undefined {
  const { template } = server
  const common = {
    ...{ server: formatRef(server.ownerName, server.name), template: template.id, installed: template.version },
    ...(template.previous ? { previous: template.previous.version } : {}),
  }
  if (typeof present === 'string') return { ...common, title: server.name, state: present }
  const { title, version, status, message } = present.template
  const state = availability(template, present.template)
  if (state === 'current' || state === 'unknown') return undefined
  return {
    ...{ ...common, title, state, available: version },
    ...(status === 'deprecated' ? { deprecated: true } : {}),
    ...(message === undefined ? {} : { message }),
  }
}

function previousOf({ name, template: { previous } }: InstalledServer): UpgradeTarget {
  if (previous) return previous
  throw new HubError('upgrade_unavailable', `${quoteName(name)} was not upgraded since it was installed`)
}

/** One previous version is stored; a server that went back does not store the version that it left. */
function nextOrigin(origin: TemplateOrigin, { installed }: UpgradePlan, direction: Direction): TemplateOrigin {
  const { id, previous: _, ...before } = origin
  const next: InstalledTemplate = { ...installed, installedAt: new Date().toISOString() }
  return { id, ...next, ...(direction === 'up' ? { previous: before } : {}) }
}

function refuseUndecided({ conflicts }: UpgradePlan): void {
  const open = conflicts.filter(({ choice }) => choice === undefined)
  if (open.length === 0) return
  throw validationError(
    open.map(({ pointer }) => ({
      pointer: `#/choices/${pointer.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      code: 'required' as const,
      detail: `You and the template both changed ${pointer}: say "keep" or "take"`,
    })),
    'The server cannot be changed to another version',
  )
}
