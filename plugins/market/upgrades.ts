import { HubError, type JsonObject, type ServerRecord, type UserActor } from 'patchbay/contract'
import type { AuditedRequest, PluginServers } from 'patchbay/features'
import { formatRef, type Planned, plannedByReading, quoteName, validationError } from 'patchbay/plugin-kit'
import type { Listed } from './cache.ts'
import { marketError } from './errors.ts'
import { chooseVariant, installedPart } from './plan.ts'
import type { InstalledTemplate, MarketTemplate, TemplateOrigin } from './types.ts'
import { availability, sameVariant } from './updates.ts'
import { draftUpgrade, type UpgradeDraft, type UpgradePlan, type UpgradeTarget, type UpgradeWishes } from './upgrade.ts'
import { fromMarket, type InstalledServer } from './views.ts'

/** `up`: to the version that its source lists now. `back`: to the version before the last upgrade. */
export type Direction = 'up' | 'back'

/** A user's request to change a server to another version. */
export interface UpgradeRequest extends UpgradeWishes {
  readonly ref: string
  readonly direction: Direction
  /** The request that asks for it, for the audit log. */
  readonly request: AuditedRequest
}

interface UpgradesDeps {
  readonly servers: PluginServers
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
  readonly change: Planned<UpgradeRequest, UpgradePlan, ServerRecord>

  constructor(deps: UpgradesDeps) {
    this.#deps = deps
    this.change = plannedByReading({
      what: 'change',
      unready: 'The template cannot be installed',
      draft: (actor: UserActor, request: UpgradeRequest) => this.#draft(actor, request),
    })
  }

  /** The actor's own servers whose source lists another version, or no longer lists them. */
  async list(actor: UserActor): Promise<readonly JsonObject[]> {
    const servers = fromMarket(await this.#deps.servers.list(actor))
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

  async #draft(actor: UserActor, { ref, direction, request, ...wishes }: UpgradeRequest) {
    const { servers } = this.#deps
    const record = await servers.find(actor, ref, 'edit')
    const [server] = fromMarket([record])
    if (!server) {
      throw marketError('upgrade_unavailable', `${quoteName(record.name)} was not installed from the market`)
    }
    const { template } = server
    const target = direction === 'back' ? previousOf(server) : await this.#targetOf(actor, server)
    const draft = draftUpgrade(server, servers.body(record), template, target, wishes)
    if (draft.missing.length === 0) await servers.check(actor, draft.body, ref)
    return {
      ...draft,
      refuse: () => refuseUndecided(draft.shown),
      make: () => {
        const next = nextOrigin(template, draft, direction)
        return servers.replace(actor, ref, draft.body, {
          ifRevision: server.revision,
          template: next as unknown as JsonObject,
          audit: {
            action: direction === 'up' ? 'server.upgrade' : 'server.downgrade',
            detail: { template: next.id, version: next.version },
            request,
          },
        })
      },
    }
  }

  async #targetOf(actor: UserActor, { name, template: origin }: InstalledServer): Promise<UpgradeTarget> {
    const found = await this.#deps.listed(actor, origin.id)
    const wanted = sameVariant(origin, found.template)?.id
    const template = await this.#deps.pinned(found, wanted)
    if (availability(origin, template) === 'current') {
      throw marketError(
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
  throw marketError('upgrade_unavailable', `${quoteName(name)} was not upgraded since it was installed`)
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
