import { HubError } from '../contract/errors.ts'
import type { JsonObject } from '../contract/json.ts'
import type { ServerRecord, UserActor } from '../contract/records.ts'
import { formatRef, quoteName } from '../domain/names.ts'
import { validationError } from '../domain/validation-error.ts'
import type { InstalledTemplate, MarketTemplate, TemplateOrigin } from '../features/market.ts'
import { type Planned, plannedByReading } from '../plans/planned.ts'
import type { Registry } from '../registry/api.ts'
import type { Listed } from './cache.ts'
import { chooseVariant, installedPart } from './plan.ts'
import { availability, sameVariant } from './updates.ts'
import { draftUpgrade, type UpgradeDraft, type UpgradePlan, type UpgradeTarget, type UpgradeWishes } from './upgrade.ts'
import { fromMarket, type InstalledServer } from './views.ts'

/** `up`: to the version that its source lists now. `back`: to the version before the last upgrade. */
export type Direction = 'up' | 'back'

/** A user's request to change a server to another version. */
export interface UpgradeRequest extends UpgradeWishes {
  readonly ref: string
  readonly direction: Direction
}

interface UpgradesDeps {
  readonly registry: Pick<Registry, 'servers'>
  /** Throws `template_not_found`, `market_unavailable` and what keeps the actor out of the market. */
  readonly listed: (actor: UserActor, id: string) => Promise<Listed>
  readonly pinned: (found: Listed, variant: string | undefined) => Promise<MarketTemplate>
}

/** Installed servers and the versions that their sources list now. */
export class Upgrades {
  readonly #deps: UpgradesDeps
  /**
   * Changes a server; it stays enabled or disabled. Both steps throw `upgrade_unavailable` if there is no other version, `apply`
   * also `validation_failed` for conflicts without a choice.
   */
  readonly change: Planned<UpgradeRequest, UpgradePlan, ServerRecord> = plannedByReading({
    what: 'change',
    unready: 'The template cannot be installed',
    draft: (actor: UserActor, request: UpgradeRequest) => this.#draft(actor, request),
  })

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

  async #draft(actor: UserActor, { ref, direction, ...wishes }: UpgradeRequest) {
    const { servers } = this.#deps.registry
    const record = await servers.resolve(actor, ref, 'edit')
    const { template } = record
    if (!template) {
      throw new HubError('upgrade_unavailable', `${quoteName(record.name)} was not installed from the market`)
    }
    const server: InstalledServer = { ...record, template }
    const target = direction === 'back' ? previousOf(server) : await this.#targetOf(actor, server)
    const draft = draftUpgrade(server, servers.publicBody(record), template, target, wishes)
    if (draft.missing.length === 0) await servers.draft(actor, draft.body, ref)
    return {
      ...draft,
      refuse: () => refuseUndecided(draft.shown),
      make: () =>
        servers.replace(actor, ref, draft.body, {
          ifRevision: server.revision,
          template: nextOrigin(template, draft, direction),
        }),
    }
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
function nextOrigin(origin: TemplateOrigin, { installed }: UpgradeDraft, direction: Direction): TemplateOrigin {
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
